// Where calls begin in a reply that is otherwise free.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tempo9::grammar {

// How an output format begins its calls. Control tokens are spelled with kControlByte (grammar.h)
// in front where only the token counts, here and in the text.
struct CallStart {
  // Behind these a call may stand, as at the start of a line.
  std::vector<std::string> leads;
  // Besides {"name": "NAME", "arguments": ...}: before NAME end. What stands between NAME and an
  // end that is a mark is of no matter (an id, a number). An empty end: NAME ends where letters do.
  // An empty before: there is only JSON.
  std::string before, end;
  bool before_is_mark = false, end_is_mark = false;
  // Stands in place of before behind a call whose arguments were held; empty: nothing does.
  std::string next;
};

// A byte that no text has: a call whose arguments were held ends here, or in the piece behind it.
inline constexpr char kCallEnd = '\xFE';

struct BegunCall {
  std::string_view name;
  size_t arguments;  // where they begin, in the text
};
// The first call of an offered tool that is seen to begin at text[from] or behind it.
std::optional<BegunCall> find_call(const CallStart& start, std::string_view text, size_t from,
                                   const std::function<bool(std::string_view)>& is_offered);

// If text ends with the beginning of a call as JSON, up to the colon before its arguments: its
// name.
std::string_view call_opening(std::string_view text, const std::vector<std::string>& leads = {});

}  // namespace tempo9::grammar
