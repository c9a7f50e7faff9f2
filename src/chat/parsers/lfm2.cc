// "lfm2": a list of Python calls (or of JSON ones, on request) between marks.
#include "chat/parsers/json_blocks.h"

namespace tempo9::chat {

OutputFormat lfm2() {
  OutputFormat format;
  format.syntax.arguments = CallSyntax::Arguments::kPython;
  format.syntax.begin = "<|tool_call_start|>[";
  format.syntax.name_end = "(";
  format.syntax.call_end = ")";
  format.syntax.between = ", ";
  format.syntax.end = "]<|tool_call_end|>";
  format.syntax.marks = {"<|tool_call_start|>", "<|tool_call_end|>"};
  // Some of its templates show the tools and not the calls.
  format.clues = {{{"<|tool_call_start|>"}, {}}, {{}, {"<|tool_call_start|>"}}};
  format.openings = {"<|tool_call_start|>"};
  format.read = [](Reader& in, Block& block) {
    in.expect("<|tool_call_start|>");
    read_python_or_json(in, block);
    in.close("<|tool_call_end|>");
  };
  return format;
}

}  // namespace tempo9::chat
