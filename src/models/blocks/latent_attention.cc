// Multi-head latent attention with absorbed weights. Source: DeepSeek-AI 2024 (arXiv:2405.04434),
// 2.1.2 and appendix C.
#include <algorithm>
#include <cstring>

#include "models/blocks/decoder.h"
#include "quant/half.h"
#include "quant/quant.h"

namespace tempo9::models {
namespace {

// Of the norms between the two steps of low rank: the originals fix it, whatever the others have.
constexpr float kInnerEps = 1e-6f;

// The two matrices of each head: queries to latent rows, and what was read of those to values.
struct HeadMatrices {
  ops::MatrixId query, value;
};

ops::Matrix made_matrix(ops::Program& program, std::string name, DType type, uint32_t n_in,
                        uint32_t n_out, uint32_t n_heads, std::vector<uint8_t> bytes) {
  program.made.push_back(std::make_shared<const std::vector<uint8_t>>(std::move(bytes)));
  ops::Matrix matrix{std::move(name), type, n_in, n_out, *program.made.back()};
  matrix.n_experts = n_heads;
  return matrix;
}

// Older files have both in one, rows that make a head's keys and then its values of a latent row.
// The former are turned, for which their formats' blocks have to be opened: they become F16.
Result<HeadMatrices> split_kv_b(const Reader& reader, ops::Program& program, uint32_t layer,
                                uint32_t n_heads, const LatentSizes& n) {
  const std::string name = Reader::layer_name(layer, "attn_kv_b.weight");
  const uint32_t n_rows = n.n_nope + n.n_value;
  T9_TRY(const ops::Matrix both, reader.matrix(name, n.n_latent, n_heads * n_rows));
  const DTypeInfo& info = dtype_info(both.type);
  if (n.n_latent % info.block_elements != 0) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: tensor {} has rows of {}, but {} comes in blocks of {}",
                      reader.file().path(), name, n.n_latent, info.name, info.block_elements);
  }
  const size_t n_blocks = n.n_latent / info.block_elements, row_bytes = n_blocks * info.block_bytes;
  const bool exact = both.type == DType::kF32;
  const size_t element = exact ? sizeof(float) : sizeof(uint16_t);
  std::vector<uint8_t> query(size_t{n_heads} * n.n_latent * n.n_nope * element);
  std::vector<uint8_t> value(size_t{n_heads} * n.n_value * row_bytes);
  std::vector<float> row(n.n_latent);
  for (size_t head = 0; head < n_heads; ++head) {
    const uint8_t* rows = both.data.data() + head * n_rows * row_bytes;
    for (size_t i = 0; i < n.n_nope; ++i) {
      quant::find_format(both.type)->decode(rows + i * row_bytes, row.data(), n_blocks);
      for (size_t j = 0; j < n.n_latent; ++j) {
        uint8_t* to = query.data() + ((head * n.n_latent + j) * n.n_nope + i) * element;
        const uint16_t half = quant::f32_to_f16(row[j]);
        std::memcpy(to, exact ? static_cast<const void*>(&row[j]) : &half, element);
      }
    }
    std::memcpy(value.data() + head * n.n_value * row_bytes, rows + n.n_nope * row_bytes,
                n.n_value * row_bytes);
  }
  ops::Matrix q = made_matrix(program, name, exact ? DType::kF32 : DType::kF16, n.n_nope,
                              n.n_latent, n_heads, std::move(query));
  ops::Matrix v =
      made_matrix(program, name, both.type, n.n_latent, n.n_value, n_heads, std::move(value));
  q.scale = v.scale = both.scale;
  return HeadMatrices{program.add_matrix(std::move(q)), program.add_matrix(std::move(v))};
}

Result<HeadMatrices> head_matrices(const Reader& reader, ops::Program& program, uint32_t layer,
                                   uint32_t n_heads, const LatentSizes& n) {
  const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
  if (reader.has(name("attn_kv_b.weight"))) return split_kv_b(reader, program, layer, n_heads, n);
  T9_TRY(ops::Matrix query, reader.matrix(name("attn_k_b.weight"), n.n_nope, n.n_latent, n_heads));
  T9_TRY(ops::Matrix value, reader.matrix(name("attn_v_b.weight"), n.n_latent, n.n_value, n_heads));
  return HeadMatrices{program.add_matrix(std::move(query)), program.add_matrix(std::move(value))};
}

// Of low rank, with a norm between, where the file has it so.
Result<ops::TensorId> queries(const Reader& reader, ops::Program& program, ops::TensorId x,
                              uint32_t layer, uint32_t width) {
  const Config& c = reader.config();
  const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
  if (!reader.has(name("attn_q_a.weight"))) {
    T9_TRY(const auto q, add_matrix(reader, program, name("attn_q.weight"), c.hidden_size, width));
    return program.linear(x, {q});
  }
  T9_TRY(const uint32_t n, reader.size("attention.q_lora_rank", 1, 1u << 20));
  T9_TRY(const auto a, add_matrix(reader, program, name("attn_q_a.weight"), c.hidden_size, n));
  T9_TRY(const auto norm, add_vector(reader, program, name("attn_q_a_norm.weight"), n));
  T9_TRY(const auto b, add_matrix(reader, program, name("attn_q_b.weight"), n, width));
  return program.linear(program.rms_norm(program.linear(x, {a}), norm, kInnerEps), {b});
}

}  // namespace

Result<LatentSizes> read_latent(const Reader& reader) {
  const Config& c = reader.config();
  LatentSizes n;
  T9_TRY(n.n_latent, reader.size("attention.kv_lora_rank", 1, 1024));
  // Newer files have a head's sizes here, and what is kept of a row under the plain names.
  const bool counts_latents = reader.file().find(reader.key("attention.key_length_mla")) != nullptr;
  const std::string_view suffix = counts_latents ? "_mla" : "";
  const auto size = [&](std::string_view name) {
    return reader.size(fmt::format("attention.{}{}", name, suffix), 1, 1024);
  };
  T9_TRY(const uint32_t key, size("key_length"));
  T9_TRY(n.n_value, size("value_length"));
  n.n_rope = c.rope_dims;
  if (n.n_rope == 0 || n.n_rope >= key || n.n_latent + n.n_rope > 1024) {
    return make_error(
        ErrorCode::kCorrupt,
        "{}: heads of {} of which {} rotate, beside latent rows of {}: expected fewer "
        "to rotate than a head has, and at most 1024 with the latent",
        reader.file().path(), key, n.n_rope, n.n_latent);
  }
  n.n_nope = key - n.n_rope;
  return n;
}

Result<Mixed> latent_attention_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                                     uint32_t layer, const LatentSpec& spec) {
  const Config& c = reader.config();
  const LatentSizes& n = spec.sizes;
  const uint32_t n_heads = c.n_heads[layer], key_dim = n.n_latent + n.n_rope;
  const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
  T9_TRY(const auto q, queries(reader, program, x, layer, n_heads * (n.n_nope + n.n_rope)));
  T9_TRY(const auto kv_a,
         add_matrix(reader, program, name("attn_kv_a_mqa.weight"), c.hidden_size, key_dim));
  T9_TRY(const auto kv_norm,
         add_vector(reader, program, name("attn_kv_a_norm.weight"), n.n_latent));
  T9_TRY(const HeadMatrices heads, head_matrices(reader, program, layer, n_heads, n));
  const ops::TensorId latent = program.linear(x, {kv_a});

  program.kv_layers.push_back({1, key_dim, n.n_latent});
  const auto kv_layer = static_cast<uint32_t>(program.kv_layers.size()) - 1;
  const ops::TensorId absorbed = program.heads(n_heads, key_dim);
  program.head_linear({.in = q,
                       .in_stride = n.n_nope + n.n_rope,
                       .matrix = heads.query,
                       .out = absorbed,
                       .out_stride = key_dim});
  program.latent_append({.q = q,
                         .latent = latent,
                         .norm = kv_norm,
                         .norm_eps = kInnerEps,
                         .kv_layer = kv_layer,
                         .n_heads = n_heads,
                         .rope = 0,
                         .out = absorbed});
  const ops::TensorId attended = program.attention({.qkv = absorbed,
                                                    .kv_layer = kv_layer,
                                                    .n_heads = n_heads,
                                                    .scale = spec.scale,
                                                    .window = 0});
  const ops::TensorId out = program.heads(n_heads, n.n_value);
  program.head_linear({.in = attended,
                       .in_stride = n.n_latent,
                       .matrix = heads.value,
                       .out = out,
                       .out_stride = n.n_value});
  return Mixed{out, "attn_output", n_heads * n.n_value};
}

}  // namespace tempo9::models
