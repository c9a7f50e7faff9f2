// What runs a plan: a model (model_executor.h) or a script (script_executor.h). Below the
// scheduler, above the backend.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/engine.h"
#include "kv/cache.h"
#include "sched/scheduler.h"

namespace tempo9::engine {

// What follows a sequence: usually one token; more at once after accepted drafts or from a script.
struct Increment {
  std::vector<TokenInfo> tokens;
  std::optional<std::string>
      bytes;  // what the tokens say together; none: the tokenizer's bytes of each
  std::optional<Event::Finish> finish;  // the executor's own end, after the tokens
};

struct SliceOutcome {
  uint32_t n_rows = 0;  // rows that are done; the others come again
  std::vector<TokenInfo>
      prompt;      // for each such logit row whose next token is in the prompt: that token
  Increment next;  // when all rows are done and the slice samples
  std::vector<float> embedding;  // with pooling, in place of next's tokens
};

// Threads: the engine's, but for interrupt().
class Executor {
 public:
  virtual ~Executor() = default;

  // A request has arrived, in order of submission. It stays where it is until end(). seed: the one
  // in use. Returns the output format that its reply will have (Event::format).
  virtual std::string start(RequestId id, const GenerateRequest& request, uint64_t seed) = 0;
  virtual void end(RequestId id) = 0;

  // One outcome a slice. An error is the step's: every request in it fails.
  virtual Result<std::vector<SliceOutcome>> step(std::span<const sched::Slice> slices) = 0;
  // From any thread, for good: a step that would take long ends soon, with kCancelled.
  virtual void interrupt() {}
  // After a step in which nothing was done: when the next one can do something.
  virtual Clock::Nanoseconds next_due() const { return Clock::Nanoseconds{0}; }
};

}  // namespace tempo9::engine
