#include "ops/ref/interpreter.h"

#include <algorithm>
#include <cmath>

#include "ops/ref/route.h"
#include "quant/quant.h"

namespace tempo9::ops {
namespace {

using Rows = std::vector<std::vector<double>>;  // [position][width]

class Interpreter {
 public:
  Interpreter(const Program& program, std::span<const int32_t> tokens)
      : p_(program),
        tokens_(tokens),
        tensors_(program.widths.size()),
        k_(program.kv_layers.size()),
        v_(k_) {}

  Rows run() {
    for (const Op& op : p_.ops) {
      std::visit([this](const auto& concrete) { apply(concrete); }, op);
    }
    return logits_;
  }
  Rows states() { return tensor(std::get<Head>(p_.ops.back()).in); }

 private:
  Rows& tensor(TensorId id) { return tensors_[static_cast<size_t>(id.index)]; }
  const std::vector<float>& vec(VectorId id) const {
    return p_.vectors[static_cast<size_t>(id.index)];
  }

  // Of matrices with experts, expert e's rows begin at e * n_out.
  std::vector<float> weights(MatrixId id, uint32_t row) const {
    const Matrix& m = p_.matrices[static_cast<size_t>(id.index)];
    const DTypeInfo& info = dtype_info(m.type);
    const size_t row_bytes = size_t{m.n_in} / info.block_elements * info.block_bytes;
    std::vector<float> out(m.n_in);
    quant::find_format(m.type)->decode(m.data.data() + row_bytes * row, out.data(),
                                       m.n_in / info.block_elements);
    for (float& w : out) w *= m.scale;
    return out;
  }
  Rows product(const Rows& in, MatrixId id) const {
    const Matrix& m = p_.matrices[static_cast<size_t>(id.index)];
    Rows out(in.size(), std::vector<double>(m.n_out));
    for (uint32_t o = 0; o < m.n_out; ++o) {
      const std::vector<float> w = weights(id, o);
      for (size_t r = 0; r < in.size(); ++r) {
        for (uint32_t i = 0; i < m.n_in; ++i) out[r][o] += static_cast<double>(w[i]) * in[r][i];
      }
    }
    return out;
  }
  static void normalise(double* x, const std::vector<float>& w, size_t n, float eps) {
    double squares = 0;
    for (size_t i = 0; i < n; ++i) squares += x[i] * x[i];
    const double scale =
        1.0 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(eps));
    for (size_t i = 0; i < n; ++i) x[i] *= scale * static_cast<double>(w[i]);
  }

  void apply(const Embed& op) {
    for (size_t pos = 0; pos < tokens_.size(); ++pos) {
      const std::vector<float> w = weights(op.table, static_cast<uint32_t>(tokens_[pos]));
      std::vector<double> x(w.begin(), w.end());
      for (double& value : x) value *= static_cast<double>(op.scale);
      if (op.positions.index >= 0) {
        const std::vector<float> p = weights(op.positions, static_cast<uint32_t>(pos));
        for (size_t i = 0; i < x.size(); ++i) x[i] += static_cast<double>(p[i]);
      }
      for (size_t i = 0; op.offset && i < x.size(); ++i)
        x[i] += static_cast<double>(vec(op.offset)[i]);
      tensor(op.out).push_back(std::move(x));
    }
  }
  void apply(const RmsNorm& op) {
    Rows y = tensor(op.in);
    const size_t n = vec(op.weight).size();
    for (auto& row : y) {
      for (size_t i = 0; i < row.size(); i += n)
        normalise(row.data() + i, vec(op.weight), n, op.eps);
    }
    store(op.out, std::move(y), op.add);
  }
  void apply(const LayerNorm& op) {
    for (std::vector<double> x : tensor(op.in)) {
      const auto n = static_cast<double>(x.size());
      double mean = 0, variance = 0;
      for (const double value : x) mean += value / n;
      for (const double value : x) variance += (value - mean) * (value - mean) / n;
      const double scale = 1 / std::sqrt(variance + static_cast<double>(op.eps));
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = (x[i] - mean) * scale * static_cast<double>(vec(op.weight)[i]) +
               static_cast<double>(vec(op.bias)[i]);
      }
      tensor(op.out).push_back(std::move(x));
    }
  }
  void apply(const Linear& op) {
    Rows y(tokens_.size());
    for (const MatrixId id : op.matrices) {
      const Rows part = product(tensor(op.in), id);
      for (size_t r = 0; r < y.size(); ++r) y[r].insert(y[r].end(), part[r].begin(), part[r].end());
    }
    for (auto& row : y) {
      for (size_t i = 0; op.bias && i < row.size(); ++i)
        row[i] += static_cast<double>(vec(op.bias)[i]);
    }
    store(op.out, std::move(y), op.add);
  }
  void store(TensorId id, Rows y, bool add) {
    Rows& out = tensor(id);
    if (!add) {
      out = std::move(y);
      return;
    }
    for (size_t r = 0; r < y.size(); ++r) {
      for (size_t i = 0; i < y[r].size(); ++i) out[r][i] += y[r][i];
    }
  }
  static void rotate(const Rope& rope, size_t pos, double* x) {
    const size_t n_pairs = rope.inv_freq.size();
    for (size_t i = 0; i < n_pairs; ++i) {
      double& a = x[rope.neox ? i : 2 * i];
      double& b = x[rope.neox ? i + n_pairs : 2 * i + 1];
      const double angle = static_cast<double>(pos) * rope.inv_freq[i];
      const double c = std::cos(angle) * static_cast<double>(rope.magnitude);
      const double s = std::sin(angle) * static_cast<double>(rope.magnitude);
      const double rotated = a * c - b * s;
      b = a * s + b * c;
      a = rotated;
    }
  }
  void apply(const RopeAppend& op) {
    const KvLayer& kv = p_.kv_layers[op.kv_layer];
    const Rope& rope = p_.ropes[op.rope];
    for (size_t pos = 0; pos < tokens_.size(); ++pos) {
      std::vector<double>& row = tensor(op.qkv)[pos];
      const uint32_t n_kv_heads = op.append ? kv.n_kv_heads : 0;
      for (uint32_t head = 0; head < op.n_heads + n_kv_heads; ++head) {
        double* x = row.data() + size_t{head} * kv.head_dim;
        const VectorId norm = head < op.n_heads ? op.q_norm : op.k_norm;
        if (norm) normalise(x, vec(norm), kv.head_dim, op.norm_eps);
        rotate(rope, pos, x);
        if (head < op.n_heads && rope.q_growth != 0) {
          const double steps = std::floor(static_cast<double>(pos) / rope.q_growth_every);
          const double factor = 1 + static_cast<double>(rope.q_growth) * std::log(1 + steps);
          for (uint32_t d = 0; d < kv.head_dim; ++d) x[d] *= factor;
        }
      }
      if (!op.append) continue;
      for (uint32_t head = 0; op.v_norm && head < n_kv_heads; ++head) {
        double* v = row.data() + size_t{op.n_heads + n_kv_heads + head} * kv.head_dim;
        normalise(v, vec(op.v_norm), kv.head_dim, op.norm_eps);
      }
      const auto k = row.begin() + static_cast<ptrdiff_t>(size_t{op.n_heads} * kv.head_dim);
      const auto width = static_cast<ptrdiff_t>(size_t{kv.n_kv_heads} * kv.head_dim);
      k_[op.kv_layer].emplace_back(k, k + width);
      v_[op.kv_layer].emplace_back(k + width, k + 2 * width);
    }
  }
  void apply(const HeadLinear& op) {
    const Matrix& m = p_.matrices[static_cast<size_t>(op.matrix.index)];
    Rows& out = tensor(op.out);
    out.resize(tokens_.size(), std::vector<double>(size_t{op.out_stride} * m.n_experts));
    for (uint32_t i = 0; i < m.n_experts * m.n_out; ++i) {
      const std::vector<float> w = weights(op.matrix, i);
      const size_t head = i / m.n_out;
      for (size_t r = 0; r < out.size(); ++r) {
        double sum = 0;
        for (uint32_t k = 0; k < m.n_in; ++k)
          sum += static_cast<double>(w[k]) * tensor(op.in)[r][head * op.in_stride + k];
        out[r][head * op.out_stride + i % m.n_out] = sum;
      }
    }
  }
  void apply(const LatentAppend& op) {
    const KvLayer& kv = p_.kv_layers[op.kv_layer];
    Rows& out = tensor(op.out);
    out.resize(tokens_.size(), std::vector<double>(size_t{op.n_heads} * kv.head_dim));
    for (size_t pos = 0; pos < tokens_.size(); ++pos) {
      std::vector<double> key = tensor(op.latent)[pos];
      normalise(key.data(), vec(op.norm), kv.n_latent, op.norm_eps);
      rotate(p_.ropes[op.rope], pos, key.data() + kv.n_latent);
      const std::vector<double>& q = tensor(op.q)[pos];
      const size_t q_dim = q.size() / op.n_heads, n_rotated = kv.head_dim - kv.n_latent;
      for (size_t head = 0; head < op.n_heads; ++head) {
        double* to = out[pos].data() + head * kv.head_dim + kv.n_latent;
        for (size_t d = 0; d < n_rotated; ++d) to[d] = q[(head + 1) * q_dim - n_rotated + d];
        rotate(p_.ropes[op.rope], pos, to);
      }
      v_[op.kv_layer].emplace_back(key.begin(), key.begin() + static_cast<ptrdiff_t>(kv.n_latent));
      k_[op.kv_layer].push_back(std::move(key));
    }
  }
  void apply(const Attention& op) {
    const KvLayer& kv = p_.kv_layers[op.kv_layer];
    for (size_t pos = 0; pos < tokens_.size(); ++pos) {
      std::vector<double> out(size_t{op.n_heads} * kv.value_dim());
      const size_t begin = op.window > 0 && pos + 1 > op.window ? pos + 1 - op.window : 0;
      size_t end = op.causal ? pos + 1 : tokens_.size();
      if (op.window > 0) end = std::min(end, pos + op.window);
      for (uint32_t head = 0; head < op.n_heads; ++head) {
        const size_t q = size_t{head} * kv.head_dim;
        const size_t kv_head = head / (op.n_heads / kv.n_kv_heads);
        const size_t k = kv_head * kv.head_dim, v = kv_head * kv.value_dim();
        std::vector<double> scores;
        for (size_t key = begin; key < end; ++key) {
          double dot = 0;
          for (uint32_t d = 0; d < kv.head_dim; ++d) {
            dot += tensor(op.qkv)[pos][q + d] * k_[op.kv_layer][key][k + d];
          }
          const double score = dot * static_cast<double>(op.scale);
          const auto cap = static_cast<double>(op.softcap);
          scores.push_back(cap > 0 ? cap * std::tanh(score / cap) : score);
        }
        double top = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        if (op.sinks) {
          const auto sink = static_cast<double>(vec(op.sinks)[head]);
          top = std::max(top, sink);
          sum = std::exp(sink - top);
        }
        for (double& s : scores) sum += s = std::exp(s - top);
        for (size_t i = 0; i < scores.size(); ++i) {
          for (uint32_t d = 0; d < kv.value_dim(); ++d) {
            out[size_t{head} * kv.value_dim() + d] +=
                scores[i] / sum * v_[op.kv_layer][begin + i][v + d];
          }
        }
      }
      tensor(op.out).push_back(std::move(out));
    }
  }
  void apply(const GatedActivation& op) {
    if (op.up.index >= 0) return apply_to_columns(op);
    for (const auto& row : tensor(op.in)) {
      std::vector<double> y(row.size() / 2);
      for (size_t i = 0; i < y.size(); ++i) {
        y[i] = gated(op.kind, row[i], row[i + y.size()]);
      }
      tensor(op.out).push_back(std::move(y));
    }
  }
  void apply_to_columns(const GatedActivation& op) {
    for (size_t r = 0; r < tokens_.size(); ++r) {
      std::vector<double> y = tensor(op.in)[r];
      for (size_t i = 0; i < y.size(); ++i)
        y[i] = gated(op.kind, y[i], tensor(op.up)[r][op.up_column + i]);
      tensor(op.out).push_back(std::move(y));
    }
  }
  void apply(const Gelu& op) {
    for (std::vector<double> y : tensor(op.in)) {
      for (double& x : y) x *= 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
      tensor(op.out).push_back(std::move(y));
    }
  }
  static double gated(Activation kind, double g, double up) {
    switch (kind) {
      case Activation::kSilu:
        return g / (1.0 + std::exp(-g)) * up;
      case Activation::kGeluTanh:
        return 0.5 * g * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (g + 0.044715 * g * g * g))) * up;
      case Activation::kClampedSwiglu:
        g = std::min(g, 7.0);
        return g / (1.0 + std::exp(-1.702 * g)) * (std::clamp(up, -7.0, 7.0) + 1.0);
    }
    return 0;
  }

  void apply(const Route& op) {
    const auto vec_of = [&](VectorId id) { return id ? vec(id) : std::vector<float>(); };
    for (const auto& logits : tensor(op.logits))
      tensor(op.out).push_back(route(op, logits, vec_of(op.bias), vec_of(op.scales)));
  }
  // Rows of a tensor with slots: row * n_used + slot.
  void apply(const ExpertLinear& op) {
    const Rows &in = tensor(op.in), &routes = tensor(op.routes);
    const size_t n_used = routes[0].size() / 2, n_rows = routes.size();
    Rows out(n_rows * n_used);
    for (size_t i = 0; i < out.size(); ++i) {
      const std::vector<double>& x = in.size() == n_rows ? in[i / n_used] : in[i];
      const auto expert = static_cast<uint32_t>(routes[i / n_used][n_used + i % n_used]);
      for (const MatrixId id : op.matrices) {
        const Matrix& m = p_.matrices[static_cast<size_t>(id.index)];
        for (uint32_t o = 0; o < m.n_out; ++o) {
          const std::vector<float> w = weights(id, expert * m.n_out + o);
          double y = 0;
          for (size_t k = 0; k < x.size(); ++k) y += static_cast<double>(w[k]) * x[k];
          out[i].push_back(y);
        }
      }
      for (size_t o = 0; op.bias && o < out[i].size(); ++o)
        out[i][o] += static_cast<double>(vec(op.bias)[expert * out[i].size() + o]);
    }
    tensor(op.out) = std::move(out);
  }
  void apply(const ExpertSum& op) {
    const Rows &in = tensor(op.in), &routes = tensor(op.routes);
    const size_t n_used = routes[0].size() / 2;
    if (!op.add) tensor(op.out) = Rows(routes.size(), std::vector<double>(in[0].size()));
    for (size_t i = 0; i < in.size(); ++i) {
      std::vector<double>& out = tensor(op.out)[i / n_used];
      for (size_t d = 0; d < out.size(); ++d) out[d] += routes[i / n_used][i % n_used] * in[i][d];
    }
  }
  void apply(const ReluSquared& op) {
    Rows y = tensor(op.in);
    for (auto& row : y) {
      for (double& x : row) x = x > 0 ? x * x : 0;
    }
    tensor(op.out) = std::move(y);
  }
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
  static double softplus(double x) { return x > 40 ? x : std::log1p(std::exp(x)); }
  static void to_length(double* x, size_t n, double scale) {
    double squares = 1e-6;
    for (size_t i = 0; i < n; ++i) squares += x[i] * x[i];
    for (size_t i = 0; i < n; ++i) x[i] *= scale / std::sqrt(squares);
  }
  void apply(const GatedDelta& op) {
    const size_t n_keys = op.n_key_heads, n = op.key_dim, m = op.value_dim;
    const size_t n_heads = op.n_value_heads, shared = n_heads / n_keys;
    std::vector<Rows> states(n_heads, Rows(n, std::vector<double>(m)));
    for (size_t pos = 0; pos < tokens_.size(); ++pos) {
      std::vector<double>& qkv = tensor(op.qkv)[pos];
      for (size_t h = 0; h < n_keys; ++h) {
        to_length(&qkv[h * n], n, 1 / std::sqrt(static_cast<double>(n)));
        to_length(&qkv[(n_keys + h) * n], n, 1);
      }
      std::vector<double> out;
      for (size_t h = 0; h < n_heads; ++h) {
        const size_t key_head = op.tiled ? h % n_keys : h / shared;
        const double *q = &qkv[key_head * n], *k = q + n_keys * n;
        const double* v = &qkv[2 * n_keys * n + h * m];
        const size_t beta = op.interleaved ? h / shared * 2 * shared + h % shared : h;
        const std::vector<double>& raw = tensor(op.beta_alpha)[pos];
        const double alpha = raw[beta + (op.interleaved ? shared : n_heads)];
        const double step = softplus(alpha + static_cast<double>(vec(op.dt_bias)[h]));
        const double decay = std::exp(static_cast<double>(vec(op.a)[h]) * step);
        Rows& s = states[h];
        for (size_t c = 0; c < m; ++c) {
          double kept = 0, y = 0;
          for (size_t i = 0; i < n; ++i) kept += (s[i][c] *= decay) * k[i];
          for (size_t i = 0; i < n; ++i)
            y += (s[i][c] += k[i] * sigmoid(raw[beta]) * (v[c] - kept)) * q[i];
          out.push_back(y);
        }
      }
      tensor(op.out).push_back(std::move(out));
    }
  }
  void apply(const Mamba2Scan& op) {
    const size_t n = op.state_dim, m = op.head_dim, n_x = op.n_heads * m;
    std::vector<Rows> states(op.n_heads, Rows(n, std::vector<double>(m)));
    for (size_t pos = 0; pos < tokens_.size(); ++pos) {
      const std::vector<double>& xbc = tensor(op.xbc)[pos];
      std::vector<double> out;
      for (size_t h = 0; h < op.n_heads; ++h) {
        const size_t group = h / (op.n_heads / op.n_groups);
        const double *b = &xbc[n_x + group * n], *c = b + op.n_groups * n;
        const double step =
            softplus(tensor(op.dt)[pos][h] + static_cast<double>(vec(op.dt_bias)[h]));
        const double decay = std::exp(static_cast<double>(vec(op.a)[h]) * step);
        for (size_t p = 0; p < m; ++p) {
          const double x = xbc[h * m + p];
          double y = static_cast<double>(vec(op.d)[h]) * x;
          for (size_t i = 0; i < n; ++i) {
            double& s = states[h][i][p];
            s = decay * s + b[i] * step * x;
            y += s * c[i];
          }
          out.push_back(y);
        }
      }
      tensor(op.out).push_back(std::move(out));
    }
  }
  void apply(const GatedNorm& op) {
    Rows y = tensor(op.in);
    const Rows& gate = tensor(op.gate);
    const std::vector<float>& w = vec(op.weight);
    for (size_t r = 0; r < y.size(); ++r) {
      for (size_t first = 0; first < y[r].size(); first += op.group_width) {
        const size_t end = first + op.group_width;
        const auto gated = [&] {
          for (size_t i = first; i < end; ++i) y[r][i] *= gate[r][i] * sigmoid(gate[r][i]);
        };
        if (op.gate_first) gated();
        double squares = 0;
        for (size_t i = first; i < end; ++i) squares += y[r][i] * y[r][i];
        const double rms = std::sqrt(squares / op.group_width + static_cast<double>(op.eps));
        for (size_t i = first; i < end; ++i) y[r][i] *= static_cast<double>(w[i % w.size()]) / rms;
        if (!op.gate_first) gated();
      }
    }
    tensor(op.out) = std::move(y);
  }
  void apply(const CausalConv& op) {
    const Rows& in = tensor(op.in);
    const size_t width = in[0].size() / (op.gated ? 3 : 1);
    for (size_t pos = 0; pos < in.size(); ++pos) {
      std::vector<double> out(width);
      for (size_t c = 0; c < width; ++c) {
        double y = op.bias ? static_cast<double>(vec(op.bias)[c]) : 0;
        for (size_t tap = 0; tap < op.n_taps; ++tap) {
          if (pos + tap + 1 < op.n_taps) continue;
          const std::vector<double>& row = in[pos + tap + 1 - op.n_taps];
          const double x = op.gated ? row[c] * row[2 * width + c] : row[c];
          y += static_cast<double>(vec(op.weight)[c * op.n_taps + tap]) * x;
        }
        if (op.silu) y /= 1 + std::exp(-y);
        out[c] = op.gated ? y * in[pos][width + c] : y;
      }
      tensor(op.out).push_back(std::move(out));
    }
  }
  void apply(const SigmoidGate& op) {
    Rows y = tensor(op.in);
    for (size_t r = 0; r < y.size(); ++r) {
      const std::vector<double>& gate = tensor(op.gate)[r];
      for (size_t i = 0; i < y[r].size(); ++i)
        y[r][i] /= 1 + std::exp(-gate[gate.size() == 1 ? 0 : i]);
    }
    tensor(op.out) = std::move(y);
  }
  void apply(const Scale& op) {
    for (auto& row : tensor(op.out)) {
      for (double& x : row) x *= static_cast<double>(op.factor);
    }
  }
  void apply(const SelectRows& op) { tensor(op.out) = tensor(op.in); }
  void apply(const Head& op) {
    if (op.matrix.index < 0) return;
    logits_ = product(tensor(op.in), op.matrix);
    const auto cap = static_cast<double>(op.softcap);
    for (auto& row : logits_) {
      for (double& x : row) x = cap > 0 ? cap * std::tanh(x / cap) : x;
    }
  }

  const Program& p_;
  std::span<const int32_t> tokens_;
  std::vector<Rows> tensors_, k_, v_;
  Rows logits_;
};

}  // namespace

std::vector<std::vector<double>> interpret(const Program& program,
                                           std::span<const int32_t> tokens) {
  return Interpreter(program, tokens).run();
}

std::vector<std::vector<double>> interpret_states(const Program& program,
                                                  std::span<const int32_t> tokens) {
  Interpreter interpreter(program, tokens);
  interpreter.run();
  return interpreter.states();
}

}  // namespace tempo9::ops
