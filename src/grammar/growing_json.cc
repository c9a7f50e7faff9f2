#include "grammar/growing_json.h"

#include <algorithm>
#include <utility>

#include "grammar/exact_number.h"

namespace tempo9::grammar {
namespace {

constexpr size_t kMaxJsonDepth = 512;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool ends_word(char c) { return c == ',' || c == ']' || c == '}' || c == ':' || is_blank(c); }

}  // namespace

bool GrowingJson::add(std::string_view text) {
  for (size_t i = 0; i < text.size() && !is_bad_ && !is_whole(); ++i) {
    // The inside of a string, at once.
    if (!scalar_.empty() && scalar_[0] == '"' && !escaped_) {
      const size_t end = std::min(text.find_first_of("\"\\", i), text.size());
      scalar_.append(text, i, end - i);
      n_read_ += end - i;
      i = end;
      if (i == text.size()) break;
    }
    is_bad_ = !step(text[i]);
    ++n_read_;
  }
  return !is_bad_;
}

bool GrowingJson::finish() {
  if (!is_bad_ && !scalar_.empty() && scalar_[0] != '"') is_bad_ = !finish_scalar();
  return !is_bad_;
}

bool GrowingJson::step(char c) {
  if (!scalar_.empty() && scalar_[0] == '"') {
    scalar_ += c;
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      return finish_scalar();
    }
    return true;
  }
  if (!scalar_.empty() && ends_word(c) && !finish_scalar()) return false;
  if (is_whole()) {  // a number's end is not part of it
    --n_read_;
    return true;
  }
  if (scalar_.empty()) {
    // The grammar has seen to the places of these.
    if (is_blank(c) || c == ',' || c == ':') return true;
    if (c == '{' || c == '[') return open_container(c);
    if (c == '}' || c == ']') return close_container();
  }
  scalar_ += c;
  const bool is_word = scalar_ == "true" || scalar_ == "false" || scalar_ == "null";
  return !is_word || finish_scalar();
}

Json* GrowingJson::add_value(Json value) {
  ++n_changes_;
  if (open_.empty()) {
    *value_ = std::move(value);
    has_value_ = true;
    return value_.get();
  }
  Json* parent = open_.back();
  if (parent->is_array()) return &parent->emplace_back(std::move(value));
  Json& place = (*parent)[*key_];
  place = std::move(value);
  key_.reset();
  return &place;
}

bool GrowingJson::finish_scalar() {
  const std::string text = std::exchange(scalar_, {});
  Json value = exact_number(text, Json::parse(text, nullptr, false));
  if (value.is_discarded()) return false;
  const bool is_key = !open_.empty() && open_.back()->is_object() && !key_;
  if (!is_key) {
    add_value(std::move(value));
    return true;
  }
  if (!value.is_string()) return false;
  ++n_changes_;
  key_ = value.get<std::string>();
  repeats_key_ |= open_.back()->contains(*key_);
  return true;
}

bool GrowingJson::open_container(char c) {
  const bool wants_key = !open_.empty() && open_.back()->is_object() && !key_;
  if (open_.size() >= kMaxJsonDepth || wants_key) return false;
  open_.push_back(add_value(c == '{' ? Json::object() : Json::array()));
  return true;
}

bool GrowingJson::close_container() {
  if (open_.empty() || key_) return false;
  open_.pop_back();
  ++n_changes_;
  return true;
}

}  // namespace tempo9::grammar
