#include "models/blocks/decoder.h"

namespace tempo9::models {

Result<Mixed> short_conv_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                               uint32_t layer) {
  const uint32_t width = reader.config().hidden_size;
  const std::string key = reader.key("shortconv.l_cache");
  T9_TRY(const uint64_t n_taps, reader.file().get_uint(key));
  if (n_taps < 2 || n_taps > ops::kMaxConvTaps) {
    return make_error(ErrorCode::kUnsupported, "{}: {} is {}, expected 2 to {}",
                      reader.file().path(), key, n_taps, ops::kMaxConvTaps);
  }
  const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
  T9_TRY(const auto in,
         add_matrix(reader, program, name("shortconv.in_proj.weight"), width, 3 * width));
  T9_TRY(auto taps,
         reader.vector(name("shortconv.conv.weight"), static_cast<uint32_t>(n_taps), width));
  const ops::TensorId out = program.causal_conv({.in = program.linear(x, {in}),
                                                 .gated = true,
                                                 .n_taps = static_cast<uint32_t>(n_taps),
                                                 .weight = program.add_vector(std::move(taps))});
  return Mixed{out, "shortconv.out_proj", width};
}

}  // namespace tempo9::models
