// Model output to events, one parser per output format (parsers/list.inc).
//
// Invariants, tested for every format over every cut:
//   - the joined events do not depend on how the text was cut into increments;
//   - nothing is lost: what is not a complete call or thinking is delivered as text
//     (white space around a thinking block, and between a call and the reply's start or end, is the
//     template's, and is dropped; between two texts with calls between them all of it stays, so
//     that "One.\n\n<tool_call>...</tool_call>\n\nTwo." has the text "One.\n\n\n\nTwo.").
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/events.h"
#include "chat/message.h"

namespace tempo9::chat {

enum class FinishReason {
  kStop,    // the model ended its reply, or a stop string did
  kLength,  // a limit cut it: a call without its closing mark is text
  kError,   // so did a failure or a cancellation
};

// Is this spelling one entry of the vocabulary?
using VocabLookup = std::function<bool(std::string_view)>;

struct ParserOptions {
  // What the request declared. Empty (also for tool_choice none): call syntax is plain text.
  std::vector<Tool> tools;
  // Split <think> blocks off as reasoning.
  bool split_thinking = true;
  // The prompt opened the thinking block (opens_thinking() in chat.h).
  bool starts_in_thinking = false;
  // Set for real models: a mark that is in the vocabulary counts only as that token (feed's
  // is_token), so that the same letters written as plain text stay text. Not set (script mode):
  // marks count by their spelling.
  VocabLookup has_token;
  // Call ids are drawn from this; give each reply its own.
  uint64_t id_seed = 0;
};

// One reply. Not thread-safe.
class OutputParser {
 public:
  virtual ~OutputParser() = default;

  // increment: the next bytes, cut anywhere (also inside a UTF-8 character or a mark).
  // is_token: increment is the whole spelling of one control or user-defined token (types 3 and 4).
  // Appends to out; may append nothing.
  virtual void feed(std::string_view increment, bool is_token, std::vector<Event>* out) = 0;

  // Delivers what was held back. Once, last.
  virtual void finish(FinishReason reason, std::vector<Event>* out) = 0;
};

// format: a name from parsers/list.inc.
// Errors: kInvalidArgument for an unknown name, listing the known ones.
Result<std::unique_ptr<OutputParser>> make_parser(std::string_view format, ParserOptions options);

// In the order of parsers/list.inc.
std::vector<std::string_view> format_names();

// The format a model uses, from its template's text and its vocabulary. "none" when it has no way
// to call tools.
std::string choose_format(std::string_view template_source, const VocabLookup& has_token);

// Does text end, white space aside, with a mark that begins thinking in some format?
bool ends_with_thinking_mark(std::string_view text);

// A whole reply at once, events joined: for bodies that are not streamed, and for tests.
struct ParsedReply {
  std::string text;
  std::string reasoning;
  std::vector<ToolCall> calls;  // arguments as a JSON string
  bool operator==(const ParsedReply& other) const;
};
ParsedReply join_events(const std::vector<Event>& events);

}  // namespace tempo9::chat
