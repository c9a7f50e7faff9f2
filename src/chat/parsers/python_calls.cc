#include "chat/parsers/python_calls.h"

#include <array>
#include <cctype>
#include <cstdint>
#include <utility>

#include "chat/exact_json.h"
#include "chat/parsers/marks.h"

namespace tempo9::chat {
namespace {

constexpr size_t kMaxPythonDepth = 128;

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ||
         (c & 0x80) != 0;
}

void append_utf8(uint32_t c, std::string* out) {
  if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
  const auto put = [out](uint32_t byte) { *out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | (c >> 6));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<std::vector<ParsedCall>> calls() {
    std::vector<ParsedCall> out;
    blank();
    const bool is_list = accept('[');
    do {
      blank();
      if (is_list && !out.empty() && peek() == ']') break;  // a comma behind the last one
      std::optional<ParsedCall> call = this->call();
      if (!call) return std::nullopt;
      out.push_back(std::move(*call));
      blank();
    } while (is_list && accept(','));
    if (is_list && !accept(']')) return std::nullopt;
    blank();
    if (at_ != text_.size()) return std::nullopt;
    return out;
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void blank() {
    while (at_ < text_.size() && is_blank(text_.substr(at_, 1))) ++at_;
  }
  bool accept(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string name() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::optional<ParsedCall> call() {
    ParsedCall out{name(), Json::object()};
    constexpr std::string_view kBuiltIn = ".call";  // Llama's built-in tools
    if (out.name.ends_with(kBuiltIn)) out.name.resize(out.name.size() - kBuiltIn.size());
    blank();
    if (out.name.empty() || !accept('(')) return std::nullopt;
    blank();
    while (!accept(')')) {
      const std::string key = name();
      blank();
      if (key.empty() || !accept('=')) return std::nullopt;
      std::optional<Json> item = value(0);
      if (!item) return std::nullopt;
      out.arguments[key] = std::move(*item);
      blank();
      if (accept(',')) {
        blank();
      } else if (peek() != ')') {
        return std::nullopt;
      }
    }
    return out;
  }

  std::optional<Json> value(size_t depth) {
    blank();
    if (depth > kMaxPythonDepth) return std::nullopt;
    switch (peek()) {
      case '\'':
      case '"': {
        std::string joined;
        while (peek() == '\'' || peek() == '"') {  // neighbours are one
          if (!string(&joined)) return std::nullopt;
          blank();
        }
        return Json(std::move(joined));
      }
      case '[':
        return sequence('[', ']', depth);
      case '(':
        return sequence('(', ')', depth);
      case '{':
        return dict(depth);
      default:
        return scalar();
    }
  }

  std::optional<Json> sequence(char open, char close, size_t depth) {
    accept(open);
    Json out = Json::array();
    blank();
    while (!accept(close)) {
      std::optional<Json> item = value(depth + 1);
      if (!item) return std::nullopt;
      out.push_back(std::move(*item));
      blank();
      if (accept(',')) {
        blank();
      } else if (peek() != close) {
        return std::nullopt;
      }
    }
    return out;
  }

  std::optional<Json> dict(size_t depth) {
    accept('{');
    Json out = Json::object();
    blank();
    while (!accept('}')) {
      std::optional<Json> key = value(depth + 1);
      blank();
      if (!key || !accept(':')) return std::nullopt;
      std::optional<Json> item = value(depth + 1);
      if (!item) return std::nullopt;
      out[key->is_string() ? key->get<std::string>() : dump_exactly(*key)] = std::move(*item);
      blank();
      if (accept(',')) {
        blank();
      } else if (peek() != '}') {
        return std::nullopt;
      }
    }
    return out;
  }

  std::optional<Json> scalar() {
    const size_t begin = at_;
    while (at_ < text_.size() && (is_name_char(text_[at_]) || text_[at_] == '+')) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kNames = {
        {{"True", "true"}, {"False", "false"}, {"None", "null"}}};
    for (const auto& [python, json] : kNames) {
      if (word == python) return parse_exactly(json);
    }
    return parse_exactly(word);
  }

  bool string(std::string* out) {
    const char quote = text_[at_];
    const std::string_view three = text_.substr(at_, 3);
    const bool triple = three.size() == 3 && three[1] == quote && three[2] == quote;
    const std::string end(triple ? 3 : 1, quote);
    at_ += end.size();
    while (at_ < text_.size()) {
      if (text_.substr(at_).starts_with(end)) {
        at_ += end.size();
        return true;
      }
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        escape(out);
      } else {
        *out += text_[at_++];
      }
    }
    return false;
  }

  void escape(std::string* out) {
    const char c = text_[at_ + 1];
    constexpr std::string_view kFrom = "ntrbfav0\\'\"\n", kTo("\n\t\r\b\f\a\v\0\\'\"\0", 12);
    const size_t hex = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (hex > 0) {
      std::optional<uint32_t> code = hex_at(at_ + 2, hex);
      if (code) {
        at_ += 2 + hex;
        // A surrogate pair, as JSON writes it.
        if (hex == 4 && *code >= 0xD800 && *code < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
          const std::optional<uint32_t> low = hex_at(at_ + 2, 4);
          if (low && *low >= 0xDC00 && *low < 0xE000) {
            code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
            at_ += 6;
          }
        }
        return append_utf8(*code, out);
      }
    }
    at_ += 2;
    if (c == '\n') return;  // the line goes on
    const size_t known = kFrom.find(c);
    if (known == std::string_view::npos) {
      *out += '\\';
      *out += c;
    } else {
      *out += kTo[known];
    }
  }

  std::optional<uint32_t> hex_at(size_t at, size_t n) const {
    if (at + n > text_.size()) return std::nullopt;
    uint32_t code = 0;
    for (const char c : text_.substr(at, n)) {
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
      const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
      code = code << 4 | static_cast<uint32_t>(digit);
    }
    return code;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

PythonScanner::Step PythonScanner::feed(char c) { return in_string() ? string(c) : outside(c); }

PythonScanner::Step PythonScanner::outside(char c) {
  const bool blank = is_blank({&c, 1});
  if (!started_) {
    started_ = true;
    if (c == '[') {
      is_list_ = true;
      open_.assign(1, c);
      return Step::kMore;
    }
  }
  if (in_name()) {
    if (blank) {
      name_ended_ = !name_.empty();
      return Step::kMore;
    }
    if (is_name_char(c) && !name_ended_ && !after_call_) {
      name_ += c;
      return Step::kMore;
    }
    if (c == '(' && !name_.empty() && !after_call_) {
      open_ += c;
      return Step::kMore;
    }
    if (c == ',' && after_call_) {
      after_call_ = name_ended_ = false;
      name_.clear();
      return Step::kMore;
    }
    const bool empty_rest = name_.empty() && open_ == "[";
    return c == ']' && is_list_ && (after_call_ || empty_rest) ? Step::kEnd : Step::kError;
  }
  if (c == '"' || c == '\'') {
    quote_ = c;
    n_quotes_ = 1;
    at_string_start_ = true;
    triple_ = escaped_ = false;
    return Step::kMore;
  }
  if (c == '(' || c == '[' || c == '{') {
    if (open_.size() > kMaxPythonDepth) return Step::kError;
    open_ += c;
    return Step::kMore;
  }
  if (c == ')' || c == ']' || c == '}') {
    const char expected = open_.back() == '(' ? ')' : open_.back() == '[' ? ']' : '}';
    if (c != expected) return Step::kError;
    open_.pop_back();
    if (!in_name()) return Step::kMore;
    after_call_ = true;
    return is_list_ ? Step::kMore : Step::kEnd;
  }
  const bool can_stand = blank || is_name_char(c) || c == ',' || c == '=' || c == ':' || c == '+';
  return can_stand ? Step::kMore : Step::kError;
}

PythonScanner::Step PythonScanner::string(char c) {
  if (at_string_start_) {
    if (c == quote_ && n_quotes_ < 3) {
      triple_ = ++n_quotes_ == 3;
      if (triple_) {
        at_string_start_ = false;
        n_quotes_ = 0;
      }
      return Step::kMore;
    }
    at_string_start_ = false;
    if (n_quotes_ == 2) {  // it was empty, and c stands behind it
      quote_ = '\0';
      return outside(c);
    }
    n_quotes_ = 0;
  }
  if (escaped_) {
    escaped_ = false;
    return Step::kMore;
  }
  escaped_ = c == '\\';
  n_quotes_ = c == quote_ ? n_quotes_ + 1 : 0;
  if (n_quotes_ == (triple_ ? 3 : 1)) quote_ = '\0';
  return Step::kMore;
}

std::optional<std::vector<ParsedCall>> parse_python_calls(std::string_view text,
                                                          const std::vector<Tool>& tools) {
  std::optional<std::vector<ParsedCall>> calls = Parser(text).calls();
  if (!calls) return std::nullopt;
  for (ParsedCall& call : *calls) {
    if (const Tool* tool = find_tool(tools, call.name)) {
      call.arguments = coerce(call.arguments, tool->parameters);
    }
  }
  return calls;
}

}  // namespace tempo9::chat
