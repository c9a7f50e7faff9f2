#include "chat/parsers/json_scanner.h"

#include <fmt/format.h>

#include <algorithm>

#include "chat/exact_json.h"

namespace tempo9::chat {
namespace {

bool is_json_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Does text begin with \uDxxx, x of these?
bool is_surrogate(std::string_view text, std::string_view halves) {
  return text.size() >= 6 && text[1] == 'u' && (text[2] == 'd' || text[2] == 'D') &&
         halves.find(text[3]) != std::string_view::npos;
}
constexpr std::string_view kHighHalf = "89abAB", kLowHalf = "cdefCDEF";

// Of the escape that text begins with; a surrogate pair is one.
size_t escape_length(std::string_view text) {
  if (text[1] != 'u') return 2;
  const std::string_view next = text.substr(std::min<size_t>(6, text.size()));
  const bool pair =
      is_surrogate(text, kHighHalf) && next.starts_with('\\') && is_surrogate(next, kLowHalf);
  return std::min<size_t>(pair ? 12 : 6, text.size());
}

}  // namespace

JsonScanner::Step JsonScanner::feed(char c) {
  switch (state_) {
    case State::kString:
      if (c == '"') return string_end();
      if (string_.size() < kMaxString) string_ += c;
      if (c == '\\') state_ = State::kEscape;
      return Step::kMore;
    case State::kEscape:
      if (std::string_view("\"\\/bfnrtu").find(c) == std::string_view::npos) return Step::kError;
      if (string_.size() < kMaxString) string_ += c;
      hex_left_ = 4;
      state_ = c == 'u' ? State::kUnicode : State::kString;
      return Step::kMore;
    case State::kUnicode:
      if (std::string_view("0123456789abcdefABCDEF").find(c) == std::string_view::npos)
        return Step::kError;
      if (string_.size() < kMaxString) string_ += c;
      if (--hex_left_ == 0) state_ = State::kString;
      return Step::kMore;
    case State::kScalar:
      return scalar(c);
    default:
      break;
  }
  if (is_json_blank(c)) return depth() == 0 ? Step::kError : Step::kMore;
  switch (state_) {
    case State::kFirstKey:
      if (c == '}') return close(c);
      [[fallthrough]];
    case State::kKey:
      if (c != '"') return Step::kError;
      is_key_ = true;
      string_.clear();
      state_ = State::kString;
      return Step::kMore;
    case State::kColon:
      if (c != ':') return Step::kError;
      state_ = State::kValue;
      return Step::kMore;
    case State::kComma:
      if (c != ',') return close(c);
      state_ = stack_.back() == '{' ? State::kKey : State::kValue;
      return Step::kMore;
    case State::kFirstValue:
      if (c == ']') return close(c);
      [[fallthrough]];
    default:
      return value(c);
  }
}

JsonScanner::Step JsonScanner::value(char c) {
  if (c == '{' || c == '[') return open(c);
  if (depth() == 0) return Step::kError;
  if (c == '"') {
    is_key_ = false;
    string_.clear();
    state_ = State::kString;
    return Step::kMore;
  }
  if (std::string_view("-0123456789tfn").find(c) == std::string_view::npos) return Step::kError;
  scalar_.assign(1, c);
  state_ = State::kScalar;
  return Step::kMore;
}

JsonScanner::Step JsonScanner::open(char c) {
  if (depth() >= kMaxDepth) return Step::kError;
  stack_.push_back(c);
  state_ = c == '{' ? State::kFirstKey : State::kFirstValue;
  return Step::kMore;
}

JsonScanner::Step JsonScanner::close(char c) {
  char expected = stack_.back() == '{' ? '}' : ']';
  if (c != expected) return Step::kError;
  stack_.pop_back();
  return after_value();
}

JsonScanner::Step JsonScanner::after_value() {
  state_ = State::kComma;
  return depth() == 0 ? Step::kEnd : Step::kMore;
}

JsonScanner::Step JsonScanner::string_end() {
  if (is_key_) {
    state_ = State::kColon;
    return Step::kKey;
  }
  state_ = State::kComma;
  return Step::kString;
}

JsonScanner::Step JsonScanner::scalar(char c) {
  constexpr size_t kLongest = 400;  // digits of a number
  bool goes_on = std::string_view("+-.0123456789eEtrufalsn").find(c) != std::string_view::npos;
  if (goes_on) {
    scalar_ += c;
    return scalar_.size() > kLongest ? Step::kError : Step::kMore;
  }
  if (!parse_exactly(scalar_)) return Step::kError;
  state_ = State::kComma;
  return feed(c);
}

std::string mend_strings(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (in_string && static_cast<unsigned char>(c) < 0x20) {
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : fmt::format("\\u{:04x}", static_cast<int>(c));
      continue;
    }
    if (in_string && c == '\\' && i + 1 < json.size()) {
      const size_t length = escape_length(json.substr(i));
      const bool is_half = length == 6 && is_surrogate(json.substr(i), "89abABcdefCDEF");
      out += is_half ? std::string_view("\\ufffd") : json.substr(i, length);
      i += length - 1;
      continue;
    }
    out += c;
    if (c == '"') in_string = !in_string;
  }
  return out;
}

}  // namespace tempo9::chat
