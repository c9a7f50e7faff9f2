// "mistral": [TOOL_CALLS]NAME[ARGS]{...} for each call. "mistral-v3": [TOOL_CALLS] and a list of
// calls. Either reads both.
#include <string>

#include "chat/parsers/json_blocks.h"

namespace tempo9::chat {
namespace {

void read_mistral(Reader& in, Block& block) {
  in.expect("[TOOL_CALLS]");
  in.blank();
  if (in.next_is("[")) {
    const std::string_view json = in.json();
    if (!in.good()) return;
    const auto calls = parse_calls(json, block.tools, CallPlace::kTagged);
    if (calls) {
      *block.calls = *calls;
    } else {
      in.fail();
    }
    return;
  }
  const std::string name(in.word());
  if (in.accept("[CALL_ID]")) in.until({"[ARGS]"});
  in.accept("[ARGS]");
  read_json_arguments(in, block, name);
}

OutputFormat mistral_format() {
  OutputFormat format;
  format.syntax.arguments = CallSyntax::Arguments::kJson;
  format.syntax.marks = {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"};
  format.thinking = {{"[THINK]", "[/THINK]"}, {"<think>", "</think>"}};
  format.openings = {"[TOOL_CALLS]"};
  format.read = read_mistral;
  return format;
}

}  // namespace

OutputFormat mistral() {
  OutputFormat format = mistral_format();
  format.syntax.call_begin = "[TOOL_CALLS]";
  format.syntax.name_end = "[ARGS]";
  format.clues = {{{"[TOOL_CALLS]", "[ARGS]"}, {}}};
  return format;
}

OutputFormat mistral_v3() {
  OutputFormat format = mistral_format();
  format.syntax.begin = "[TOOL_CALLS][";
  format.syntax.call_begin = "{\"name\": \"";
  format.syntax.name_end = "\", \"arguments\": ";
  format.syntax.call_end = "}";
  format.syntax.between = ", ";
  format.syntax.end = "]";
  format.clues = {{{"[TOOL_CALLS]"}, {}}};
  return format;
}

}  // namespace tempo9::chat
