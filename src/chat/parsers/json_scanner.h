// Follows JSON text byte by byte: where values end, without building them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tempo9::chat {

// One top-level object or array. Accepts what nlohmann accepts, and raw control characters inside
// strings, which models write (see mend_strings).
class JsonScanner {
 public:
  enum class Step {
    kMore,    // inside the value
    kKey,     // a key of an object just ended: string()
    kString,  // a string value just ended: string()
    kEnd,     // the top-level value just ended
    kError,   // this byte cannot stand here
  };
  // REQUIRES: no kEnd and no kError before.
  Step feed(char c);

  size_t depth() const { return stack_.size(); }  // open objects and arrays
  bool in_string() const { return state_ == State::kString || state_ == State::kEscape; }
  bool in_array_at(size_t level) const { return stack_[level] == '['; }
  const std::string& string() const { return string_; }  // raw, at most kMaxString bytes of it

 private:
  enum class State {
    kValue,
    kFirstValue,
    kFirstKey,
    kKey,
    kColon,
    kComma,
    kString,
    kEscape,
    kUnicode,
    kScalar
  };
  static constexpr size_t kMaxString = 256;
  static constexpr size_t kMaxDepth = 128;

  Step open(char c);
  Step close(char c);
  Step value(char c);
  Step after_value();
  Step string_end();
  Step scalar(char c);

  std::vector<char> stack_;
  State state_ = State::kValue;
  bool is_key_ = false;
  int hex_left_ = 0;
  std::string string_, scalar_;
};

// What models write and JSON does not allow, made JSON: raw control characters inside strings as
// \n,
// \t or \u00XX, and half a surrogate pair as \ufffd; the rest unchanged.
std::string mend_strings(std::string_view json);

}  // namespace tempo9::chat
