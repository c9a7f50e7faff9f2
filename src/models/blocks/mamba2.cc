// Mamba2 layers. Source: transformers' NemotronHMamba2Mixer and GraniteMoeHybridMambaLayer, which
// agree.
#include "models/blocks/decoder.h"

namespace tempo9::models {
namespace {

struct Mamba2Sizes {
  uint32_t n_taps, inner, state_dim, n_heads, n_groups;
  uint32_t conv_width() const { return inner + 2 * n_groups * state_dim; }
};

Result<Mamba2Sizes> read_mamba2_sizes(const Reader& reader) {
  Mamba2Sizes n{};
  T9_TRY(n.n_taps, reader.size("ssm.conv_kernel", 2, ops::kMaxConvTaps));
  T9_TRY(n.inner, reader.size("ssm.inner_size", 1, 1u << 20));
  T9_TRY(n.state_dim, reader.size("ssm.state_size", 1, 4096));
  T9_TRY(n.n_heads, reader.size("ssm.time_step_rank", 1, 1u << 16));
  T9_TRY(n.n_groups, reader.size("ssm.group_count", 1, 1u << 12));
  if (n.inner % n.n_heads != 0 || n.n_heads % n.n_groups != 0) {
    return make_error(
        ErrorCode::kCorrupt, "{}: {} is {}, of {} heads in {} groups, which do not divide it",
        reader.file().path(), reader.key("ssm.inner_size"), n.inner, n.n_heads, n.n_groups);
  }
  return n;
}

}  // namespace

Result<Mixed> mamba2_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                           uint32_t layer) {
  const uint32_t hidden = reader.config().hidden_size;
  const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
  const auto vector = [&](std::string_view part, uint32_t n,
                          uint32_t rows = 1) -> Result<ops::VectorId> {
    T9_TRY(std::vector<float> values, reader.vector(name(part), n, rows));
    return program.add_vector(std::move(values));
  };
  T9_TRY(const Mamba2Sizes n, read_mamba2_sizes(reader));
  // [z | x b c | dt], which go three ways.
  T9_TRY(const ops::Matrix in,
         reader.matrix(name("ssm_in.weight"), hidden, n.inner + n.conv_width() + n.n_heads));
  const auto z = program.add_matrix(rows_of(in, 0, n.inner));
  const auto xbc = program.add_matrix(rows_of(in, n.inner, n.conv_width()));
  const auto dt = program.add_matrix(rows_of(in, n.inner + n.conv_width(), n.n_heads));
  T9_TRY(const auto conv, vector("ssm_conv1d.weight", n.n_taps, n.conv_width()));
  T9_TRY(const auto conv_bias,
         add_optional_vector(reader, program, name("ssm_conv1d.bias"), n.conv_width()));
  T9_TRY(const auto a, vector("ssm_a", 1, n.n_heads));
  T9_TRY(const auto d, vector("ssm_d", 1, n.n_heads));
  T9_TRY(const auto dt_bias, vector("ssm_dt.bias", n.n_heads));
  T9_TRY(const auto norm, vector("ssm_norm.weight", n.inner / n.n_groups, n.n_groups));

  const auto gate = program.linear(x, {z});
  const auto mixed = program.causal_conv({.in = program.linear(x, {xbc}),
                                          .n_taps = n.n_taps,
                                          .weight = conv,
                                          .bias = conv_bias,
                                          .silu = true});
  const auto scanned = program.mamba2_scan({.xbc = mixed,
                                            .dt = program.linear(x, {dt}),
                                            .n_heads = n.n_heads,
                                            .head_dim = n.inner / n.n_heads,
                                            .n_groups = n.n_groups,
                                            .state_dim = n.state_dim,
                                            .a = a,
                                            .dt_bias = dt_bias,
                                            .d = d});
  const auto normed = program.gated_norm({.in = scanned,
                                          .gate = gate,
                                          .weight = norm,
                                          .group_width = n.inner / n.n_groups,
                                          .eps = reader.config().norm_eps,
                                          .gate_first = true});
  return Mixed{normed, "ssm_out", n.inner};
}

}  // namespace tempo9::models
