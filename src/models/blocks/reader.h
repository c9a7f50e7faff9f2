// Reads an architecture's keys and tensors from a file, checking each shape before the graph relies
// on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gguf/gguf.h"
#include "ops/program.h"

namespace tempo9::models {

// What every decoder has (docs/adding/architecture.md). Names are transformers'.
struct Config {
  std::string architecture;
  uint32_t n_layers = 0;        // without the following
  uint32_t n_draft_layers = 0;  // behind the others in the file (nextn_predict_layers)
  uint32_t hidden_size = 0;
  uint32_t n_vocab = 0;
  float norm_eps = 0;
  float rope_base = 0;
  uint32_t head_dim = 0;
  uint32_t rope_dims = 0;  // of head_dim, those that rotate
  // Of each layer. No KV heads: it has no attention; an intermediate size of 0: no MLP.
  std::vector<uint32_t> n_heads, n_kv_heads, intermediate_size;
  uint32_t max_length = 0;  // longest sequence that will be served
};

class Reader {
 public:
  // Reads and checks the common keys. Errors: kCorrupt naming key, value and range.
  static Result<Reader> create(const gguf::File& file, const std::string& architecture,
                               uint32_t max_length);

  const Config& config() const { return config_; }
  const gguf::File& file() const { return *file_; }
  std::string key(std::string_view name) const {
    return config_.architecture + "." + std::string(name);
  }

  // A whole number of low to high under key(name). Errors: kCorrupt naming key, value and range.
  Result<uint32_t> size(std::string_view name, uint64_t low, uint64_t high) const;

  // blk.<layer>.<name>
  static std::string layer_name(uint32_t layer, std::string_view name);
  bool has(const std::string& name) const { return file_->find_tensor(name) != nullptr; }

  // A weight matrix [n_in, n_out], with the X.scale that may stand beside X.weight (if it has n_in
  // numbers, it is for another to read). Errors: kCorrupt if missing or of another shape.
  // With n_experts above 1: [n_in, n_out, n_experts].
  Result<ops::Matrix> matrix(const std::string& name, uint32_t n_in, uint32_t n_out,
                             uint32_t n_experts = 1) const;
  // A vector as f32, whatever float type it is stored in. With optional_vector: nothing if the file
  // has none.
  // rows above 1: that many vectors, one behind the other.
  Result<std::vector<float>> vector(const std::string& name, uint32_t n, uint32_t rows = 1) const;
  Result<std::optional<std::vector<float>>> optional_vector(const std::string& name,
                                                            uint32_t n) const;

  // A tensor, if it is there, is not read, and that is as it should be.
  void leave_out(const std::string& name) const;

  // Refuses every tensor that no call above asked for: a graph that silently ignores weights
  // answers wrongly.
  Status check_all_used() const;

 private:
  explicit Reader(const gguf::File& file) : file_(&file) {}
  const gguf::File* file_;
  Config config_;
  mutable std::vector<const gguf::Tensor*> used_;
};

struct RopeSpec {
  double base = 10000.0;
  uint32_t n_dims = 0;     // that rotate
  bool neox = false;       // pairs (i, i + n_dims/2); else (2i, 2i + 1)
  bool scaled = true;      // the file's rope.scaling and its tables of factors apply
  bool round_yarn = true;  // yarn's ramp begins and ends at whole pairs
};
// Frequencies base^(-2i/n_dims), scaled as the file says: rope.scaling (none, linear, yarn,
// longrope), rope_freqs.weight, rope_factors_long/short.weight. Of the latter two longrope uses one
// for all positions, the long one when sequences longer than the original context will be served.
// Errors: kUnsupported for other scalings, named; kCorrupt for numbers that make no sense.
Result<ops::Rope> read_rope(const Reader& reader, const RopeSpec& spec);

}  // namespace tempo9::models
