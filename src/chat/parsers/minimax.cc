// "minimax-m2": <minimax:tool_call> with an <invoke> for each call. "minimax-m1": <tool_calls> with
// one JSON call a line.
#include "chat/parsers/invoke_blocks.h"
#include "chat/parsers/json_blocks.h"

namespace tempo9::chat {
namespace {

constexpr InvokeMarks kMiniMax = {"<minimax:tool_call>", "</minimax:tool_call>", "<invoke name=\"",
                                  "</invoke>",           "<parameter name=\"",   "</parameter>"};

}  // namespace

OutputFormat minimax_m2() {
  OutputFormat format = invoke_format(kMiniMax);
  format.syntax.begin = "<minimax:tool_call>\n";
  format.syntax.value_end = "</parameter>\n";
  format.syntax.call_end = "</invoke>";
  format.syntax.end = "\n</minimax:tool_call>";
  format.clues = {{{"<minimax:tool_call>"}, {}}};
  format.read = [](Reader& in, Block& block) { read_invoke(in, block, kMiniMax); };
  return format;
}

OutputFormat minimax_m1() {
  OutputFormat format;
  format.syntax = json_call_syntax("{\"name\": \"", "}");
  format.syntax.begin = "<tool_calls>\n";
  format.syntax.between = "\n";
  format.syntax.end = "\n</tool_calls>";
  format.syntax.marks = {"<tool_calls>", "</tool_calls>"};
  format.clues = {{{"<tool_calls>", "<beginning_of_sentence>"}, {}}};
  format.openings = {"<tool_calls>"};
  format.read = [](Reader& in, Block& block) {
    in.expect("<tool_calls>");
    read_json_block(in, block, "<tool_calls>", "</tool_calls>");
  };
  return format;
}

}  // namespace tempo9::chat
