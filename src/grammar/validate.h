// Does a value keep a schema? Also for a value that is still being written: what can no longer
// become right is found as early as it is written, not at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "grammar/schema.h"

namespace tempo9::grammar {

enum class Verdict { kNo, kYes, kOpen };  // kOpen: depends on what is still to come

// n_open: how many containers are not closed, from the value itself down along its last children.
// 0: the value is whole, and the verdict kYes or kNo.
// steps: what may still be spent, in units of some 4 ns; goes down. Below 0 the verdict is kNo
// (kOpen while something is).
Verdict validate(const Schema& schema, const Json& value, size_t n_open, int64_t* steps);
// The same for a part of the schema.
Verdict validate_part(const Schema& schema, const Json& part, const Json& value, int64_t* steps);
// Where nobody waits in line: about a second.
inline constexpr int64_t kUnhurriedSteps = 200'000'000;
Verdict validate(const Schema& schema, const Json& value, size_t n_open = 0);

// The checks of one reply, for which all others wait: each takes at most about 100 ms.
class ReplyValidator {
 public:
  struct Limits {
    int64_t check = 20'000'000;     // steps of one check
    int64_t open = 5'000'000'000;   // of all, ...
    int64_t whole = 1'000'000'000;  // ... and what is kept for values that are whole
  };
  ReplyValidator() : ReplyValidator(Limits()) {}
  explicit ReplyValidator(const Limits& limits)
      : limits_(limits), left_(limits.open + limits.whole) {}

  // As validate(). When the reply has cost many seconds, what is open is let through unseen.
  Verdict check(const Schema& schema, const Json& value, size_t n_open);

 private:
  Limits limits_;
  int64_t left_;
};

// JSON text that may break off anywhere. What is not finished (half a string, a number that could
// go on) is left out; containers that are not closed are n_open.
struct PartialJson {
  Json value;
  size_t n_open = 0;
  bool has_value = false;  // false: nothing is finished yet
  bool repeated_key = false;
  size_t end = 0;  // where the whole value ended, when n_open is 0 and has_value
};
// No value: the text is no beginning of JSON text. at_end: nothing comes behind the text, so that a
// number at its end is finished.
std::optional<PartialJson> parse_partial(std::string_view text, bool at_end);

}  // namespace tempo9::grammar
