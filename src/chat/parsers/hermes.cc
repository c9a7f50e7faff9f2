// "hermes": calls as JSON in <tool_call> tags (Hermes 2 Pro, Qwen2.5, Qwen3...), or without them,
// as small models write. "gemma3": the same, and calls as Python.
#include "chat/parsers/json_blocks.h"

namespace tempo9::chat {

OutputFormat hermes() {
  OutputFormat format;
  format.syntax = json_call_syntax("<tool_call>\n{\"name\": \"", "}\n</tool_call>");
  format.syntax.between = "\n";
  format.syntax.marks = {"<tool_call>", "</tool_call>"};
  format.openings = {"<tool_call>"};
  format.read = [](Reader& in, Block& block) {
    in.expect("<tool_call>");
    read_json_block(in, block, "<tool_call>", "</tool_call>");
  };
  format.bare = BareCallStyle::kJson;
  // Qwen2.5-Coder: in lists on fewer lines it makes fewer calls.
  format.open_list = [](std::string_view name) {
    return fmt::format("```json\n[\n  {{\n    \"name\": {},\n    \"arguments\":",
                       Json(name).dump());
  };
  return format;
}

OutputFormat gemma3() {
  // Its template shows no tools, so ChatTemplate::render() teaches it Hermes's tags.
  OutputFormat format = hermes();
  format.clues = {{{"<start_of_turn>"}, {}}};
  format.bare = BareCallStyle::kJsonAndPython;
  format.open_list = nullptr;
  return format;
}

}  // namespace tempo9::chat
