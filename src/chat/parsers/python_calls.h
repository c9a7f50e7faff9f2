// Calls as Python writes them: f(city="Lund", days=2), alone or in a list.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/parsers/call.h"

namespace tempo9::chat {

// Follows a call or a list of calls byte by byte: where it ends, without building it.
class PythonScanner {
 public:
  enum class Step {
    kMore,
    kEnd,    // this byte was the last of it
    kError,  // this byte cannot stand here
  };
  // REQUIRES: no kEnd and no kError before.
  Step feed(char c);

  bool in_string() const { return quote_ != '\0'; }
  // Of the call that is being written, so far; whole once its bracket has opened.
  const std::string& name() const { return name_; }
  bool in_name() const { return open_.size() == (is_list_ ? 1u : 0u); }

 private:
  Step outside(char c);
  Step string(char c);

  std::string open_;  // brackets
  bool started_ = false, is_list_ = false, name_ended_ = false, after_call_ = false;
  char quote_ = '\0';
  int n_quotes_ = 0;  // in a row, at the start of a string or in a triple-quoted one
  bool triple_ = false, escaped_ = false, at_string_start_ = false;
  std::string name_;
};

// text: all of what a scanner took. Literals are Python's and JSON's; long numbers keep their
// digits. A call may be written f.call(...). No value if it is no list of calls with keywords only.
// Arguments get the types that the tools' schemas declare.
std::optional<std::vector<ParsedCall>> parse_python_calls(std::string_view text,
                                                          const std::vector<Tool>& tools);

}  // namespace tempo9::chat
