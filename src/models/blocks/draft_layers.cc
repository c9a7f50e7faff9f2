// Layers that predict tokens further ahead (multi-token prediction, "nextn"). They stand behind the
// others in the file and change no output.
#include <algorithm>
#include <array>

#include "models/blocks/decoder.h"

namespace tempo9::models {
namespace {

// What joins the next token's embedding and the last hidden state, and its norms.
Status check_joint(const Reader& reader, uint32_t layer) {
  const uint32_t hidden = reader.config().hidden_size;
  const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
  T9_TRY(reader.matrix(name("nextn.eh_proj.weight"), 2 * hidden, hidden));
  T9_TRY(reader.vector(name("nextn.enorm.weight"), hidden));
  T9_TRY(reader.vector(name("nextn.hnorm.weight"), hidden));
  T9_TRY(reader.optional_vector(name("nextn.shared_head_norm.weight"), hidden));
  return {};
}

Result<ops::DraftLayer> keep_layer(const Reader& reader, ops::Program& program, uint32_t layer) {
  T9_TRY(check_joint(reader, layer));
  ops::DraftLayer kept;
  const std::string prefix = Reader::layer_name(layer, "");
  for (const gguf::Tensor& tensor : reader.file().tensors()) {
    if (!tensor.name.starts_with(prefix)) continue;
    std::array<uint32_t, 3> size{};
    for (size_t i = 0; i < size.size(); ++i)
      size[i] = static_cast<uint32_t>(std::min<uint64_t>(tensor.ne[i], UINT32_MAX));
    if (size[1] == 1 && size[2] == 1) {
      T9_TRY(std::vector<float> values, reader.vector(tensor.name, size[0]));
      kept.vectors.emplace_back(tensor.name, program.add_vector(std::move(values)));
    } else {
      T9_TRY(ops::Matrix matrix, reader.matrix(tensor.name, size[0], size[1], size[2]));
      kept.matrices.push_back(program.add_matrix(std::move(matrix)));
    }
  }
  return kept;
}

}  // namespace

Status keep_draft_layers(const Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  for (uint32_t layer = c.n_layers; layer < c.n_layers + c.n_draft_layers; ++layer) {
    const bool stripped = std::ranges::none_of(
        reader.file().tensors(), [&, prefix = Reader::layer_name(layer, "")](const auto& tensor) {
          return tensor.name.starts_with(prefix);
        });
    if (stripped) continue;  // the key stayed, the layer went
    T9_TRY(ops::DraftLayer kept, keep_layer(reader, program, layer));
    program.draft_layers.push_back(std::move(kept));
  }
  return {};
}

}  // namespace tempo9::models
