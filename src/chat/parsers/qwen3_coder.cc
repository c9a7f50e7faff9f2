// "qwen3-coder": each argument is an element whose content is raw text (Qwen3-Coder, Qwen3.5,
// Nemotron 3). Nothing is escaped: see Reader::value().
#include <string>

#include "chat/parsers/json_blocks.h"

namespace tempo9::chat {
namespace {

// <function=NAME> <parameter=KEY> VALUE </parameter> ... </function>
void read_function(Reader& in, Block& block, bool declared_only) {
  in.expect("<function=");
  const std::string name(without_blank_end(in.until({">", "<", "\n"})));
  in.expect(">");
  Json arguments = Json::object();
  for (;;) {
    in.blank();
    if (!in.accept("<parameter=")) break;
    const std::string key(in.until({">", "\n"}));
    in.expect(">");
    const std::string_view value = in.value("</parameter>", {"<parameter=", "</function>"});
    if (!in.good()) return;
    arguments[key] = without_line_ends(value);
  }
  in.expect("</function>");
  if (declared_only && find_tool(block.tools, name) == nullptr) in.fail();
  add_typed_call(in, block, name, arguments);
}

void read_qwen(Reader& in, Block& block) {
  // Models leave the tag out now and then.
  const bool is_tagged = in.accept("<tool_call>");
  if (!is_tagged) {
    read_function(in, block, true);
    in.closes("</tool_call>");
    return;
  }
  in.blank();
  if (in.next_is("{")) return read_json_block(in, block, "<tool_call>", "</tool_call>");
  for (;;) {
    read_function(in, block, false);
    if (in.closes("</tool_call>") || !in.good()) return;
    const size_t behind = in.position();
    in.blank();
    if (in.next_is("<tool_call>")) return in.rewind(behind);
  }
}

}  // namespace

OutputFormat qwen3_coder() {
  OutputFormat format;
  format.syntax.arguments = CallSyntax::Arguments::kParameters;
  format.syntax.call_begin = "<tool_call>\n<function=";
  format.syntax.name_end = ">\n";
  format.syntax.call_end = "</function>\n</tool_call>";
  format.syntax.between = "\n";
  format.syntax.key_begin = "<parameter=";
  format.syntax.key_end = ">\n";
  format.syntax.value_end = "\n</parameter>\n";
  format.syntax.marks = {"<tool_call>", "</tool_call>"};
  format.clues = {{{"<function=", "<parameter="}, {}}};
  format.openings = {"<tool_call>", "<function="};
  format.read = read_qwen;
  return format;
}

}  // namespace tempo9::chat
