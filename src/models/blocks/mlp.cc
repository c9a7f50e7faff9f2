#include "models/blocks/decoder.h"

namespace tempo9::models {

Result<ops::TensorId> mlp_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                                uint32_t layer, const MlpSpec& spec) {
  const uint32_t hidden = reader.config().hidden_size, width = spec.width;
  if (width == 0) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: {} of layer {} is 0, expected 1 or more where a layer has an MLP",
                      reader.file().path(), reader.key("feed_forward_length"), layer);
  }
  const auto name = [&](std::string_view part) {
    return fmt::format("blk.{}.{}.weight", layer, part);
  };
  const std::string up_bias = fmt::format("{}.bias", spec.up);
  if (!spec.gated) {
    T9_TRY(const auto up, add_matrix(reader, program, name(spec.up), hidden, width));
    T9_TRY(const auto bias,
           add_optional_vector(reader, program, Reader::layer_name(layer, up_bias), width));
    return program.relu_squared(program.linear(x, {up}, bias));
  }
  if (!reader.has(name(spec.gate))) {
    T9_TRY(const auto both, add_matrix(reader, program, name(spec.up), hidden, 2 * width));
    return program.gated_activation(program.linear(x, {both}), spec.activation);
  }
  T9_TRY(const auto gate, add_matrix(reader, program, name(spec.gate), hidden, width));
  T9_TRY(const auto up, add_matrix(reader, program, name(spec.up), hidden, width));
  const std::string gate_bias = fmt::format("{}.bias", spec.gate);
  T9_TRY(const auto bias,
         joined_bias(reader, program, layer, {{gate_bias, width}, {up_bias, width}}));
  return program.gated_activation(program.linear(x, {gate, up}, bias), spec.activation);
}

Status add_mlp(const Reader& reader, ops::Program& program, ops::TensorId residual, ops::TensorId x,
               uint32_t layer, const MlpSpec& spec) {
  const uint32_t hidden = reader.config().hidden_size;
  T9_TRY(const auto inner, mlp_block(reader, program, x, layer, spec));
  T9_TRY(const auto down,
         add_matrix(reader, program, fmt::format("blk.{}.{}.weight", layer, spec.down), spec.width,
                    hidden, spec.scale));
  T9_TRY(const auto bias,
         add_optional_vector(reader, program, fmt::format("blk.{}.{}.bias", layer, spec.down),
                             hidden, spec.scale));
  program.add_linear(residual, inner, down, bias);
  return {};
}

}  // namespace tempo9::models
