#include "chat/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "chat/jinja/unicode.h"

namespace tempo9::chat::jinja {

Error syntax_error(int line, std::string_view reason) {
  return make_error(ErrorCode::kInvalidArgument, "line {}: {}", line, reason);
}

namespace {

// All line ends become \n, and one at the very end is dropped.
std::string normalize_newlines(std::string_view source, bool drop_last) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
      continue;
    }
    out.push_back('\n');
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (drop_last && !out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

size_t skip_space(std::string_view s, size_t at) {
  while (at < s.size()) {
    auto [c, n] = decode_utf8(s, at);
    if (!is_space(c)) break;
    at += n;
  }
  return at;
}

// Where the trailing white space of s begins.
size_t space_start(std::string_view s) {
  size_t end = 0;
  for (size_t at = 0; at < s.size();) {
    auto [c, n] = decode_utf8(s, at);
    at += n;
    if (!is_space(c)) end = at;
  }
  return end;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::array<std::string_view, 26> kOperators = {
    "**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : s_(normalize_newlines(source, true)) {}

  Result<std::vector<Token>> run() {
    while (at_ < s_.size()) T9_TRY(root());
    push(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  void push(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  bool at(std::string_view text) const {
    return std::string_view(s_).substr(at_, text.size()) == text;
  }

  void advance(size_t to) {
    line_ += static_cast<int>(std::count(s_.begin() + static_cast<ptrdiff_t>(at_),
                                         s_.begin() + static_cast<ptrdiff_t>(to), '\n'));
    line_starting_ = to > at_ && s_[to - 1] == '\n';
    at_ = to;
  }

  // Emits data [at_, tag) as the tag after it leaves it. sign: '-', '+' or 0, right behind the
  // tag's opening.
  void data(size_t tag, char sign, bool is_variable) {
    std::string_view text = std::string_view(s_).substr(at_, tag - at_);
    if (sign == '-') {
      text = text.substr(0, space_start(text));
    } else if (sign != '+' && !is_variable) {
      size_t newline = text.rfind('\n');
      size_t start = newline == std::string_view::npos ? 0 : newline + 1;
      if ((start > 0 || line_starting_) && start < text.size() &&
          skip_space(text, start) == text.size()) {
        text = text.substr(0, start);
      }
    }
    if (!text.empty()) push(TokenKind::kData, std::string(text));
    advance(tag);
  }

  char sign_at(size_t at) const {
    return at < s_.size() && (s_[at] == '-' || s_[at] == '+') ? s_[at] : '\0';
  }

  Status root() {
    size_t tag = at_;
    for (;; ++tag) {
      tag = s_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= s_.size()) {
        push(TokenKind::kData, s_.substr(at_));
        advance(s_.size());
        return {};
      }
      if (s_[tag + 1] == '%' || s_[tag + 1] == '{' || s_[tag + 1] == '#') break;
    }
    char kind = s_[tag + 1];
    char sign = sign_at(tag + 2);
    size_t body = tag + 2 + (sign != '\0' ? 1 : 0);
    data(tag, sign, kind == '{');
    if (kind == '#') return comment(body);
    if (kind == '%') {
      if (size_t raw_end = match_raw_begin(body); raw_end != 0) return raw(raw_end);
    }
    push(kind == '%' ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, "");
    advance(body);
    return tag_body(kind == '%');
  }

  // The end of a tag's close "X}" with its white space rules at `from`, or 0: "-X}" takes the space
  // after it, "+X}" nothing, "X}" one newline when trimmed.
  size_t match_close(size_t from, char mark, bool trims, bool takes_plus) const {
    auto closes = [&](size_t p) { return p + 1 < s_.size() && s_[p] == mark && s_[p + 1] == '}'; };
    if (from < s_.size() && s_[from] == '-' && closes(from + 1)) return skip_space(s_, from + 3);
    if (takes_plus && from < s_.size() && s_[from] == '+' && closes(from + 1)) return from + 3;
    if (!closes(from)) return 0;
    size_t end = from + 2;
    return trims && end < s_.size() && s_[end] == '\n' ? end + 1 : end;
  }

  Status comment(size_t body) {
    for (size_t p = body; p < s_.size(); ++p) {
      if (size_t end = match_close(p, '#', true, true); end != 0) {
        advance(end);
        return {};
      }
    }
    return syntax_error(line_, "Missing end of comment tag");
  }

  size_t match_word(size_t from, std::string_view word) const {
    size_t p = skip_space(s_, from);
    if (std::string_view(s_).substr(p, word.size()) != word) return 0;
    return skip_space(s_, p + word.size());
  }

  size_t match_raw_begin(size_t body) const {
    size_t p = match_word(body, "raw");
    return p == 0 ? 0 : match_close(p, '%', false, false);
  }

  Status raw(size_t body) {
    advance(body);
    for (size_t tag = s_.find("{%", at_); tag != std::string::npos; tag = s_.find("{%", tag + 1)) {
      char sign = sign_at(tag + 2);
      size_t p = match_word(tag + 2 + (sign != '\0' ? 1 : 0), "endraw");
      size_t end = p == 0 ? 0 : match_close(p, '%', true, true);
      if (end == 0) continue;
      data(tag, sign, false);
      advance(end);
      return {};
    }
    return syntax_error(line_, "Missing end of raw directive");
  }

  Status tag_body(bool is_block) {
    std::string brackets;  // closers that are still to come
    while (at_ < s_.size()) {
      if (brackets.empty()) {
        size_t end =
            is_block ? match_close(at_, '%', true, true) : match_close(at_, '}', false, false);
        if (end != 0) {
          push(is_block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, "");
          advance(end);
          return {};
        }
      }
      size_t past = skip_space(s_, at_);
      if (past != at_) {
        advance(past);
        continue;
      }
      T9_TRY(expression_token(&brackets));
    }
    return {};  // the parser reports the missing end
  }

  Status expression_token(std::string* brackets) {
    char c = s_[at_];
    if (is_digit(c)) return number();
    if (c == '\'' || c == '"') return string(c);
    if (size_t end = name_end(); end != at_) {
      push(TokenKind::kName, s_.substr(at_, end - at_));
      uint16_t first = char_classes(decode_utf8(s_, at_).c);
      if ((first & kIdentifierStart) == 0)
        return syntax_error(line_, "Invalid character in identifier");
      advance(end);
      return {};
    }
    for (std::string_view op : kOperators) {
      if (!at(op)) continue;
      T9_TRY(balance(op, brackets));
      push(TokenKind::kOperator, std::string(op));
      advance(at_ + op.size());
      return {};
    }
    return syntax_error(line_, fmt::format("unexpected char '{}' at {}",
                                           s_.substr(at_, decode_utf8(s_, at_).n_bytes), at_));
  }

  Status balance(std::string_view op, std::string* brackets) const {
    if (op == "{") brackets->push_back('}');
    if (op == "(") brackets->push_back(')');
    if (op == "[") brackets->push_back(']');
    if (op != "}" && op != ")" && op != "]") return {};
    if (brackets->empty()) return syntax_error(line_, fmt::format("unexpected '{}'", op));
    char expected = brackets->back();
    brackets->pop_back();
    if (expected == op[0]) return {};
    return syntax_error(line_, fmt::format("unexpected '{}', expected '{}'", op, expected));
  }

  size_t name_end() const {
    size_t p = at_;
    while (p < s_.size()) {
      auto [c, n] = decode_utf8(s_, p);
      if ((char_classes(c) & (kIdentifier | kIdentifierStart)) == 0) break;
      p += n;
    }
    return p;
  }

  // Digits with single underscores between them.
  size_t digits_end(size_t p) const {
    size_t end = p;
    while (p < s_.size() && is_digit(s_[p])) {
      end = ++p;
      if (p < s_.size() && s_[p] == '_') ++p;
    }
    return end;
  }

  Status number() {
    size_t whole = digits_end(at_);
    size_t end = whole;
    bool after_dot = at_ > 0 && s_[at_ - 1] == '.';
    if (!after_dot) {
      if (end + 1 < s_.size() && s_[end] == '.' && is_digit(s_[end + 1])) end = digits_end(end + 1);
      size_t e = end;
      if (e < s_.size() && (s_[e] == 'e' || s_[e] == 'E')) {
        ++e;
        if (e < s_.size() && (s_[e] == '+' || s_[e] == '-')) ++e;
        if (e < s_.size() && is_digit(s_[e])) end = digits_end(e);
      }
    }
    if (end != whole) {
      std::string text = s_.substr(at_, end - at_);
      std::erase(text, '_');
      push(TokenKind::kFloat, std::move(text));
      advance(end);
      return {};
    }
    return integer(whole);
  }

  Status integer(size_t decimal_end) {
    int base = 10;
    size_t begin = at_, end = decimal_end;
    if (s_[at_] == '0') {
      char mark = at_ + 1 < s_.size() ? static_cast<char>(s_[at_ + 1] | 0x20) : '\0';
      int other = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
      size_t p = at_ + 2;
      auto digit_at = [&](size_t i) {
        int v = i < s_.size() ? hex_value(s_[i]) : -1;
        return v >= 0 && v < other;
      };
      if (other != 0 && (digit_at(p) || (p < s_.size() && s_[p] == '_' && digit_at(p + 1)))) {
        base = other;
        begin = p;
        while (digit_at(p) || (p < s_.size() && s_[p] == '_' && digit_at(p + 1))) ++p;
        end = p;
      } else {
        end = at_ + 1;
        while (end < s_.size() && s_[end] == '0') ++end;
      }
    }
    std::string text = s_.substr(begin, end - begin);
    std::erase(text, '_');
    int64_t value = 0;
    auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc()) {
      return syntax_error(line_, fmt::format("integer {} is too large (more than 64 bits)", text));
    }
    push(TokenKind::kInteger, std::to_string(value));
    advance(end);
    return {};
  }

  Status string(char quote) {
    size_t p = at_ + 1;
    while (p < s_.size() && s_[p] != quote) p += s_[p] == '\\' ? 2 : 1;
    if (p >= s_.size()) {
      return syntax_error(line_, fmt::format("unexpected char '{}' at {}", quote, at_));
    }
    std::string text;
    T9_TRY(unescape(std::string_view(s_).substr(at_ + 1, p - at_ - 1), &text));
    push(TokenKind::kString, std::move(text));
    advance(p + 1);
    return {};
  }

  // n hexadecimal digits at raw[at].
  Result<char32_t> hex(std::string_view raw, size_t at, size_t n) const {
    char32_t c = 0;
    for (size_t i = at; i < at + n; ++i) {
      int v = i < raw.size() ? hex_value(raw[i]) : -1;
      if (v < 0) return syntax_error(line_, fmt::format("truncated \\{} escape", raw[at - 1]));
      c = c * 16 + static_cast<char32_t>(v);
    }
    if (c > 0x10FFFF) return syntax_error(line_, "illegal Unicode character");
    return c;
  }

  Status unescape(std::string_view raw, std::string* out) const {
    for (size_t i = 0; i < raw.size();) {
      if (raw[i] != '\\' || i + 1 >= raw.size()) {
        out->push_back(raw[i++]);
        continue;
      }
      char c = raw[i + 1];
      i += 2;
      constexpr std::string_view kNames = "abfnrtv\\'\"", kValues = "\a\b\f\n\r\t\v\\'\"";
      if (size_t k = kNames.find(c); k != std::string_view::npos) {
        out->push_back(kValues[k]);
      } else if (c == 'x' || c == 'u' || c == 'U') {
        size_t n = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        T9_TRY(char32_t value, hex(raw, i, n));
        append_utf8(value, out);
        i += n;
      } else if (c >= '0' && c <= '7') {
        char32_t value = 0;
        --i;
        for (size_t n = 0; n < 3 && i < raw.size() && raw[i] >= '0' && raw[i] <= '7'; ++n, ++i) {
          value = value * 8 + static_cast<char32_t>(raw[i] - '0');
        }
        append_utf8(value, out);
      } else if (c == 'N') {
        return syntax_error(line_,
                            "\\N{...} escapes are not supported; write the character itself");
      } else if (c != '\n') {
        out->push_back('\\');
        out->push_back(c);
      }
    }
    return {};
  }

  std::string s_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace tempo9::chat::jinja
