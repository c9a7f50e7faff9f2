// How an output format reads a block of calls: straight through, although the text is still coming.
//
// A format's read function is run again from the start of the block's current call whenever text
// has come. Each step of a Reader either finds what it looks for, or fails, or says that more text
// is needed; behind the latter two every step does nothing, so that read functions are written as
// if the text were whole. A step decides only on what no further text can change: streamed equals
// whole.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/parser.h"
#include "chat/parsers/json_scanner.h"
#include "chat/parsers/marks.h"
#include "chat/parsers/python_calls.h"

namespace tempo9::chat {

// Text as it came, with the places where control tokens stood.
class MarkedText {
 public:
  void append(const Piece& piece);
  void clear();
  const std::string& bytes() const { return bytes_; }
  // One token and nothing else is what text[at, at + n) came as.
  bool is_token(size_t at, size_t n) const;
  // From at on, neighbouring plain pieces joined.
  std::vector<Piece> pieces(size_t at) const;

 private:
  std::string bytes_;
  std::vector<std::pair<size_t, size_t>> tokens_;  // begin and size, ascending
};

// What steps over long values have found so far, by where they began: a value is read once, however
// many pieces it comes in.
class ReadMemo {
 public:
  void clear() { entries_.clear(); }

  struct Entry {
    bool done = false;
    size_t at = 0;   // read up to here
    size_t end = 0;  // done: of the value
    JsonScanner json;
    PythonScanner python;
  };

 private:
  friend class Reader;
  std::map<size_t, Entry> entries_;
};

class Reader {
 public:
  enum class Ending {
    kOpen,     // more text may come
    kStopped,  // the model ended its reply
    kCut,      // something else did
  };
  Reader(const MarkedText& text, size_t at, const VocabLookup& has_token, Ending ending,
         ReadMemo* memo)
      : text_(text), has_token_(has_token), ending_(ending), memo_(*memo), at_(at) {}

  bool good() const { return state_ == State::kGood; }
  bool needs_more() const { return state_ == State::kMore; }
  size_t position() const { return at_; }
  bool fail();  // false

  // Steps: true if found and passed. A mark that is a token of the vocabulary is found only as that
  // token; in script mode by its spelling.
  void blank();                           // white space, if any
  bool accept(std::string_view literal);  // false is no failure
  bool expect(std::string_view literal);  // false is one
  bool closes(std::string_view literal);  // accept() behind white space; the end of a reply that
                                          // the model ended stands for it
  bool close(std::string_view literal) { return closes(literal) || fail(); }
  bool next_is(std::string_view literal);  // passes nothing
  bool next_is_any(std::string_view chars);
  bool ended();  // nothing but white space is left, and nothing more comes

  std::string_view word();  // of letters, digits and _ . - / :, at least one
  // Up to the first of ends, which is not passed.
  std::string_view until(std::initializer_list<std::string_view> ends);
  // Up to a close with one of next behind it (white space may stand between): close is passed,
  // next is not. So a value may hold its own closing mark.
  std::string_view value(std::string_view close, std::initializer_list<std::string_view> next);
  std::string_view json();    // an object or array
  std::string_view python();  // a call or a list of calls
  void rewind(size_t position) {
    if (good()) at_ = position;
  }

 private:
  enum class State { kGood, kMore, kBad };
  enum class Found { kYes, kNo, kMaybe };

  Found look(std::string_view literal, size_t at) const;
  Found look_any(std::initializer_list<std::string_view> literals, size_t at) const;
  size_t skip_blank(size_t at) const;
  bool lacks_text();  // at the end of what has come: waits, or fails. False
  std::string_view take(size_t end);
  template <typename EndsAt>
  std::string_view scan_to(EndsAt ends_at);
  template <typename Scanner>
  std::string_view scan(Scanner ReadMemo::Entry::* scanner);

  const MarkedText& text_;
  const VocabLookup& has_token_;
  Ending ending_;
  ReadMemo& memo_;
  size_t at_;
  State state_ = State::kGood;
};

}  // namespace tempo9::chat
