// Templates come with files from the internet: what one rendering may use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tempo9::chat::jinja {

struct Limits {
  // One step is one evaluated node, one item produced or 16 bytes copied. A long agent conversation
  // takes well under a million; ten million are a second or two.
  uint64_t max_steps = 10'000'000;
  size_t max_bytes = size_t{32} << 20;  // one string, and the output
  size_t max_items = 1'000'000;         // one list
  int max_range = 100'000;              // as Jinja2's sandbox
  int max_depth = 200;                  // macro calls and recursive loops in each other
};

// Nesting of expressions and statements in the source. Bounds the parser's and the evaluator's
// stack.
constexpr int kMaxNesting = 120;
// Recursion of the evaluator: a stack of a few megabytes, also with sanitizers.
constexpr int kMaxEvalDepth = 800;
// Nesting of a value, and values met on a walk through it.
constexpr uint32_t kMaxValueDepth = 200;
constexpr uint64_t kMaxValueWeight = 4'000'000;

}  // namespace tempo9::chat::jinja
