// Finding the marks of a format (<tool_call>...) in text that comes in pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/parser.h"

namespace tempo9::chat {

// One increment, as OutputParser::feed gets it.
struct Piece {
  std::string text;
  bool is_token = false;
};

struct Mark {
  Mark(std::string mark_spelling, const VocabLookup& has_token)
      : spelling(std::move(mark_spelling)), needs_token(has_token && has_token(spelling)) {}
  std::string spelling;
  bool needs_token;  // counts only as the token of the vocabulary

  bool is(const Piece& piece) const { return piece.is_token && piece.text == spelling; }
};

// How many bytes at the end of text could be the start of mark: the longest proper prefix of it.
size_t partial_at_end(std::string_view text, std::string_view mark);

bool is_blank(std::string_view text);  // only white space, or nothing
std::string_view without_blank_end(std::string_view text);
std::string_view without_blank_start(std::string_view text);

}  // namespace tempo9::chat
