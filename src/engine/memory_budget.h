// How much memory a model takes, and whether that is there: what a server is started by, and what
// `tempo9 doctor` tells before anything is loaded or fetched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "gguf/gguf.h"
#include "kv/cache.h"

namespace tempo9::engine {

// Left to the process beside weights and KV: activations, logits, vocabulary, requests.
inline constexpr uint64_t kWorkingBytes = uint64_t{256} << 20;
// Shorter than this no chat fits.
inline constexpr uint32_t kUsefulLength = 512;

struct MemoryNeed {
  uint64_t weight_bytes = 0;  // packed
  uint64_t draft_bytes = 0;   // of them those of layers for drafts
  kv::CacheOptions cache;     // classes and step_tokens

  uint64_t fixed_bytes() const { return weight_bytes + kWorkingBytes; }
  // With one request of so many tokens.
  uint64_t total(uint32_t n_tokens) const {
    return fixed_bytes() + kv::sequence_bytes(cache, n_tokens);
  }
  // Of memory, beside the weights.
  uint64_t left_for_kv(uint64_t memory) const {
    return memory > fixed_bytes() ? memory - fixed_bytes() : 0;
  }
};

// The most tokens, whole pages of them and at most so many pages, whose KV takes no more than
// memory.
uint64_t longest_sequence(const kv::CacheOptions& cache, uint64_t memory, uint64_t n_pages);

struct MemoryBudget {
  MemoryNeed need;         // with the KV type asked for
  MemoryNeed need_q8;      // with the smallest, q8_0
  uint32_t length = 0;     // of a request: asked for, or the default
  uint32_t declared = 0;   // the file's own context length
  uint64_t limit = 0;      // --memory, or nine tenths of what the machine or control group has
  uint64_t available = 0;  // what could be taken now without pushing anyone out
  bool is_capped = false;  // limit is --memory

  uint64_t room() const { return std::min(limit, available); }
  uint64_t needed() const { return need.total(length); }
  bool fits() const { return needed() <= room(); }
  // Tokens that a request may have in this room, at most length; less than kUsefulLength: 0.
  uint32_t longest() const { return longest(need); }
  // Requests of length that have room at once.
  uint32_t n_requests() const;

  // "weights 379 MiB (40 MiB of them for drafts) + KV cache of 32768 tokens 402 MiB + working set
  // 256 MiB = 1037 MiB"
  std::string sum() const;
  // "4000 MiB are free", "--memory allows 512 MiB": what room() is.
  std::string room_text() const;
  // For one that does not fit: what would, joined by "or".
  std::string what_fits() const;

 private:
  uint32_t longest(const MemoryNeed& with) const;
};

// Reads the file's directory, not its weights. Errors: as models::build_program; kInvalidArgument
// (kv_type).
Result<MemoryBudget> memory_budget(const gguf::File& file, const EngineOptions& options);

// What can be told of a model without its file.
struct ModelShape {
  uint64_t weight_bytes = 0;  // in the file, which is a little less than packed
  uint32_t context_length = 0;
  uint32_t n_layers = 0, n_kv_heads = 0, head_dim = 0;
  uint32_t n_window_layers = 0, window = 0;  // of the layers, those with a sliding window
};
// The same for one that is only known by name. Errors: kInvalidArgument (kv_type).
Result<MemoryBudget> memory_budget(const ModelShape& shape, const EngineOptions& options);

// One of the kernel tables that the program holds, best first.
struct KernelTableReport {
  std::string name;
  std::vector<std::string> missing;  // features of the processor or system; none: it can run here
};
std::vector<KernelTableReport> kernel_tables();

}  // namespace tempo9::engine
