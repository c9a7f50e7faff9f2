#include "grammar/lark_tokens.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace tempo9::grammar {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

void append_utf8(uint32_t c, std::string* out) {
  const auto byte = [out](uint32_t b) { *out += static_cast<char>(b); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    byte(0xE0 | c >> 12);
    byte(0x80 | (c >> 6 & 0x3F));
  } else {
    byte(0xF0 | c >> 18);
    byte(0x80 | (c >> 12 & 0x3F));
    byte(0x80 | (c >> 6 & 0x3F));
  }
  byte(0x80 | (c & 0x3F));
}

class Reader {
 public:
  explicit Reader(std::string_view source) : text_(source) {}

  Result<std::vector<LarkToken>> run() {
    while (at_ < text_.size()) T9_TRY(next());
    line_end();
    push(LarkKind::kEnd, "");
    return std::move(out_);
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void push(LarkKind kind, std::string text, std::string flags = {}) {
    out_.push_back({kind, std::move(text), std::move(flags), line_});
  }
  void line_end() {
    if (n_open_ == 0 && !out_.empty() && out_.back().kind != LarkKind::kLineEnd)
      push(LarkKind::kLineEnd, "");
  }
  Error bad(std::string_view what) const {
    return make_error(ErrorCode::kInvalidArgument, "line {}: {}", line_, what);
  }

  Status next() {
    const char c = peek();
    if (c == '\n') {
      line_end();
      ++line_;
      ++at_;
      return {};
    }
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
      return {};
    }
    if (c == '#' || (c == '/' && peek(1) == '/')) {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      return {};
    }
    if (c == '"') return string();
    if (c == '/') return regex();
    if (c == '%') return directive();
    const bool is_number = c >= '0' && c <= '9';
    if (is_number || (c == '-' && peek(1) >= '0' && peek(1) <= '9')) {
      const size_t begin = at_++;
      while (peek() >= '0' && peek() <= '9') ++at_;
      push(LarkKind::kNumber, std::string(text_.substr(begin, at_ - begin)));
      return {};
    }
    if (is_letter(c)) {
      push(LarkKind::kName, word());
      return {};
    }
    return mark();
  }

  std::string word() {
    const size_t begin = at_;
    while (is_letter(peek())) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  Status mark() {
    for (const std::string_view two : {"->", ".."}) {
      if (!text_.substr(at_).starts_with(two)) continue;
      at_ += 2;
      push(LarkKind::kMark, std::string(two));
      return {};
    }
    const char c = text_[at_];
    if (std::string_view("|:()[]{}?*+~!.,").find(c) == std::string_view::npos)
      return bad(fmt::format("found '{}', expected a rule, a terminal or a directive", c));
    ++at_;
    if (c == '(' || c == '[') ++n_open_;
    if ((c == ')' || c == ']') && n_open_ > 0) --n_open_;
    // Alternatives may stand on lines of their own.
    if (c == '|' && !out_.empty() && out_.back().kind == LarkKind::kLineEnd) out_.pop_back();
    push(LarkKind::kMark, std::string(1, c));
    return {};
  }

  Status directive() {
    ++at_;
    push(LarkKind::kDirective, word());
    return {};
  }

  Status string() {
    ++at_;
    std::string out;
    for (;;) {
      if (at_ >= text_.size() || peek() == '\n') return bad("found a string without its end");
      const char c = text_[at_++];
      if (c == '"') break;
      if (c != '\\') {
        out += c;
        continue;
      }
      T9_TRY(escape(&out));
    }
    std::string flags;
    if (peek() == 'i' && !is_letter(peek(1))) flags = text_[at_++];
    push(LarkKind::kString, std::move(out), std::move(flags));
    return {};
  }

  Status escape(std::string* out) {
    const char c = peek();
    ++at_;
    constexpr std::string_view kLetters = "nrtfvba0", kMeant("\n\r\t\f\v\b\a\0", 8);
    if (const size_t at = kLetters.find(c); at != std::string_view::npos) {
      *out += kMeant[at];
      return {};
    }
    const size_t n_digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (n_digits == 0) {
      if (c != '"' && c != '\\' && c != '/' && c != '\'') *out += '\\';
      *out += c;
      return {};
    }
    uint32_t code = 0;
    const std::string_view digits = text_.substr(std::min(at_, text_.size()), n_digits);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    const bool whole = error == std::errc() && end == digits.data() + n_digits;
    if (!whole || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
      return bad(
          fmt::format("found \\{} without a character's {} hexadecimal digits", c, n_digits));
    at_ += n_digits;
    append_utf8(code, out);
    return {};
  }

  Status regex() {
    const size_t begin = ++at_;
    for (bool in_class = false;; ++at_) {
      if (at_ >= text_.size() || peek() == '\n')
        return bad("found a regular expression without its end");
      if (peek() == '\\') {
        ++at_;
      } else if (peek() == '[') {
        in_class = true;
      } else if (peek() == ']') {
        in_class = false;
      } else if (peek() == '/' && !in_class) {
        break;
      }
    }
    std::string pattern(text_.substr(begin, at_ - begin));
    ++at_;
    std::string flags;
    while (std::string_view("imslux").find(peek()) != std::string_view::npos && peek() != '\0')
      flags += text_[at_++];
    push(LarkKind::kRegex, std::move(pattern), std::move(flags));
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  int n_open_ = 0;
  std::vector<LarkToken> out_;
};

}  // namespace

Result<std::vector<LarkToken>> lark_tokens(std::string_view source) { return Reader(source).run(); }

}  // namespace tempo9::grammar
