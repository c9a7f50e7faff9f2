// A model as data: the ops of one forward step over a ragged batch, in order, on opaque activation
// tensors. models/ record a Program from a file, a Backend compiles it once (packs weights, plans
// buffers, fuses) and runs it for every step. Adding an op is: a struct here, a line in Op, and its
// meaning in ops/ref/ and each backend.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "ops/gating.h"
#include "tensor/dtype.h"

namespace tempo9::ops {

// A weight matrix as it stands in the file: n_out rows of n_in elements, y = scale * W x. With
// n_experts above 1 as many of them, one behind the other. The bytes are borrowed from the mapping
// and need to live only until the backend has loaded the program.
struct Matrix {
  std::string name;
  DType type = DType::kF32;
  uint32_t n_in = 0;
  uint32_t n_out = 0;
  std::span<const uint8_t> data;
  float scale = 1.0f;  // one for the whole matrix, which NVFP4 files have beside their blocks'
  uint32_t n_experts = 1;
};

// Handles into a Program. -1: none.
struct MatrixId {
  int32_t index = -1;
};
struct VectorId {
  int32_t index = -1;
  explicit operator bool() const { return index >= 0; }
};
// Activations, f32 [n_rows, width], or [n_rows * n_slots, width] where each row has a part for each
// of the experts it was sent to (in which order is the backend's affair).
struct TensorId {
  int32_t index = -1;
};

struct KvLayer {
  uint32_t n_kv_heads = 0;
  uint32_t head_dim = 0;  // of keys
  uint32_t n_latent = 0;  // values are the keys' first so many dims; 0: of their own, head_dim
  uint32_t value_dim() const { return n_latent > 0 ? n_latent : head_dim; }
};

// Rotary embedding of the first 2 * inv_freq.size() elements of each head.
struct Rope {
  std::vector<double> inv_freq;  // radians per position, scaling already applied
  bool neox = false;             // pairs (i, i + n/2); else pairs (2i, 2i + 1)
  float magnitude = 1.0f;        // multiplies cos and sin (yarn)
  // Queries are then multiplied by 1 + q_growth * ln(1 + floor(position / q_growth_every)).
  float q_growth = 0.0f;
  uint32_t q_growth_every = 0;
};

enum class Activation {
  kSilu,
  kGeluTanh,
  kClampedSwiglu,  // g sigmoid(1.702 g) (up + 1), g = min(gate, 7), up clamped to [-7, 7]
};

// out[r] = W[token of row r] * scale, and where the model has them + P[position of r] + offset
struct Embed {
  MatrixId table;
  float scale;
  TensorId out;
  MatrixId positions = {};
  VectorId offset = {};
};

// Of each run of as many elements as there are weights: out = in / rms(in) * weight; with add, out
// += that instead.
struct RmsNorm {
  TensorId in;
  VectorId weight;
  float eps;
  TensorId out;
  bool add;
};

// out = (in - mean) / standard deviation * weight + bias
struct LayerNorm {
  TensorId in;
  VectorId weight, bias;
  float eps;  // added to the variance
  TensorId out;
};

// out = [W0 in | W1 in | ...] + bias; with add, out += that instead. All matrices share n_in.
struct Linear {
  TensorId in;
  std::vector<MatrixId> matrices;
  VectorId bias;
  TensorId out;
  bool add;
};

// qkv is [q heads | k heads | v heads] per row. Normalises q, k and v per head where weights are
// given, rotates q and k, and appends k and v to the row's sequence in the cache. q stays in qkv.
struct RopeAppend {
  TensorId qkv;
  uint32_t kv_layer;
  uint32_t n_heads;
  VectorId q_norm, k_norm;
  float norm_eps;
  uint32_t rope;  // index into Program::ropes
  VectorId v_norm = {};
  bool append = true;  // else qkv is q alone: k and v are what another op appends to kv_layer
};

// Attention of q (inside qkv) over the row's own sequence, causal unless it says otherwise.
// Order: keys are cut at a fixed grid of 256 positions, cells merged oldest first
// (docs/determinism.md).
// Requires: where one op is not causal, a step has all rows of each of its sequences.
struct Attention {
  TensorId qkv;
  uint32_t kv_layer;
  uint32_t n_heads;
  float scale;          // multiplies q.k before softmax
  uint32_t window;      // query i sees keys j with i - j < window; 0: all
  bool causal = true;   // else query i also sees the keys j behind it, with j - i < window
  float softcap = 0;    // scores become softcap * tanh(score / softcap); 0: no
  VectorId sinks = {};  // [n_heads]: a score more in each head's softmax, which weighs no value
  TensorId out = {};    // [n_rows, n_heads * value_dim]
};

// Each head has a matrix of its own (matrix.n_experts are the heads): out of head h, from h *
// out_stride on, = W_h in, from h * in_stride on.
struct HeadLinear {
  TensorId in;
  uint32_t in_stride;
  MatrixId matrix;
  TensorId out;
  uint32_t out_stride;
};

// What multi-head latent attention keeps of a row, and its queries' rotated part. latent is [c |
// r]: c is normalised, r rotated, and both together appended as the one key of the row, whose value
// is c. The last r of each head of q are rotated and go into the last r of each head of out, whose
// first c others fill.
struct LatentAppend {
  TensorId q;       // [n_rows, n_heads * (anything + r)]
  TensorId latent;  // [n_rows, c + r]
  VectorId norm;    // [c]
  float norm_eps;
  uint32_t kv_layer;  // one kv head of c + r dims, n_latent = c
  uint32_t n_heads;
  uint32_t rope;  // of r dims
  TensorId out;   // [n_rows, n_heads * (c + r)]
};

// in is [gate | up]; out = act(gate) * up. For each slot where in has slots.
// With up, in is the gate alone, and what it meets are as many columns of that tensor.
struct GatedActivation {
  TensorId in;
  Activation kind;
  TensorId out;
  TensorId up = {};
  uint32_t up_column = 0;  // the first of them
};

// out = in * (1 + erf(in / sqrt 2)) / 2
struct Gelu {
  TensorId in;
  TensorId out;
};

// Chooses each row's experts, the best first; of equal scores the lower number.
struct Route {
  TensorId logits;  // [n_rows, n_experts]
  Gating gating = Gating::kSoftmax;
  uint32_t n_used = 1;    // experts a row
  VectorId bias = {};     // [n_experts], added to the scores for the choice only
  uint32_t n_groups = 1;  // equal runs of experts, of which the n_groups_used best can be chosen
  uint32_t n_groups_used = 1;  // from; a group is as good as the sum of
  uint32_t n_group_best = 2;   // its so many best experts
  bool normalise = false;      // weights (the scores of the chosen) are divided by their sum
  float scale = 1.0f;          // then multiplied by this
  VectorId scales = {};        // [n_experts], and each by its expert's
  TensorId out = {};           // [n_rows, 2 * n_used]: weights, then the experts' numbers
};

// For each slot of each row, out = [W0 in | W1 in ...] + bias of the expert that was chosen there.
struct ExpertLinear {
  TensorId in;  // a part for each slot, or one for all
  TensorId routes;
  std::vector<MatrixId> matrices;  // with n_experts
  VectorId bias;                   // [n_experts, width of out]
  TensorId out;                    // with n_slots
};

// The sum over a row's slots, in their order, of weight * in; with add, out += that, else out is
// it.
struct ExpertSum {
  TensorId in;
  TensorId routes;
  TensorId out;
  bool add = true;
};

// out = max(in, 0)^2. For each slot where in has slots.
struct ReluSquared {
  TensorId in;
  TensorId out;
};

// Causal convolution of each column over the row's own sequence, zeros before its begin:
// out = bias + the sum over taps of weight * in, the last tap at the row itself.
// State: the last n_taps - 1 inputs, [n_taps - 1][width], the oldest first.
struct CausalConv {
  TensorId in;
  // in is [b | c | x], what is convolved (and kept) b * x, and out is multiplied by c.
  bool gated = false;
  uint32_t state_part = 0;  // index into Program::state_parts
  uint32_t n_taps = 0;      // 2 to kMaxConvTaps
  VectorId weight;          // [width][n_taps], the oldest input's first
  VectorId bias = {};
  bool silu = false;  // of the sum
  TensorId out = {};
};
inline constexpr uint32_t kMaxConvTaps = 8;

// A state that is a matrix has its columns in tiles of as many, the last one padded.
inline constexpr uint32_t kStateTile = 16;
constexpr uint32_t state_columns(uint32_t n) {
  return (n + kStateTile - 1) / kStateTile * kStateTile;
}

// Gated delta rule. q and k of each key head get length 1 (x / sqrt(sum of squares + 1e-6); both in
// place), q is divided by sqrt(key_dim). Per value head, with a state S of zeros before the
// sequence's begin: decay = exp(a * softplus(alpha + dt_bias)), S = decay * S,
// S += k (sigmoid(beta) * (v - S^T k))^T, out = S^T q.
// State: [n_value_heads][columns in tiles][key_dim][kStateTile].
// Source: Yang, Kautz, Hatamizadeh 2024 (arXiv:2412.06464).
struct GatedDelta {
  TensorId qkv;         // [q heads | k heads | v heads]
  TensorId beta_alpha;  // [betas | alphas] of the value heads; interleaved: so for each key head
  bool interleaved = false;
  bool tiled = false;  // value head h has key head h % n_key_heads; else neighbours share one
  uint32_t n_key_heads = 0, key_dim = 0;
  uint32_t n_value_heads = 0, value_dim = 0;
  VectorId a, dt_bias;      // [n_value_heads]
  uint32_t state_part = 0;  // index into Program::state_parts
  TensorId out = {};        // [n_rows, n_value_heads * value_dim]
};

// Selective scan (Mamba2). Per head, with a state S of zeros before the sequence's begin:
// step = softplus(dt + dt_bias), S = exp(step * a) * S + b (step * x)^T, out = S^T c + d * x.
// State: [n_heads][columns in tiles][state_dim][kStateTile].
// Source: Dao and Gu 2024 (arXiv:2405.21060).
struct Mamba2Scan {
  TensorId xbc;  // [x heads | b groups | c groups]; as many neighbouring heads share a group
  TensorId dt;   // [n_rows, n_heads]
  uint32_t n_heads = 0, head_dim = 0;
  uint32_t n_groups = 0, state_dim = 0;
  VectorId a, dt_bias, d;   // [n_heads]
  uint32_t state_part = 0;  // index into Program::state_parts
  TensorId out = {};        // [n_rows, n_heads * head_dim]
};

// Of each run of group_width elements: out = in / rms(in) * weight * silu(gate); with gate_first, x
// = in * silu(gate) and out = x / rms(x) * weight.
struct GatedNorm {
  TensorId in, gate;
  VectorId weight;  // of the whole width, or of one group for all
  uint32_t group_width = 0;
  float eps = 0;
  bool gate_first = false;
  TensorId out = {};
};

// out = in * sigmoid(gate); gate is as wide as in, or 1.
struct SigmoidGate {
  TensorId in, gate;
  TensorId out;
};

// out *= factor
struct Scale {
  TensorId out;
  float factor;
};

// Keeps only the rows whose logits or hidden states were asked for (Batch::logit_rows, then
// state_rows); what follows runs on those.
struct SelectRows {
  TensorId in;
  TensorId out;
};

// The last op: logits [n logit rows, n_out], softcap * tanh(x / softcap) when softcap > 0. The
// hidden states that a step gives are its input. Without a matrix that is all there is: such a
// program is never asked for logits.
struct Head {
  TensorId in;
  MatrixId matrix;
  float softcap;
};

using Op =
    std::variant<Embed, RmsNorm, LayerNorm, Linear, HeadLinear, RopeAppend, LatentAppend, Attention,
                 GatedActivation, Gelu, Route, ExpertLinear, ExpertSum, ReluSquared, CausalConv,
                 GatedDelta, Mamba2Scan, GatedNorm, SigmoidGate, Scale, SelectRows, Head>;

// What an op multiplies with weights: in [rows, n_in] by each of the matrices.
struct Product {
  TensorId in;
  std::vector<MatrixId> matrices;
};
std::optional<Product> product_of(const Op& op);  // none: no weights

// A layer that predicts one token more than the program does (multi-token prediction). No op reads
// its weights yet: they are loaded, for drafts, and change nothing. GGUF's names.
struct DraftLayer {
  std::vector<MatrixId> matrices;
  std::vector<std::pair<std::string, VectorId>> vectors;
};

struct Program {
  std::vector<Matrix> matrices;
  std::vector<std::vector<float>> vectors;
  std::vector<Rope> ropes;
  std::vector<KvLayer> kv_layers;
  std::vector<uint32_t> state_parts;  // f32 numbers of each recurrent op's part of a state
  std::vector<uint32_t> widths;       // of each activation tensor
  std::vector<uint32_t> n_slots;      // of each; 0: the row is one part
  std::vector<Op> ops;
  std::vector<DraftLayer> draft_layers;
  uint32_t n_vocab = 0;  // rows of the head; 0: no logits
  // Matrices that the file holds in another form; those in it are borrowed.
  std::vector<std::shared_ptr<const std::vector<uint8_t>>> made;

  // Recording. Each returns the op's output; shapes are checked here, once (T9_CHECK: models check
  // the file first).
  MatrixId add_matrix(Matrix matrix);
  VectorId add_vector(std::vector<float> values);
  TensorId embed(MatrixId table, float scale, MatrixId positions = {}, VectorId offset = {});
  TensorId rms_norm(TensorId in, VectorId weight, float eps);
  void add_rms_norm(TensorId residual, TensorId in, VectorId weight, float eps);
  TensorId layer_norm(TensorId in, VectorId weight, VectorId bias, float eps);
  TensorId linear(TensorId in, std::vector<MatrixId> matrices, VectorId bias = {});
  void add_linear(TensorId residual, TensorId in, MatrixId matrix, VectorId bias = {});
  void rope_append(RopeAppend op);
  TensorId heads(uint32_t n_heads, uint32_t width);  // filled by the next two
  void head_linear(HeadLinear op);
  void latent_append(LatentAppend op);
  TensorId attention(Attention op);  // sets op.out
  TensorId gated_activation(TensorId gate_up, Activation kind);
  TensorId gated_activation(TensorId gate, TensorId up, uint32_t up_column, Activation kind);
  TensorId gelu(TensorId in);
  TensorId route(Route op);  // likewise
  TensorId expert_linear(TensorId in, TensorId routes, std::vector<MatrixId> matrices,
                         VectorId bias = {});
  void add_expert_sum(TensorId residual, TensorId in, TensorId routes);
  TensorId expert_sum(TensorId in, TensorId routes);
  TensorId relu_squared(TensorId in);
  TensorId causal_conv(CausalConv op);  // sets op.out and op.state_part
  TensorId gated_delta(GatedDelta op);  // likewise
  TensorId mamba2_scan(Mamba2Scan op);  // likewise
  TensorId gated_norm(GatedNorm op);    // sets op.out
  TensorId sigmoid_gate(TensorId in, TensorId gate);
  void scale(TensorId tensor, float factor);
  TensorId select_rows(TensorId in);
  void head(TensorId in, MatrixId matrix, float softcap = 0.0f);
  void end_without_head(TensorId states);

  uint32_t state_width() const;  // of the hidden states: the head's input

 private:
  TensorId new_tensor(uint32_t width, uint32_t slots = 0);
};

// Rows see keys behind them: the program computes whole sequences, writes no text and leaves
// nothing to go on from.
bool looks_ahead(const Program& program);

// Of each KV layer: how far back it is read, the longest window of the attention that reads it; 0:
// to the end, or both ways.
std::vector<uint32_t> kv_windows(const Program& program);

}  // namespace tempo9::ops
