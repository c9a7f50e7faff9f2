// Stop strings in a stream of text, across the borders of its pieces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tempo9::engine {

// The text ends where the first stop string is complete; of several that end there the longest
// counts. What might be the beginning of one is held back, so no part of it is ever seen. The cut
// of the input never changes the output. Each stop string is followed by its own Knuth-Morris-Pratt
// automaton.
class StopMatcher {
 public:
  // Empty strings are ignored.
  explicit StopMatcher(const std::vector<std::string>& stops);

  // Appends to out what can be shown by now. Once matched, what follows is ignored.
  void push(std::string_view text, std::string* out);
  // The end without a match: what was held back is text after all.
  void flush(std::string* out);
  const std::optional<std::string>& matched() const { return matched_; }

 private:
  struct Automaton {
    std::string stop;
    std::vector<uint32_t> fallback;  // longest proper border of each prefix
    uint32_t state = 0;              // how much of stop the text ends with
  };
  std::vector<Automaton> automata_;
  std::string held_;
  std::optional<std::string> matched_;
};

}  // namespace tempo9::engine
