#include "chat/parsers/bare_calls.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

namespace tempo9::chat {
namespace {

constexpr std::string_view kFence = "```";
constexpr std::string_view kPythonLanguage = "tool_code";
constexpr std::array<std::string_view, 6> kLanguages = {"",      "json",      "JSON",
                                                        "jsonl", "tool_call", "tool_calls"};
constexpr std::array<std::string_view, 7> kTags = {
    "<tools>", "<tool>", "<function_call>", "<function_calls>", "<json>", "<xml>", "<response>"};

bool blank_char(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

bool BareCalls::feed(char c) {
  switch (state_) {
    case State::kOutside:
      return outside(c);
    case State::kFenceOpen:
      return fence_open(c);
    case State::kTagOpen:
      return tag_open(c);
    case State::kInside:
      return inside(c);
    case State::kClose:
      word_ += c;
      if (!close_.starts_with(word_)) return false;
      if (word_ == close_) {
        word_.clear();
        state_ = State::kOutside;
      }
      return true;
    case State::kList:
      return list(c);
    case State::kJson:
      return json(c);
    case State::kPython:
      return python(c);
  }
  return false;
}

bool BareCalls::outside(char c) {
  if (blank_char(c) || (c == ';' && has_bare_)) return true;
  word_.assign(1, c);
  if (c == '`') {
    state_ = State::kFenceOpen;
    return true;
  }
  if (c == '<') {
    state_ = State::kTagOpen;
    return true;
  }
  word_.clear();
  has_bare_ = true;
  if (c == '[' && has_python_) return begin_value(State::kList, State::kOutside, c);
  return has_json_ && begin_value(State::kJson, State::kOutside, c);
}

bool BareCalls::begin_value(State state, State after, char c) {
  value_.clear();
  name_.clear();
  json_ = JsonScanner();
  python_ = PythonScanner();
  after_value_ = after;
  state_ = state;
  return feed(c);
}

// What stands first in a list tells JSON from Python.
bool BareCalls::list(char c) {
  value_ += c;
  if (value_.size() == 1 || blank_char(c)) return true;
  state_ = c == '{' && has_json_ ? State::kJson : State::kPython;
  const std::string begun = std::exchange(value_, {});
  return std::all_of(begun.begin(), begun.end(), [this](char b) { return feed(b); });
}

bool BareCalls::fence_open(char c) {
  if (word_.size() < kFence.size()) {
    word_ += c;
    return c == '`';
  }
  std::string_view language = std::string_view(word_).substr(kFence.size());
  bool ends = blank_char(c) || c == '{' || c == '[';
  if (!ends) {
    word_ += c;
    language = std::string_view(word_).substr(kFence.size());
    if (has_python_ && kPythonLanguage.starts_with(language)) return true;
    return std::any_of(kLanguages.begin(), kLanguages.end(),
                       [&](std::string_view known) { return known.starts_with(language); });
  }
  fence_is_python_ = has_python_ && (language == kPythonLanguage || !has_json_);
  if (!fence_is_python_ &&
      std::find(kLanguages.begin(), kLanguages.end(), language) == kLanguages.end())
    return false;
  word_.clear();
  close_ = kFence;
  fence_is_empty_ = true;
  state_ = State::kInside;
  return inside(c);
}

bool BareCalls::tag_open(char c) {
  word_ += c;
  auto tag = std::find_if(kTags.begin(), kTags.end(),
                          [&](std::string_view known) { return known.starts_with(word_); });
  if (tag == kTags.end()) return false;
  if (word_ == *tag) {
    close_ = "</" + word_.substr(1);
    word_.clear();
    fence_is_python_ = false;
    fence_is_empty_ = true;
    state_ = State::kInside;
  }
  return true;
}

bool BareCalls::inside(char c) {
  if (blank_char(c)) return true;
  if (c == close_[0] && !fence_is_empty_) {
    word_.assign(1, c);
    state_ = State::kClose;
    return true;
  }
  fence_is_empty_ = false;
  return begin_value(fence_is_python_ ? State::kPython : State::kJson, State::kInside, c);
}

bool BareCalls::json(char c) {
  // A list that does not begin with an object holds no calls.
  if (json_.depth() == 1 && json_.in_array_at(0) && c != '{' &&
      value_.find('{') == std::string::npos && !blank_char(c)) {
    return false;
  }
  value_ += c;
  switch (json_.feed(c)) {
    case JsonScanner::Step::kError:
      return false;
    case JsonScanner::Step::kKey:
      return json_key();
    case JsonScanner::Step::kString:
      return json_string();
    case JsonScanner::Step::kEnd:
      return value_end();
    case JsonScanner::Step::kMore:
      return true;
  }
  return false;
}

bool BareCalls::python(char c) {
  value_ += c;
  const bool was_in_name = python_.in_name();
  const PythonScanner::Step step = python_.feed(c);
  if (step == PythonScanner::Step::kError) return false;
  if (step == PythonScanner::Step::kEnd) {
    std::optional<std::vector<ParsedCall>> calls = parse_python_calls(value_, tools_);
    const bool known = calls && std::all_of(calls->begin(), calls->end(), [this](const auto& call) {
                         return find_tool(tools_, call.name) != nullptr;
                       });
    return known && take_calls(std::move(*calls));
  }
  if (!was_in_name) return true;
  // The name so far must be that of a tool.
  constexpr std::string_view kBuiltIn = ".call";
  std::string_view name = python_.name();
  if (!python_.in_name() && name.ends_with(kBuiltIn)) name.remove_suffix(kBuiltIn.size());
  if (!python_.in_name()) return find_tool(tools_, name) != nullptr;
  return std::any_of(tools_.begin(), tools_.end(), [&](const Tool& tool) {
    return tool.name.starts_with(name) ||
           (name.starts_with(tool.name) && kBuiltIn.starts_with(name.substr(tool.name.size())));
  });
}

bool BareCalls::take_calls(std::vector<ParsedCall> calls) {
  std::move(calls.begin(), calls.end(), std::back_inserter(calls_));
  value_.clear();
  state_ = after_value_;
  return true;
}

bool BareCalls::at_call_level() const {
  return json_.depth() == 1 || (json_.depth() == 2 && json_.in_array_at(0));
}

bool BareCalls::json_key() {
  if (!at_call_level()) return true;
  key_ = json_.string();
  if (!name_.empty() && (key_ == "arguments" || key_ == "parameters")) {
    form_ = json_.depth() == 1 ? Form::kAlone : Form::kListed;
  }
  constexpr std::array<std::string_view, 6> kKeys = {"name", "arguments", "parameters",
                                                     "type", "function",  "id"};
  return std::find(kKeys.begin(), kKeys.end(), key_) != kKeys.end();
}

bool BareCalls::json_string() {
  if (!at_call_level()) return true;
  if (key_ == "type") return json_.string() == "function";
  // A name with escapes in it is compared when the value is complete.
  if (key_ != "name" || json_.string().find('\\') != std::string::npos) return true;
  if (find_tool(tools_, json_.string()) == nullptr) return false;
  name_ = json_.string();
  return true;
}

bool BareCalls::value_end() {
  std::optional<std::vector<ParsedCall>> calls = parse_calls(value_, tools_, CallPlace::kBare);
  return calls && take_calls(std::move(*calls));
}

std::vector<ParsedCall> BareCalls::finish(bool stopped) const {
  if (!stopped) return {};
  bool partial_close = state_ == State::kClose || (state_ == State::kInside && !fence_is_empty_);
  if (state_ != State::kOutside && !partial_close) return {};
  return calls_;
}

}  // namespace tempo9::chat
