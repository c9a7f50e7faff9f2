// The door between the engine and a processor: one object holds a compiled program, its packed
// weights, its scratch and the KV arena. Two backends may live side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ops/batch.h"
#include "ops/program.h"

namespace tempo9::ops {

// kI16: 16-bit integers with a scale per key and head, about as exact as f16 and faster. kQ8: 8-bit
// integers, half the memory, a scale per 32 dims of a key and per value.
enum class KvType { kI16, kQ8, kF16, kF32 };

// KV layers with equal windows: 0, or how far back they are read. A page has a part of each class,
// whose memory comes and goes by itself.
struct PageClass {
  uint32_t window = 0;
  uint64_t bytes = 0;  // of a page's part
};

struct BackendOptions {
  uint32_t n_threads = 1;
  uint32_t max_rows = 512;        // most rows of one step
  uint32_t max_logit_rows = 512;  // most logit rows of one step
  uint32_t max_pages = 0;   // KV pages in the arena: address space only, memory is touched on use
  uint32_t max_states = 0;  // slots for recurrent states, likewise
  KvType kv_type = KvType::kI16;
  // Told of each matrix's bytes in the file once they have been read for good: they need no memory
  // from then on.
  std::function<void(std::span<const uint8_t>)> on_read = nullptr;
  // A file that keeps the packed weights for later starts: read when it was written for this key
  // (which names the model's files), else written. Empty: none. Trouble with it is logged and done
  // without.
  std::string packed_file = {}, packed_key = {};
  std::function<void(const std::string&)> log = nullptr;
  std::string isa;  // kernel table by name; empty: the best that this processor has
  // When given, each step adds the seconds of each op, by its place in the program; the backend
  // makes it as long as the program. Outlives the backend.
  std::vector<double>* op_seconds = nullptr;
};

inline constexpr uint32_t kLogitRun = 32;
inline constexpr uint32_t logit_runs(uint32_t n_vocab) {
  return (n_vocab + kLogitRun - 1) / kLogitRun;
}

// Threads: one caller at a time (the engine thread), but for interrupt().
class Backend {
 public:
  virtual ~Backend() = default;

  // Runs one step. Returns logits [logit_rows.size(), n_vocab], valid until the next step.
  // A row's logits depend on its own sequence, the weights and the kernel table only
  // (docs/determinism.md). Requires: batch as in batch.h, within the options' limits; token ids
  // within the embedding table.
  // Errors: kCancelled once interrupt() was called.
  virtual Result<std::span<const float>> step(const Batch& batch) = 0;
  // Of the last step: the largest finite logit of each run of kLogitRun ids, -inf where there is
  // none, [logit_rows.size(), runs of n_vocab], valid until the next step. Empty: not known.
  virtual std::span<const float> run_maxima() const { return {}; }
  // Of the last step: what the head multiplies (the hidden state behind the last norm) of its
  // state_rows, [state_rows.size(), width], valid until the next step. Bits as logits'.
  virtual std::span<const float> states() const = 0;
  // From any thread, for good: the step that runs ends soon, without a result, and so does every
  // later one. For a process that must end and cannot wait for a long prompt's step.
  virtual void interrupt() = 0;

  // Copies the first n_tokens positions of a page, all layers.
  virtual void copy_page(PageId from, PageId to, uint32_t n_tokens) = 0;
  // Copies a page's part of one class.
  virtual void copy_part(PageId from, PageId to, size_t page_class) = 0;
  // Gives the memory of a page's part back to the system; its content is lost.
  virtual void drop_part(PageId page, size_t page_class) = 0;
  // A whole page's bytes, part by part, to and from the outside (page_bytes() of them). What was
  // read of a page with 32 tokens may be written to any page of a backend with equal numerics(),
  // program and KV type.
  virtual void read_page(PageId page, std::span<uint8_t> out) const = 0;
  virtual void write_page(PageId page, std::span<const uint8_t> bytes) = 0;

  // Gives the memory of a slot of recurrent state back to the system; its content is lost.
  virtual void drop_state(StateSlot slot) = 0;
  // A slot's bytes (state_bytes() of them), under the rule of pages.
  virtual void read_state(StateSlot slot, std::span<uint8_t> out) const = 0;
  virtual void write_state(StateSlot slot, std::span<const uint8_t> bytes) = 0;

  virtual uint64_t page_bytes() const = 0;    // of one page, all layers
  virtual uint64_t state_bytes() const = 0;   // of one slot, all layers; 0: none is recurrent
  virtual uint64_t weight_bytes() const = 0;  // packed weights in memory
  virtual std::string_view name() const = 0;  // "cpu/avx512"
  // Names the arithmetic and the layout of a page: changes whenever equal inputs may give other
  // bits.
  virtual std::string_view numerics() const = 0;
};

}  // namespace tempo9::ops
