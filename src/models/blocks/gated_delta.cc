// Gated DeltaNet layers. Source: transformers' Qwen3NextGatedDeltaNet and Qwen3_5GatedDeltaNet,
// which differ in the order of rows only.
#include "models/blocks/decoder.h"

namespace tempo9::models {
namespace {

struct DeltaSizes {
  uint32_t n_taps, head_dim, n_key_heads, n_value_heads;
  uint32_t key_width() const { return n_key_heads * head_dim; }
  uint32_t value_width() const { return n_value_heads * head_dim; }
};

Result<DeltaSizes> read_delta_sizes(const Reader& reader) {
  DeltaSizes n{};
  T9_TRY(n.n_taps, reader.size("ssm.conv_kernel", 2, ops::kMaxConvTaps));
  T9_TRY(n.head_dim, reader.size("ssm.state_size", 1, 1024));
  T9_TRY(n.n_key_heads, reader.size("ssm.group_count", 1, 1u << 12));
  T9_TRY(n.n_value_heads, reader.size("ssm.time_step_rank", 1, 1u << 12));
  T9_TRY(const uint32_t inner, reader.size("ssm.inner_size", 1, 1u << 22));
  if (inner != n.value_width() || n.n_value_heads % n.n_key_heads != 0) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: {} is {}, expected {} heads of {}, a multiple of the {} key heads",
                      reader.file().path(), reader.key("ssm.inner_size"), inner, n.n_value_heads,
                      n.head_dim, n.n_key_heads);
  }
  return n;
}

}  // namespace

Result<Mixed> gated_delta_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                                uint32_t layer) {
  const uint32_t hidden = reader.config().hidden_size;
  const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
  T9_TRY(const DeltaSizes n, read_delta_sizes(reader));
  const uint32_t conv_width = 2 * n.key_width() + n.value_width();
  T9_TRY(const auto qkv, add_matrix(reader, program, name("attn_qkv.weight"), hidden, conv_width));
  T9_TRY(const auto gate,
         add_matrix(reader, program, name("attn_gate.weight"), hidden, n.value_width()));
  // One tensor holds betas and alphas of each key head in turn, or there are two.
  const bool interleaved = reader.has(name("ssm_ba.weight"));
  std::vector<ops::MatrixId> beta_alpha;
  if (interleaved) {
    T9_TRY(const auto both,
           add_matrix(reader, program, name("ssm_ba.weight"), hidden, 2 * n.n_value_heads));
    beta_alpha = {both};
  } else {
    T9_TRY(const auto beta,
           add_matrix(reader, program, name("ssm_beta.weight"), hidden, n.n_value_heads));
    T9_TRY(const auto alpha,
           add_matrix(reader, program, name("ssm_alpha.weight"), hidden, n.n_value_heads));
    beta_alpha = {beta, alpha};
  }
  T9_TRY(auto taps, reader.vector(name("ssm_conv1d.weight"), n.n_taps, conv_width));
  T9_TRY(const auto a, add_vector(reader, program, name("ssm_a"), n.n_value_heads));
  T9_TRY(const auto dt_bias, add_vector(reader, program, name("ssm_dt.bias"), n.n_value_heads));
  T9_TRY(const auto norm, add_vector(reader, program, name("ssm_norm.weight"), n.head_dim));

  const auto mixed = program.causal_conv({.in = program.linear(x, {qkv}),
                                          .n_taps = n.n_taps,
                                          .weight = program.add_vector(std::move(taps)),
                                          .silu = true});
  const auto out = program.gated_delta({.qkv = mixed,
                                        .beta_alpha = program.linear(x, beta_alpha),
                                        .interleaved = interleaved,
                                        // The converter puts value heads in this order, but for
                                        // Qwen3-Next, where neighbours share a key head.
                                        .tiled = reader.config().architecture != "qwen3next",
                                        .n_key_heads = n.n_key_heads,
                                        .key_dim = n.head_dim,
                                        .n_value_heads = n.n_value_heads,
                                        .value_dim = n.head_dim,
                                        .a = a,
                                        .dt_bias = dt_bias});
  const auto normed = program.gated_norm({.in = out,
                                          .gate = program.linear(x, {gate}),
                                          .weight = norm,
                                          .group_width = n.head_dim,
                                          .eps = reader.config().norm_eps});
  return Mixed{normed, "ssm_out", n.value_width()};
}

}  // namespace tempo9::models
