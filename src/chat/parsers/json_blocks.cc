#include "chat/parsers/json_blocks.h"

#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "chat/exact_json.h"
#include "chat/parsers/json_scanner.h"
#include "chat/parsers/python_calls.h"

namespace tempo9::chat {
namespace {

void add(Reader& in, Block& block, std::optional<std::vector<ParsedCall>> calls) {
  if (!calls || calls->empty()) {
    in.fail();
    return;
  }
  std::move(calls->begin(), calls->end(), std::back_inserter(*block.calls));
}

}  // namespace

void read_json_block(Reader& in, Block& block, std::string_view open, std::string_view close) {
  for (;;) {
    in.blank();
    const std::string_view json = in.json();
    if (!in.good()) return;
    add(in, block, parse_calls(json, block.tools, CallPlace::kTagged));
    if (in.closes(close)) return;
    const size_t behind = in.position();
    in.blank();
    if (in.next_is(open)) return in.rewind(behind);
  }
}

CallSyntax json_call_syntax(std::string_view call_begin, std::string_view call_end) {
  CallSyntax syntax;
  syntax.arguments = CallSyntax::Arguments::kJson;
  syntax.call_begin = call_begin;
  syntax.name_end = "\", \"arguments\": ";
  syntax.call_end = call_end;
  return syntax;
}

void read_json_arguments(Reader& in, Block& block, std::string_view name) {
  in.blank();
  const std::string_view json = in.json();
  if (!in.good()) return;
  std::optional<Json> arguments = parse_exactly(mend_strings(json));
  if (!arguments || !arguments->is_object()) {
    in.fail();
    return;
  }
  add_typed_call(in, block, name, *arguments);
}

void read_python_or_json(Reader& in, Block& block) {
  in.blank();
  const size_t begin = in.position();
  if (in.accept("[")) in.blank();
  const bool is_json = in.next_is("{");
  in.rewind(begin);
  const std::string_view text = is_json ? in.json() : in.python();
  if (!in.good()) return;
  add(in, block,
      is_json ? parse_calls(text, block.tools, CallPlace::kTagged)
              : parse_python_calls(text, block.tools));
}

void add_typed_call(Reader& in, Block& block, std::string_view name, const Json& arguments) {
  if (!in.good()) return;
  if (name.empty()) {
    in.fail();
    return;
  }
  const Tool* tool = find_tool(block.tools, name);
  block.calls->push_back(
      {std::string(name), tool == nullptr ? arguments : coerce(arguments, tool->parameters)});
}

std::string_view without_line_ends(std::string_view text) {
  if (text.starts_with('\n')) text.remove_prefix(1);
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

}  // namespace tempo9::chat
