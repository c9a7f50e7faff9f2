// What an output format consists of: parsers/<format>.cc defines one or more, list.inc names them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/call_syntax.h"
#include "chat/parser.h"
#include "chat/parsers/bare_calls.h"
#include "chat/parsers/call.h"
#include "chat/parsers/reader.h"

namespace tempo9::chat {

// A format is a model's if one of its clues fits: all its texts stand in the chat template, and all
// its tokens are in the vocabulary.
struct Clue {
  std::vector<std::string_view> texts;
  std::vector<std::string_view> tokens;
};

// What a read function is told and gives.
struct Block {
  const std::vector<Tool>& tools;
  size_t n_calls;                  // of this block, delivered already
  std::vector<ParsedCall>* calls;  // to append to
  bool may_go_on = false;          // set: another call may follow in this block
};
// Reads from the opening mark on (n_calls is 0), or from behind the block's last call. When it
// succeeds, the calls that it gives are complete whatever follows; a block that ends without any is
// text.
using ReadCalls = void (*)(Reader& in, Block& block);

struct OutputFormat {
  CallSyntax syntax;
  std::vector<Clue> clues;
  std::vector<ThinkingMarks> thinking = {{"<think>", "</think>"}};
  // A block of calls begins with one of these.
  std::vector<std::string_view> openings;
  ReadCalls read = nullptr;
  BareCallStyle bare = BareCallStyle::kNone;  // calls without a mark, of declared tools
  // Its models are known to stop behind one bare call, and to go on in a list that begins so, up to
  // its first call's arguments; null: they have no such habit.
  std::string (*open_list)(std::string_view name) = nullptr;
  // For formats that are not blocks of calls in text. It splits thinking itself, and is used for
  // requests without tools too.
  std::unique_ptr<OutputParser> (*make)(const ParserOptions& options) = nullptr;
};

// By its name in parsers/list.inc. Errors: kInvalidArgument, listing the known ones.
Result<OutputFormat> find_format(std::string_view name);

#define T9_OUTPUT_FORMAT(name, format) OutputFormat format();
#include "chat/parsers/list.inc"
#undef T9_OUTPUT_FORMAT

// Blocks of calls in text: the machine under all formats but those with a make of their own.
std::unique_ptr<OutputParser> make_call_machine(OutputFormat format, const ParserOptions& options);

}  // namespace tempo9::chat
