// Pieces of a decoder layer that several architectures record the same way.
#pragma once

#include <optional>

#include "models/blocks/reader.h"

namespace tempo9::models {

// A matrix or vector of the file, added to the program.
Result<ops::MatrixId> add_matrix(const Reader& reader, ops::Program& program,
                                 const std::string& name, uint32_t n_in, uint32_t n_out);
Result<ops::VectorId> add_vector(const Reader& reader, ops::Program& program,
                                 const std::string& name, uint32_t n);
// {} when the file has none.
Result<ops::VectorId> add_optional_vector(const Reader& reader, ops::Program& program,
                                          const std::string& name, uint32_t n);

// The input table, and the head: output.weight, or the same table where the file ties them.
struct Embeddings {
  ops::MatrixId input, output;
};
Result<Embeddings> add_embeddings(const Reader& reader, ops::Program& program);

struct AttentionSpec {
  uint32_t layer = 0;
  uint32_t rope = 0;  // index into Program::ropes
  float scale = 0;
  uint32_t window = 0;
};
// qkv = x Wqkv (+ bias), q and k normalised where the file has norms, rope, cache, attention. Not
// the output projection. Also takes the fused attn_qkv tensor.
Result<ops::TensorId> attention_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                                      const AttentionSpec& spec);

// act(x Wgate) * (x Wup); not the down projection.
Result<ops::TensorId> gated_mlp_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                                      uint32_t layer, ops::Activation activation);

}  // namespace tempo9::models
