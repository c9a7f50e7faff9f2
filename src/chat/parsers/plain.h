// Parsers that are parts of others.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "chat/parser.h"
#include "chat/parsers/format.h"

namespace tempo9::chat {

// A reply is text.
std::unique_ptr<OutputParser> make_plain_parser();

// Splits thinking (<think>...</think>, or what else stands in marks) off the head of a reply and
// hands the rest on. White space around the block is dropped.
std::unique_ptr<OutputParser> make_thinking_splitter(std::unique_ptr<OutputParser> rest,
                                                     const std::vector<ThinkingMarks>& marks,
                                                     const ParserOptions& options);

// The mark that ends the thinking which text, white space at its end aside, leaves open in some
// format; empty: it opens none.
std::string_view open_thinking(std::string_view text);

// Hands on whole characters only: a character cut between increments waits for its end, and bytes
// that are no UTF-8 become U+FFFD. What comes out of the parsers behind it is valid UTF-8.
std::unique_ptr<OutputParser> make_utf8_joiner(std::unique_ptr<OutputParser> rest);

}  // namespace tempo9::chat
