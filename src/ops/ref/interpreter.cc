#include "ops/ref/interpreter.h"

#include <algorithm>
#include <cmath>

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

 private:
  Rows& tensor(TensorId id) { return tensors_[static_cast<size_t>(id.index)]; }
  const std::vector<float>& vec(VectorId id) const {
    return p_.vectors[static_cast<size_t>(id.index)];
  }

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
    for (const int32_t token : tokens_) {
      const std::vector<float> w = weights(op.table, static_cast<uint32_t>(token));
      std::vector<double> x(w.begin(), w.end());
      for (double& value : x) value *= static_cast<double>(op.scale);
      tensor(op.out).push_back(std::move(x));
    }
  }
  void apply(const RmsNorm& op) {
    Rows y = tensor(op.in);
    for (auto& row : y) normalise(row.data(), vec(op.weight), row.size(), op.eps);
    store(op.out, std::move(y), op.add);
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
  void apply(const RopeAppend& op) {
    const KvLayer& kv = p_.kv_layers[op.kv_layer];
    const Rope& rope = p_.ropes[op.rope];
    const size_t n_pairs = rope.inv_freq.size();
    for (size_t pos = 0; pos < tokens_.size(); ++pos) {
      std::vector<double>& row = tensor(op.qkv)[pos];
      for (uint32_t head = 0; head < op.n_heads + kv.n_kv_heads; ++head) {
        double* x = row.data() + size_t{head} * kv.head_dim;
        const VectorId norm = head < op.n_heads ? op.q_norm : op.k_norm;
        if (norm) normalise(x, vec(norm), kv.head_dim, op.norm_eps);
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
      const auto k = row.begin() + static_cast<ptrdiff_t>(size_t{op.n_heads} * kv.head_dim);
      const auto width = static_cast<ptrdiff_t>(size_t{kv.n_kv_heads} * kv.head_dim);
      k_[op.kv_layer].emplace_back(k, k + width);
      v_[op.kv_layer].emplace_back(k + width, k + 2 * width);
    }
  }
  void apply(const Attention& op) {
    const KvLayer& kv = p_.kv_layers[op.kv_layer];
    for (size_t pos = 0; pos < tokens_.size(); ++pos) {
      std::vector<double> out(size_t{op.n_heads} * kv.head_dim);
      const size_t begin = op.window > 0 && pos + 1 > op.window ? pos + 1 - op.window : 0;
      for (uint32_t head = 0; head < op.n_heads; ++head) {
        const size_t q = size_t{head} * kv.head_dim;
        const size_t k = size_t{head / (op.n_heads / kv.n_kv_heads)} * kv.head_dim;
        std::vector<double> scores;
        for (size_t key = begin; key <= pos; ++key) {
          double dot = 0;
          for (uint32_t d = 0; d < kv.head_dim; ++d) {
            dot += tensor(op.qkv)[pos][q + d] * k_[op.kv_layer][key][k + d];
          }
          scores.push_back(dot * static_cast<double>(op.scale));
        }
        const double top = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        for (double& s : scores) sum += s = std::exp(s - top);
        for (size_t i = 0; i < scores.size(); ++i) {
          for (uint32_t d = 0; d < kv.head_dim; ++d) {
            out[q + d] += scores[i] / sum * v_[op.kv_layer][begin + i][k + d];
          }
        }
      }
      tensor(op.out).push_back(std::move(out));
    }
  }
  void apply(const GatedActivation& op) {
    for (const auto& row : tensor(op.in)) {
      std::vector<double> y(row.size() / 2);
      for (size_t i = 0; i < y.size(); ++i) {
        const double g = row[i];
        const double act =
            op.kind == Activation::kSilu
                ? g / (1.0 + std::exp(-g))
                : 0.5 * g * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (g + 0.044715 * g * g * g)));
        y[i] = act * row[i + y.size()];
      }
      tensor(op.out).push_back(std::move(y));
    }
  }
  void apply(const SelectRows& op) { tensor(op.out) = tensor(op.in); }
  void apply(const Head& op) {
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

}  // namespace tempo9::ops
