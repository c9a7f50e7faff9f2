// What decoders are made of (weights, attention, MLPs), and the frame that most of them share.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/blocks/reader.h"

namespace tempo9::models {

// A matrix or vector of the file, added to the program. Its values are multiplied by scale.
Result<ops::MatrixId> add_matrix(const Reader& reader, ops::Program& program,
                                 const std::string& name, uint32_t n_in, uint32_t n_out,
                                 float scale = 1.0f);
Result<ops::VectorId> add_vector(const Reader& reader, ops::Program& program,
                                 const std::string& name, uint32_t n, float scale = 1.0f);
// Some rows of a matrix, as one of its own.
ops::Matrix rows_of(const ops::Matrix& matrix, uint32_t first, uint32_t n);
// {} when the file has none.
Result<ops::VectorId> add_optional_vector(const Reader& reader, ops::Program& program,
                                          const std::string& name, uint32_t n, float scale = 1.0f);
// The biases of layer's matrices that are computed together, as one vector in their order: [rows,
// sum of their widths], zeros for those that are missing; {} if all are.
struct BiasPart {
  std::string_view name;
  uint32_t width;
};
Result<ops::VectorId> joined_bias(const Reader& reader, ops::Program& program, uint32_t layer,
                                  const std::vector<BiasPart>& parts, uint32_t rows = 1);

// The input table, and the head: output.weight, or the same table where the file ties them.
struct Embeddings {
  ops::MatrixId input, output;
};
Result<Embeddings> add_embeddings(const Reader& reader, ops::Program& program);

// The weights of the file's layers for drafts, into Program::draft_layers. Errors: as
// Reader::matrix; kCorrupt too when a layer lacks what joins embedding and hidden state.
Status keep_draft_layers(const Reader& reader, ops::Program& program);

struct AttentionSpec {
  uint32_t layer = 0;
  uint32_t rope = 0;      // index into Program::ropes
  uint32_t head_dim = 0;  // 0: the configuration's
  // Keys and values are another layer's: an index into Program::kv_layers, whose heads are as long
  // and as many.
  std::optional<uint32_t> kv_layer = {};
  bool v_norm = false;  // values are normalised, too, without weights
  // Without an attn_v, what attn_k gives are the values, too, as they are before norm and rope.
  bool k_may_be_v = false;
  float scale = 0;
  uint32_t window = 0;
  float softcap = 0;
  bool causal = true;
  // attn_q holds a gate behind each head's query: what the head gives is multiplied by its sigmoid.
  bool gated = false;
};
// qkv = x Wqkv (+ bias), q and k normalised where the file has norms, rope, cache, attention (with
// sinks where the file has them). Not the output projection. Also takes the fused attn_qkv tensor.
Result<ops::TensorId> attention_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                                      const AttentionSpec& spec);

// Names of an MLP's matrices in a layer, and its width.
struct MlpSpec {
  std::string_view gate = "ffn_gate", up = "ffn_up", down = "ffn_down";
  uint32_t width = 0;
  ops::Activation activation = ops::Activation::kSilu;
  float scale = 1.0f;  // of what comes out
  bool gated = true;   // else there is no gate, and the activation is the square of ReLU
};
// act(x Wgate) * (x Wup), or relu(x Wup)^2. Takes gate and up in one tensor, too, under the name of
// up.
Result<ops::TensorId> mlp_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                                uint32_t layer, const MlpSpec& spec);
// residual += down of that.
Status add_mlp(const Reader& reader, ops::Program& program, ops::TensorId residual, ops::TensorId x,
               uint32_t layer, const MlpSpec& spec);

struct MoeSpec {
  ops::Gating gating = ops::Gating::kSoftmax;  // where the file does not say
  bool normalise = true;                       // where the file does not say
  ops::Activation activation = ops::Activation::kSilu;
  float scale = 1.0f;  // of what comes out
  bool gated = true;   // as in MlpSpec
};
// residual += the routed experts' and the shared experts' outputs. Where the file has
// ffn_latent_down and ffn_latent_up, the routed ones see x through the former and are seen through
// the latter.
Status add_moe(const Reader& reader, ops::Program& program, ops::TensorId residual, ops::TensorId x,
               uint32_t layer, const MoeSpec& spec);

// The sum of the routed experts' outputs of x; the router's choice is made from router_x.
Result<ops::TensorId> moe_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                                ops::TensorId router_x, uint32_t layer, const MoeSpec& spec);

// What a layer has in the place of attention: from its normed rows to what its projection takes.
struct Mixed {
  ops::TensorId out;
  std::string_view projection;  // "attn_output": the matrix behind it
  uint32_t width = 0;           // of out
};
using Mixer = std::function<Result<Mixed>(const Reader& reader, ops::Program& program,
                                          ops::TensorId x, uint32_t layer)>;

// Multi-head latent attention, as DeepSeek has it: attention over the latent rows themselves. The
// matrix that makes keys of them is absorbed by the queries, the one that makes values by what the
// heads give. Uses the program's first rope.
struct LatentSizes {
  uint32_t n_latent = 0;  // of what is kept of a row for all heads, without the rotated part
  uint32_t n_nope = 0, n_rope = 0;  // of a head's query: not rotated, rotated
  uint32_t n_value = 0;             // of what a head gives
};
struct LatentSpec {
  LatentSizes sizes;
  float scale = 0;
};
// Errors: kCorrupt for keys that are missing or do not fit together.
Result<LatentSizes> read_latent(const Reader& reader);
Result<Mixed> latent_attention_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                                     uint32_t layer, const LatentSpec& spec);

// A gated causal convolution (LFM2): in_proj gives b, c and x; c * conv(b * x).
Result<Mixed> short_conv_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                               uint32_t layer);

// Gated DeltaNet, likewise.
Result<Mixed> gated_delta_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                                uint32_t layer);

// Mamba2; its sizes are the file's ssm.* keys.
Result<Mixed> mamba2_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                           uint32_t layer);

// What sets families apart that share this frame: attention and MLP or experts, each behind a norm,
// added to the residual stream. Defaults are Llama's.
struct DecoderSpec {
  struct Layer {
    uint32_t rope = 0;      // index into Program::ropes
    uint32_t window = 0;    // 0: all keys
    Mixer mixer = nullptr;  // null: attention
    uint32_t head_dim = 0;  // as in AttentionSpec
    std::optional<uint32_t> kv_layer = {};
    bool k_may_be_v = false;
  };
  std::vector<Layer> layers;
  bool v_norm = false;
  float attention_scale = 0;
  float attention_softcap = 0, logit_softcap = 0;  // 0: none
  bool attention_gate = false;                     // AttentionSpec::gated
  float embedding_scale = 1, residual_scale = 1, logit_scale = 1;
  std::string_view mlp_norm = "ffn_norm.weight";  // in front of the MLP
  bool causal = true;  // else rows see both ways, and the program ends with their states
  std::string_view final_norm = "output_norm.weight";
  bool post_norms = false;  // what attention and MLP give is normalised before it is added
  ops::Activation activation = ops::Activation::kSilu;
  MoeSpec moe;  // of layers that have a router
};
// All layers alike, without a window, scores by 1/sqrt(head_dim).
DecoderSpec plain_decoder(const Config& config);

// Which layers see only the file's attention.sliding_window: attention.sliding_window_pattern, an
// array of flags or "every n-th layer is full"; n = period when absent. Windows of 0 elsewhere.
Result<std::vector<uint32_t>> read_windows(const Reader& reader, uint32_t period);

// Records the whole graph; the program's ropes must be there.
Status record_decoder(const Reader& reader, ops::Program& program, const DecoderSpec& spec);

// Its parts, for a family that has more between them. x: the residual stream.
Status record_attention(const Reader& reader, ops::Program& program, const DecoderSpec& spec,
                        ops::TensorId x, uint32_t layer);
Status record_mlp(const Reader& reader, ops::Program& program, const DecoderSpec& spec,
                  ops::TensorId x, uint32_t layer);
// The last norm and the head, or what embedding models have in its place. Refuses a file with a
// tensor that nothing has read.
Status record_end(const Reader& reader, ops::Program& program, const DecoderSpec& spec,
                  ops::TensorId x, ops::MatrixId head);

}  // namespace tempo9::models
