// What a kernel table must provide, and the packed forms its kernels read. No intrinsics here,
// nothing inline that a wider build could leak: plain structs and function pointers.
//
// Packed weights: columns (outputs) stand in groups of 16, padded with zeros. Per group the blocks
// of 32 inputs follow each other, so that one 512-bit load holds 16 columns x 4 inputs.
// docs/formats/packed.md has each layout.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "cpu/kv_layout.h"
#include "cpu/weight_fields.h"
#include "ops/gating.h"

namespace tempo9::cpu {

inline constexpr uint32_t kLanes =
    16;  // columns a group, and the virtual vector width of every table
inline constexpr uint32_t kBlock = 32;  // inputs that share an activation scale

// How a matrix is packed. The quantised ones take int8 activations, the others f32.
enum class Packing : uint8_t {
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ8_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4,
  kNVFP4,
  kQ1_0,
  kQ2_0,
  kTQ1_0,
  kTQ2_0,
  kIQ1_S,
  kIQ1_M,
  kIQ2_XXS,
  kIQ2_XS,
  kIQ2_S,
  kIQ3_XXS,
  kIQ3_S,
  kF32,
  kF16,
  kBF16
};
inline constexpr size_t kNumQuantPackings = 26;
inline constexpr size_t kNumPackings = kNumQuantPackings + 3;

// 32 int8 activations, with their sums in the forms that weights with a zero point or minima start
// from. All that a product reads of a row's block stands together: one stream a row.
struct QuantBlock {
  int8_t q[kBlock];
  float scale;            // of q
  float sum;              // of q, times scale
  int32_t minus_16_sum;   // -16 times the sum of q
  int32_t minus_32_half;  // -32 times the sum of the first 16 of q
};
static_assert(sizeof(QuantBlock) == 48);

// Rows of int8 activations: x = q * block scale. The one format for all quantised weights.
struct QuantRows {
  QuantBlock* blocks = nullptr;  // [n_rows, n_blocks]
  uint32_t n_blocks = 0;
};

// out[row, column] (+)= scale * W x + bias for the groups [group_begin, group_end).
struct LinearArgs {
  const uint8_t* weights = nullptr;  // of group 0
  size_t group_bytes = 0;
  uint32_t n_in = 0;
  uint32_t n_out = 0;  // columns; the last group may be part padding
  uint32_t group_begin = 0, group_end = 0;
  uint32_t n_rows = 0;
  QuantRows x_quant;         // for quantised packings
  const float* x = nullptr;  // for the others, [n_rows, x_stride]
  size_t x_stride = 0;
  float* out = nullptr;  // of column 0
  size_t out_stride = 0;
  float scale = 1.0f;
  const float* bias = nullptr;  // [n_out] or null
  bool add = false;
  void* scratch = nullptr;  // linear_scratch_bytes(n_rows), of this thread alone, 64-byte aligned
};
// Many rows meet weights in panels of kPanelBlocks x 2 groups, decoded once, small enough for the
// first-level cache; between panels the rows' partial sums wait in scratch.
inline constexpr uint32_t kPanelBlocks = 16;
inline constexpr uint32_t kMaxTileGroups = 2;
inline constexpr size_t kPanelBytes = kPanelBlocks * kMaxTileGroups * (8 * 64 + 4 * 64);
inline size_t linear_scratch_bytes(uint32_t n_rows) {
  return kPanelBytes + size_t{n_rows} * kMaxTileGroups * kLanes * sizeof(float);
}

inline constexpr uint32_t kCellKeys = 256;  // the fixed grid that keys are cut at

// Attention of a run of rows of one sequence for one kv head; all query heads that share it.
struct AttentionArgs {
  const float* q = nullptr;  // of the first row's first head of this kv head, [row][head][head_dim]
  size_t q_row_stride = 0;
  float* out = nullptr;  // [row][head][value_dim]
  size_t out_row_stride = 0;
  uint32_t n_rows = 0;
  uint32_t n_group_heads = 0;   // query heads a kv head
  uint32_t head_dim = 0;        // of queries and keys
  uint32_t value_dim = 0;       // of values and of out
  uint32_t first_position = 0;  // of row 0
  float scale = 1;
  uint32_t window = 0;           // 0: all
  uint32_t n_keys = 0;           // of the sequence, where rows see keys behind them; 0: causal
  float softcap = 0;             // 0: none
  const float* sinks = nullptr;  // [n_group_heads] or null
  const uint8_t* arena =
      nullptr;  // page p's K of this layer and kv head at arena + p * page_stride
  size_t page_stride = 0;
  size_t v_offset = 0;  // from K to V
  const uint32_t* pages = nullptr;
  void* scratch = nullptr;  // attention_scratch_bytes(...)
  // Where cells is set, only [cell_begin, cell_end) are attended to, and what comes out of each is
  // left in cells for merge_cells, so that several threads can share one call's keys:
  // [n_cells()][n_rows * n_group_heads][cell_stride(value_dim)], the last two of which m and l
  // begin.
  float* cells = nullptr;
  uint32_t cell_begin = 0, cell_end = 0;

  // The first key that a row at this position does not see.
  T9_INLINE uint32_t end_of(uint32_t position) const {
    if (n_keys == 0) return position + 1;
    return window > 0 && window < n_keys - position ? position + window : n_keys;
  }
  T9_INLINE uint32_t end_key() const { return end_of(first_position + n_rows - 1); }
  // The cells that some row of the call sees.
  T9_INLINE uint32_t first_cell() const {
    const uint32_t n = first_position + 1;
    return (window > 0 && n > window ? n - window : 0) / kCellKeys;
  }
  T9_INLINE uint32_t n_cells() const {
    return (end_key() + kCellKeys - 1) / kCellKeys - first_cell();
  }
};
T9_INLINE size_t cell_stride(uint32_t value_dim) {
  return (value_dim + kLanes - 1) / kLanes * kLanes + 16;
}
inline constexpr uint32_t kAttentionRows = 16;  // most rows of one call
inline constexpr uint32_t kMaxHeadDim = 1024;
// Values are not wider than keys.
inline size_t attention_scratch_bytes(uint32_t n_group_heads, uint32_t head_dim) {
  const size_t n = size_t{kAttentionRows} * n_group_heads, tile = 16;
  const size_t dim = (head_dim + kLanes - 1) / kLanes * kLanes;
  // Sums, 16-bit queries, m, l, scales and those of runs; per query of a tile a cell's sums, scores
  // and weights.
  return (n * (dim + dim / 2 + 4 + dim / 64) + tile * (dim + 256 + 128 + 8) + 64) * sizeof(float);
}

// Chooses one row's experts (ops::Route).
struct RouteArgs {
  const float* logits = nullptr;  // [n_experts]
  uint32_t n_experts = 0;
  ops::Gating gating = ops::Gating::kSoftmax;
  uint32_t n_used = 0;
  const float* bias = nullptr;  // [n_experts] or null
  uint32_t n_groups = 1, n_groups_used = 1, n_group_best = 2;
  bool normalise = false;
  float scale = 1.0f;
  float* scratch = nullptr;  // route_scratch_floats(n_experts)
  float* out = nullptr;      // [2 * n_used]: weights, then the experts' numbers
};
inline size_t route_scratch_floats(uint32_t n_experts) { return 3 * (size_t{n_experts} + kLanes); }

// Where the state behind a row goes, of a walk over rows of one sequence.
struct StateTarget {
  uint32_t row = 0;
  float* state = nullptr;
};

// Causal convolution (ops::CausalConv) of 16 columns, along rows of one sequence. The last columns
// may be part padding: n_columns below 16. Pointers are to the first column; rows are in_stride
// apart.
struct ConvArgs {
  const float* in = nullptr;
  const float *in_gate = nullptr, *out_gate = nullptr;  // both or neither; multiply in and out
  size_t in_stride = 0;
  const float* weight = nullptr;  // [n_taps][weight_stride]
  size_t weight_stride = 0;
  const float* bias = nullptr;  // [n_columns] or null
  bool silu = false;
  uint32_t n_rows = 0, n_taps = 0, n_columns = 0;
  const float* state_in = nullptr;          // [n_taps - 1][state_stride]; null: zeros
  const StateTarget* states_out = nullptr;  // rows ascending; may point to state_in's place
  uint32_t n_states_out = 0;
  size_t state_stride = 0;
  float* out = nullptr;
  size_t out_stride = 0;
};

// The two layers whose state is a matrix: rows of one sequence, one after the other. A call may be
// cut between any two rows without a change of bits: a row takes the state that the row before it
// left, and nothing else.

// States of d_in x n_columns stand column tile by column tile: [n_columns / 16 rounded
// up][d_in][16], so that a tile lies in one run and stays in the first-level cache while a slice of
// rows passes.
inline size_t state_floats(uint32_t d_in, uint32_t n_columns) {
  return size_t{(n_columns + kLanes - 1) / kLanes} * kLanes * d_in;
}

// What one row of a Gated DeltaNet layer needs before its state is met: q and k of each key head
// get length 1 (x / sqrt(sum of squares + eps)), q times q_scale, both in place, and their product
// goes to qk; per value head decay = exp(a * softplus(alpha + dt_bias)) and beta = sigmoid(beta).
struct DeltaGatesArgs {
  float* q = nullptr;  // [n_key_heads, key_dim]
  float* k = nullptr;
  uint32_t n_key_heads = 0, key_dim = 0;
  float eps = 0, q_scale = 1;
  // Value head h's numbers stand at (h / n_run) * run_stride + h % n_run.
  const float* alpha = nullptr;
  const float* beta = nullptr;
  uint32_t n_value_heads = 0, n_run = 0, run_stride = 0;
  const float* a = nullptr;        // [n_value_heads]
  const float* dt_bias = nullptr;  // [n_value_heads]
  float* qk = nullptr;             // [n_key_heads]
  float* decay = nullptr;          // [n_value_heads]
  float* beta_out = nullptr;       // [n_value_heads]
};

// The gated delta rule of one value head, for its columns [column_begin, column_end): S = decay *
// S, S += k (beta * (v - S^T k))^T, out = S^T q. Source: Yang, Kautz, Hatamizadeh 2024
// (arXiv:2412.06464), in its recurrent form.
struct DeltaRuleArgs {
  const float* q = nullptr;  // of the key head, as DeltaGates leaves them; [n_rows, qkv_stride]
  const float* k = nullptr;
  const float* v = nullptr;
  size_t qkv_stride = 0;
  const float* qk = nullptr;  // of the heads; [n_rows, gate_stride]
  const float* decay = nullptr;
  const float* beta = nullptr;
  size_t gate_stride = 0;
  float* out = nullptr;  // [n_rows, out_stride]
  size_t out_stride = 0;
  const float* state_in = nullptr;  // of the head, state_floats(key_dim, value_dim); null: zeros
  float* state_out = nullptr;       // likewise; may be state_in
  uint32_t key_dim = 0, value_dim = 0;
  uint32_t column_begin = 0, column_end = 0;  // the first a multiple of 16, the last also value_dim
  uint32_t n_rows = 0;
};

// Of one row of a Mamba2 layer: step = softplus(dt + dt_bias), decay = exp(step * a).
struct ScanGatesArgs {
  const float* dt = nullptr;       // [n_heads]
  const float* dt_bias = nullptr;  // [n_heads]
  const float* a = nullptr;        // [n_heads], below 0
  uint32_t n_heads = 0;
  float* step = nullptr;   // [n_heads]
  float* decay = nullptr;  // [n_heads]
};

// The selective scan of one Mamba2 head, for its columns [column_begin, column_end): S = decay * S
// + b (step * x)^T, out = S^T c + d * x. Source: Dao and Gu 2024 (arXiv:2405.21060), in its
// recurrent form.
struct ScanArgs {
  const float* x = nullptr;  // of the head; [n_rows, xbc_stride]
  const float* b = nullptr;  // of the head's group
  const float* c = nullptr;
  size_t xbc_stride = 0;
  const float* step = nullptr;  // of the head; [n_rows, gate_stride]
  const float* decay = nullptr;
  size_t gate_stride = 0;
  float d = 0;
  float* out = nullptr;  // [n_rows, out_stride]
  size_t out_stride = 0;
  const float* state_in = nullptr;  // of the head, state_floats(state_dim, head_dim); null: zeros
  float* state_out = nullptr;       // likewise; may be state_in
  uint32_t state_dim = 0, head_dim = 0;
  uint32_t column_begin = 0, column_end = 0;  // as above
  uint32_t n_rows = 0;
};

struct KernelTable {
  const char* name;

  void (*linear[kNumPackings])(const LinearArgs&);  // by Packing

  // x [n] f32 to one row of QuantRows. n % 32 == 0.
  void (*quantize_row)(const float* x, uint32_t n, QuantBlock* blocks);
  // out = x / rms(x) * w; with add, out += that. out may be x.
  void (*rms_norm)(const float* x, const float* w, uint32_t n, float eps, float* out, bool add);
  // out = (x - mean) / deviation * w + bias
  void (*layer_norm)(const float* x, const float* w, const float* bias, uint32_t n, float eps,
                     float* out);
  void (*gelu)(const float* x, uint32_t n, float* out);  // by erf
  // out = act(gate) * up
  void (*silu_mul)(const float* gate, const float* up, uint32_t n, float* out);
  void (*gelu_mul)(const float* gate, const float* up, uint32_t n, float* out);
  void (*clamped_swiglu)(const float* gate, const float* up, uint32_t n, float* out);
  void (*relu_squared)(const float* x, uint32_t n, float* out);  // out = max(x, 0)^2
  // out = x * sigmoid(gate), n_gate of them: n, or one for all
  void (*sigmoid_gate)(const float* x, const float* gate, uint32_t n_gate, uint32_t n, float* out);
  void (*route)(const RouteArgs&);
  // out += x * factor
  void (*add_scaled)(const float* x, float factor, uint32_t n, float* out);
  void (*causal_conv)(const ConvArgs&);
  // One head in place; cosine and sine [n_pairs].
  void (*rope)(float* head, const float* cosine, const float* sine, uint32_t n_pairs, bool neox);
  void (*soft_cap)(float* x, uint32_t n, float cap);
  // The largest finite number of each run of 32, -inf where there is none.
  void (*run_maxima)(const float* x, uint32_t n, float* out);
  // out = rms_norm(x) * w * silu(gate); with gate_first, out = rms_norm(x * silu(gate)) * w. out
  // may be x.
  void (*gated_rms_norm)(const float* x, const float* gate, const float* w, uint32_t n, float eps,
                         bool gate_first, float* out);
  void (*delta_gates)(const DeltaGatesArgs&);
  void (*delta_rule)(const DeltaRuleArgs&);
  void (*scan_gates)(const ScanGatesArgs&);
  void (*selective_scan)(const ScanArgs&);
  // By KvFormat. Writes one key's k [head_dim] and v [value_dim] into a slot of a page.
  void (*append_kv[kNumKvFormats])(const float* k, const float* v, uint32_t head_dim,
                                   uint32_t value_dim, uint32_t slot, void* page_k, void* page_v);
  void (*attention[kNumKvFormats])(const AttentionArgs&);
  // After all of a call's cells: merges them, oldest first, and writes its rows.
  void (*merge_cells[kNumKvFormats])(const AttentionArgs&);
  void (*enter_thread)();  // sets flush-to-zero; once in every compute thread
};

}  // namespace tempo9::cpu
