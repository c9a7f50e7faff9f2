// Mixture of experts: a router sends each row to a few of many small MLPs; shared experts see all.
#include "models/blocks/decoder.h"

namespace tempo9::models {
namespace {

// Numbers of expert_gating_func in files.
Result<ops::Gating> read_gating(const Reader& reader, ops::Gating fallback) {
  const std::string key = reader.key("expert_gating_func");
  T9_TRY(const uint64_t number, reader.file().get_uint(key, 0));
  switch (number) {
    case 0:
      return fallback;
    case 1:
      return ops::Gating::kSoftmax;
    case 2:
      return ops::Gating::kSigmoid;
    case 3:
      return ops::Gating::kSoftmaxOfChosen;
    default:
      return make_error(ErrorCode::kUnsupported,
                        "{}: {} is {}; known are 1 (softmax), 2 (sigmoid) and 3 (softmax of the "
                        "chosen experts)",
                        reader.file().path(), key, number);
  }
}

struct ExpertSizes {
  uint32_t n_experts, n_used, n_groups, n_groups_used, width;
  uint32_t outer;  // of what experts see and give: the hidden size, or a latent one
};

Result<ExpertSizes> read_sizes(const Reader& reader, uint32_t layer) {
  const gguf::File& file = reader.file();
  const Config& c = reader.config();
  T9_TRY(const uint64_t n_experts, file.get_uint(reader.key("expert_count")));
  T9_TRY(const auto used, file.get_per_layer(reader.key("expert_used_count"), c.n_layers, 0));
  T9_TRY(const auto widths, file.get_per_layer(reader.key("expert_feed_forward_length"), c.n_layers,
                                               c.intermediate_size[layer]));
  T9_TRY(uint64_t n_groups, file.get_uint(reader.key("expert_group_count"), 0));
  T9_TRY(uint64_t n_groups_used, file.get_uint(reader.key("expert_group_used_count"), 0));
  if (n_groups <= 1) n_groups = n_groups_used = 1;  // no groups
  const bool groups_fit =
      n_groups_used > 0 && n_groups_used <= n_groups && n_experts % n_groups == 0;
  if (n_experts < 2 || n_experts > 4096 || used[layer] == 0 || widths[layer] == 0 ||
      widths[layer] > (1u << 24) || !groups_fit ||
      used[layer] > n_experts / n_groups * n_groups_used) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: layer {} chooses {} of {} experts of {} columns from {} of {} groups, "
                      "which cannot be",
                      file.path(), layer, used[layer], n_experts, widths[layer], n_groups_used,
                      n_groups);
  }
  const auto u32 = [](uint64_t n) { return static_cast<uint32_t>(n); };
  return ExpertSizes{u32(n_experts),     u32(used[layer]),   u32(n_groups),
                     u32(n_groups_used), u32(widths[layer]), c.hidden_size};
}

Result<ops::MatrixId> add_experts(const Reader& reader, ops::Program& program, uint32_t layer,
                                  std::string_view part, uint32_t n_in, uint32_t n_out,
                                  uint32_t n_experts, float scale = 1.0f) {
  T9_TRY(ops::Matrix matrix,
         reader.matrix(fmt::format("blk.{}.{}.weight", layer, part), n_in, n_out, n_experts));
  matrix.scale *= scale;
  return program.add_matrix(std::move(matrix));
}

Result<ops::TensorId> route(const Reader& reader, ops::Program& program, ops::TensorId x,
                            uint32_t layer, const ExpertSizes& n, const MoeSpec& spec) {
  const gguf::File& file = reader.file();
  const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
  T9_TRY(const auto router, add_matrix(reader, program, name("ffn_gate_inp.weight"),
                                       reader.config().hidden_size, n.n_experts));
  T9_TRY(const auto router_bias,
         add_optional_vector(reader, program, name("ffn_gate_inp.bias"), n.n_experts));
  T9_TRY(const auto choice_bias,
         add_optional_vector(reader, program, name("exp_probs_b.bias"), n.n_experts));
  T9_TRY(const ops::Gating gating, read_gating(reader, spec.gating));
  T9_TRY(const bool normalise, file.get_bool(reader.key("expert_weights_norm"), spec.normalise));
  T9_TRY(const double scale, file.get_float(reader.key("expert_weights_scale"), 1.0));
  // A scale of each expert's output may as well be its weight's. Not so beside a bias.
  ops::VectorId scales;
  if (!reader.has(name("ffn_down_exps.bias"))) {
    T9_TRY(scales, add_optional_vector(reader, program, name("ffn_down_exps.scale"), n.n_experts));
  }
  return program.route({.logits = program.linear(x, {router}, router_bias),
                        .gating = gating,
                        .n_used = n.n_used,
                        .bias = choice_bias,
                        .n_groups = n.n_groups,
                        .n_groups_used = n.n_groups_used,
                        // DeepSeek V2's and V3's rules.
                        .n_group_best = gating == ops::Gating::kSoftmax ? 1u : 2u,
                        .normalise = normalise,
                        .scale = static_cast<float>(scale == 0.0 ? 1.0 : scale),
                        .scales = scales});
}

// Gate and up of all experts, in two tensors or one.
Result<ops::TensorId> gate_and_up(const Reader& reader, ops::Program& program, ops::TensorId x,
                                  ops::TensorId routes, uint32_t layer, const ExpertSizes& n) {
  const uint32_t hidden = n.outer;
  if (reader.has(Reader::layer_name(layer, "ffn_gate_up_exps.weight"))) {
    T9_TRY(const auto both, add_experts(reader, program, layer, "ffn_gate_up_exps", hidden,
                                        2 * n.width, n.n_experts));
    return program.expert_linear(x, routes, {both});
  }
  T9_TRY(const auto gate,
         add_experts(reader, program, layer, "ffn_gate_exps", hidden, n.width, n.n_experts));
  T9_TRY(const auto up,
         add_experts(reader, program, layer, "ffn_up_exps", hidden, n.width, n.n_experts));
  T9_TRY(
      const auto bias,
      joined_bias(reader, program, layer,
                  {{"ffn_gate_exps.bias", n.width}, {"ffn_up_exps.bias", n.width}}, n.n_experts));
  return program.expert_linear(x, routes, {gate, up}, bias);
}

// Each slot's expert: act(x Wgate) * (x Wup) or relu(x Wup)^2, then down.
Result<ops::TensorId> experts(const Reader& reader, ops::Program& program, ops::TensorId x,
                              ops::TensorId routes, uint32_t layer, const ExpertSizes& n,
                              const MoeSpec& spec, float scale) {
  ops::TensorId inner;
  if (spec.gated) {
    T9_TRY(const auto both, gate_and_up(reader, program, x, routes, layer, n));
    inner = program.gated_activation(both, spec.activation);
  } else {
    T9_TRY(const auto up,
           add_experts(reader, program, layer, "ffn_up_exps", n.outer, n.width, n.n_experts));
    inner = program.relu_squared(program.expert_linear(x, routes, {up}));
  }
  T9_TRY(const auto down, add_experts(reader, program, layer, "ffn_down_exps", n.width, n.outer,
                                      n.n_experts, scale));
  T9_TRY(const auto down_bias,
         joined_bias(reader, program, layer, {{"ffn_down_exps.bias", n.outer}}, n.n_experts));
  return program.expert_linear(inner, routes, {down}, down_bias);
}

}  // namespace

Result<ops::TensorId> moe_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                                ops::TensorId router_x, uint32_t layer, const MoeSpec& spec) {
  T9_TRY(const ExpertSizes n, read_sizes(reader, layer));
  T9_TRY(const auto routes, route(reader, program, router_x, layer, n, spec));
  T9_TRY(const auto routed, experts(reader, program, x, routes, layer, n, spec, spec.scale));
  return program.expert_sum(routed, routes);
}

Status add_moe(const Reader& reader, ops::Program& program, ops::TensorId residual, ops::TensorId x,
               uint32_t layer, const MoeSpec& spec) {
  const uint32_t hidden = reader.config().hidden_size;
  const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
  T9_TRY(ExpertSizes n, read_sizes(reader, layer));
  T9_TRY(const auto routes, route(reader, program, x, layer, n, spec));
  if (reader.has(name("ffn_latent_down.weight"))) {
    T9_TRY(n.outer, reader.size("moe_latent_size", 1, 1u << 20));
    T9_TRY(const auto in,
           add_matrix(reader, program, name("ffn_latent_down.weight"), hidden, n.outer));
    T9_TRY(const auto out,
           add_matrix(reader, program, name("ffn_latent_up.weight"), n.outer, hidden, spec.scale));
    T9_TRY(const auto routed,
           experts(reader, program, program.linear(x, {in}), routes, layer, n, spec, 1.0f));
    program.add_linear(residual, program.expert_sum(routed, routes), out);
  } else {
    T9_TRY(const auto routed, experts(reader, program, x, routes, layer, n, spec, spec.scale));
    program.add_expert_sum(residual, routed, routes);
  }

  const gguf::Tensor* shared = reader.file().find_tensor(name("ffn_up_shexp.weight"));
  if (shared == nullptr) return {};
  const auto shared_width = static_cast<uint32_t>(std::min<uint64_t>(shared->ne[1], 1u << 24));
  const MlpSpec mlp{.gate = "ffn_gate_shexp",
                    .up = "ffn_up_shexp",
                    .down = "ffn_down_shexp",
                    .width = shared_width,
                    .activation = spec.activation,
                    .scale = spec.scale,
                    .gated = spec.gated};
  if (!reader.has(name("ffn_gate_inp_shexp.weight")))
    return add_mlp(reader, program, residual, x, layer, mlp);
  // What they give is multiplied by a gate of their own; it might as well stand in front of down.
  T9_TRY(const auto gate,
         add_matrix(reader, program, name("ffn_gate_inp_shexp.weight"), hidden, 1));
  T9_TRY(const auto inner, mlp_block(reader, program, x, layer, mlp));
  T9_TRY(const auto down, add_matrix(reader, program, name("ffn_down_shexp.weight"), shared_width,
                                     hidden, spec.scale));
  program.add_linear(residual, program.sigmoid_gate(inner, program.linear(x, {gate})), down);
  return {};
}

}  // namespace tempo9::models
