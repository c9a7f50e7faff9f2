// "glm4": a name, then keys and values as elements with raw text (GLM-4.5 and later).
#include <string>

#include "chat/parsers/json_blocks.h"

namespace tempo9::chat {
namespace {

void read_glm(Reader& in, Block& block) {
  in.expect("<tool_call>");
  in.blank();
  if (in.next_is("{")) return read_json_block(in, block, "<tool_call>", "</tool_call>");
  const std::string name(in.word());
  Json arguments = Json::object();
  for (;;) {
    in.blank();
    if (!in.accept("<arg_key>")) break;
    const std::string key(in.until({"</arg_key>"}));
    in.expect("</arg_key>");
    in.blank();
    in.expect("<arg_value>");
    const std::string_view value = in.value("</arg_value>", {"<arg_key>", "</tool_call>"});
    if (!in.good()) return;
    arguments[key] = value;
  }
  in.expect("</tool_call>");
  // A name is all that tells a call without arguments from other text in tags.
  if (arguments.empty() && find_tool(block.tools, name) == nullptr) in.fail();
  add_typed_call(in, block, name, arguments);
}

}  // namespace

OutputFormat glm4() {
  OutputFormat format;
  format.syntax.arguments = CallSyntax::Arguments::kParameters;
  format.syntax.call_begin = "<tool_call>";
  format.syntax.name_end = "\n";
  format.syntax.call_end = "</tool_call>";
  format.syntax.between = "\n";
  format.syntax.key_begin = "<arg_key>";
  format.syntax.key_end = "</arg_key>\n<arg_value>";
  format.syntax.value_end = "</arg_value>\n";
  format.syntax.marks = {"<tool_call>", "</tool_call>", "<arg_key>",
                         "</arg_key>",  "<arg_value>",  "</arg_value>"};
  format.clues = {{{"<arg_key>"}, {}}};
  format.openings = {"<tool_call>"};
  format.read = read_glm;
  return format;
}

}  // namespace tempo9::chat
