#include "chat/parsers/reader.h"

#include <algorithm>
#include <cctype>

namespace tempo9::chat {

void MarkedText::append(const Piece& piece) {
  if (piece.is_token) tokens_.emplace_back(bytes_.size(), piece.text.size());
  bytes_ += piece.text;
}

void MarkedText::clear() {
  bytes_.clear();
  tokens_.clear();
}

bool MarkedText::is_token(size_t at, size_t n) const {
  return std::binary_search(tokens_.begin(), tokens_.end(), std::pair(at, n));
}

std::vector<Piece> MarkedText::pieces(size_t at) const {
  std::vector<Piece> out;
  const auto add = [&](size_t end, bool is_token) {
    if (end > at) out.push_back({bytes_.substr(at, end - at), is_token});
    at = std::max(at, end);
  };
  for (const auto& [begin, size] : tokens_) {
    if (begin < at) continue;
    add(begin, false);
    add(begin + size, true);
  }
  add(bytes_.size(), false);
  return out;
}

bool Reader::fail() {
  if (state_ == State::kGood) state_ = State::kBad;
  return false;
}

bool Reader::lacks_text() {
  if (state_ == State::kGood) state_ = ending_ == Ending::kOpen ? State::kMore : State::kBad;
  return false;
}

size_t Reader::skip_blank(size_t at) const {
  return std::min(text_.bytes().find_first_not_of(" \t\r\n", at), text_.bytes().size());
}

Reader::Found Reader::look(std::string_view literal, size_t at) const {
  const std::string_view rest = std::string_view(text_.bytes()).substr(at);
  if (rest.empty()) return ending_ == Ending::kOpen ? Found::kMaybe : Found::kNo;
  if (rest.front() != literal.front()) return Found::kNo;
  if (has_token_ && has_token_(literal)) {
    return text_.is_token(at, literal.size()) && rest.starts_with(literal) ? Found::kYes
                                                                           : Found::kNo;
  }
  if (rest.starts_with(literal)) return Found::kYes;
  return ending_ == Ending::kOpen && literal.starts_with(rest) ? Found::kMaybe : Found::kNo;
}

void Reader::blank() {
  if (good()) at_ = skip_blank(at_);
}

bool Reader::accept(std::string_view literal) {
  if (!next_is(literal)) return false;
  at_ += literal.size();
  return true;
}

bool Reader::expect(std::string_view literal) { return accept(literal) || fail(); }

bool Reader::next_is(std::string_view literal) {
  if (!good()) return false;
  const Found found = look(literal, at_);
  if (found == Found::kMaybe) return lacks_text();
  return found == Found::kYes;
}

bool Reader::next_is_any(std::string_view chars) {
  if (!good()) return false;
  if (at_ == text_.bytes().size()) return ending_ == Ending::kOpen && lacks_text();
  return chars.find(text_.bytes()[at_]) != std::string_view::npos;
}

bool Reader::ended() {
  if (!good() || skip_blank(at_) < text_.bytes().size()) return false;
  if (ending_ == Ending::kOpen) return lacks_text();
  return true;
}

bool Reader::closes(std::string_view literal) {
  if (!good()) return false;
  const size_t at = skip_blank(at_);
  const std::string_view rest = std::string_view(text_.bytes()).substr(at);
  if (ending_ == Ending::kStopped && literal.starts_with(rest) && rest.size() < literal.size()) {
    at_ = text_.bytes().size();
    return true;
  }
  const Found found = look(literal, at);
  if (found == Found::kMaybe) return lacks_text();
  if (found == Found::kYes) at_ = at + literal.size();
  return found == Found::kYes;
}

std::string_view Reader::take(size_t end) {
  const std::string_view taken = std::string_view(text_.bytes()).substr(at_, end - at_);
  at_ = end;
  return taken;
}

std::string_view Reader::word() {
  if (!good()) return {};
  size_t end = at_;
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0 ||
           std::string_view("_.-/:").find(c) != std::string_view::npos;
  };
  while (end < text_.bytes().size() && is_part(text_.bytes()[end])) ++end;
  if (end == text_.bytes().size() && ending_ == Ending::kOpen) {
    lacks_text();
    return {};
  }
  if (end == at_) {
    fail();
    return {};
  }
  return take(end);
}

Reader::Found Reader::look_any(std::initializer_list<std::string_view> literals, size_t at) const {
  for (const std::string_view literal : literals) {
    if (const Found found = look(literal, at); found != Found::kNo) return found;
  }
  return Found::kNo;
}

// Up to the first place where ends_at finds what it looks for; that is not passed.
template <typename EndsAt>
std::string_view Reader::scan_to(EndsAt ends_at) {
  ReadMemo::Entry& entry = memo_.entries_[at_];
  for (entry.at = std::max(entry.at, at_); !entry.done; ++entry.at) {
    const Found found = entry.at == text_.bytes().size() ? Found::kMaybe : ends_at(entry.at);
    if (found == Found::kMaybe) {
      lacks_text();
      return {};
    }
    entry.done = found == Found::kYes;
    if (entry.done) {
      entry.end = entry.at;
      break;
    }
  }
  return take(entry.end);
}

std::string_view Reader::until(std::initializer_list<std::string_view> ends) {
  if (!good()) return {};
  return scan_to([&](size_t at) { return look_any(ends, at); });
}

std::string_view Reader::value(std::string_view close,
                               std::initializer_list<std::string_view> next) {
  if (!good()) return {};
  const std::string_view taken = scan_to([&](size_t at) {
    const Found found = look(close, at);
    return found == Found::kYes ? look_any(next, skip_blank(at + close.size())) : found;
  });
  if (good()) at_ += close.size();
  return taken;
}

template <typename Scanner>
std::string_view Reader::scan(Scanner ReadMemo::Entry::* scanner) {
  if (!good()) return {};
  ReadMemo::Entry& entry = memo_.entries_[at_];
  for (entry.at = std::max(entry.at, at_); !entry.done; ++entry.at) {
    if (entry.at == text_.bytes().size()) {
      lacks_text();
      return {};
    }
    const auto step = (entry.*scanner).feed(text_.bytes()[entry.at]);
    if (step == Scanner::Step::kError) {
      fail();
      return {};
    }
    if (step == Scanner::Step::kEnd) {
      entry.done = true;
      entry.end = entry.at + 1;
      break;
    }
  }
  return take(entry.end);
}

std::string_view Reader::json() { return scan(&ReadMemo::Entry::json); }
std::string_view Reader::python() { return scan(&ReadMemo::Entry::python); }

}  // namespace tempo9::chat
