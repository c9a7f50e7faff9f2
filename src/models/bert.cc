// BERT and its kind (bert) and Nomic's (nomic-bert): encoders with norms behind attention and MLP.
// Sources: transformers' BertModel, NomicBertModel.
#include <algorithm>
#include <cmath>

#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_bert(Reader& reader, ops::Program& program);

namespace {

struct BertNorm {
  ops::VectorId weight, bias;
};
Result<BertNorm> add_norm(const Reader& reader, ops::Program& program, const std::string& name) {
  const uint32_t n = reader.config().hidden_size;
  BertNorm norm;
  T9_TRY(norm.weight, add_vector(reader, program, name + ".weight", n));
  T9_TRY(norm.bias, add_vector(reader, program, name + ".bias", n));
  return norm;
}

Result<ops::TensorId> normalised(const Reader& reader, ops::Program& program,
                                 const std::string& name, ops::TensorId x) {
  T9_TRY(const BertNorm norm, add_norm(reader, program, name));
  return program.layer_norm(x, norm.weight, norm.bias, reader.config().norm_eps);
}

// A learnt vector for each position, where the file has them.
Result<ops::MatrixId> add_positions(const Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  const gguf::Tensor* table = reader.file().find_tensor("position_embd.weight");
  if (table == nullptr) return ops::MatrixId{};
  if (c.max_length > table->ne[1]) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}: the model has positions for {} tokens, --max-length asks for {}",
                      reader.file().path(), table->ne[1], c.max_length);
  }
  return add_matrix(reader, program, "position_embd.weight", c.hidden_size,
                    static_cast<uint32_t>(table->ne[1]));
}

// Words, plus positions, plus the vector of the first kind of text, which all of it is.
Result<ops::TensorId> embedded(const Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  T9_TRY(const auto words,
         add_matrix(reader, program, "token_embd.weight", c.hidden_size, c.n_vocab));
  T9_TRY(const auto positions, add_positions(reader, program));
  ops::VectorId kind;
  if (const gguf::Tensor* kinds = reader.file().find_tensor("token_types.weight")) {
    const auto n = static_cast<uint32_t>(std::clamp<uint64_t>(kinds->ne[1], 1, 1024));
    T9_TRY(std::vector<float> rows, reader.vector("token_types.weight", c.hidden_size, n));
    rows.resize(c.hidden_size);
    kind = program.add_vector(std::move(rows));
  }
  return normalised(reader, program, "token_embd_norm",
                    program.embed(words, 1.0f, positions, kind));
}

// residual += the MLP's output: gated where the file has a gate.
Status add_bert_mlp(const Reader& reader, ops::Program& program, ops::TensorId residual,
                    uint32_t layer) {
  const Config& c = reader.config();
  const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
  const uint32_t width = c.intermediate_size[layer];
  if (reader.has(name("ffn_gate.weight")))
    return add_mlp(reader, program, residual, residual, layer, {.width = width});
  T9_TRY(const auto up, add_matrix(reader, program, name("ffn_up.weight"), c.hidden_size, width));
  T9_TRY(const auto up_bias, add_optional_vector(reader, program, name("ffn_up.bias"), width));
  T9_TRY(const auto down,
         add_matrix(reader, program, name("ffn_down.weight"), width, c.hidden_size));
  T9_TRY(const auto down_bias,
         add_optional_vector(reader, program, name("ffn_down.bias"), c.hidden_size));
  const ops::TensorId inner = program.gelu(program.linear(residual, {up}, up_bias));
  program.add_linear(residual, inner, down, down_bias);
  return {};
}

}  // namespace

Status record_bert(Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  const bool has_rope = c.architecture == "nomic-bert";
  if (has_rope) {
    T9_TRY(auto rope,
           read_rope(reader, {.base = c.rope_base, .n_dims = c.rope_dims, .neox = true}));
    program.ropes.push_back(std::move(rope));
  } else {
    program.ropes.emplace_back();  // nothing rotates
  }
  T9_TRY(ops::TensorId x, embedded(reader, program));
  for (uint32_t layer = 0; layer < c.n_layers; ++layer) {
    const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
    T9_TRY(const auto attended,
           attention_block(reader, program, x,
                           {.layer = layer,
                            .scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim)),
                            .causal = false}));
    T9_TRY(const auto output, add_matrix(reader, program, name("attn_output.weight"),
                                         c.n_heads[layer] * c.head_dim, c.hidden_size));
    T9_TRY(const auto bias,
           add_optional_vector(reader, program, name("attn_output.bias"), c.hidden_size));
    program.add_linear(x, attended, output, bias);
    T9_TRY(x, normalised(reader, program, name("attn_output_norm"), x));
    T9_TRY(add_bert_mlp(reader, program, x, layer));
    T9_TRY(x, normalised(reader, program, name("layer_output_norm"), x));
  }
  program.end_without_head(program.select_rows(x));
  return reader.check_all_used();
}

}  // namespace tempo9::models
