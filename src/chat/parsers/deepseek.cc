// "deepseek-v3" (V3, R1): each call's arguments as JSON in a fence. "deepseek-v3.1": without the
// fence. Either reads both. "deepseek-v3.2": elements with raw text.
#include <string>

#include "chat/parsers/invoke_blocks.h"
#include "chat/parsers/json_blocks.h"

namespace tempo9::chat {
namespace {

constexpr std::string_view kCallsBegin = "<｜tool▁calls▁begin｜>",
                           kCallsEnd = "<｜tool▁calls▁end｜>", kCallBegin = "<｜tool▁call▁begin｜>",
                           kCallEnd = "<｜tool▁call▁end｜>", kSeparator = "<｜tool▁sep｜>";

// V3.1: NAME<sep>{...}. V3 and R1: function<sep>NAME, then {...} in a fence.
void read_deepseek(Reader& in, Block& block) {
  if (block.n_calls == 0) {
    in.accept(kCallsBegin);
  } else if (in.closes(kCallsEnd)) {
    return;
  }
  in.blank();
  in.expect(kCallBegin);
  std::string name(without_blank_end(without_blank_start(in.until({kSeparator}))));
  in.expect(kSeparator);
  in.blank();
  const bool is_fenced = !in.next_is("{");
  if (is_fenced) {
    name = without_blank_end(in.until({"\n", "```"}));
    in.blank();
    in.expect("```");
    in.accept("json");
  }
  read_json_arguments(in, block, name);
  in.blank();
  if (is_fenced) in.accept("```");
  in.close(kCallEnd);
  block.may_go_on = true;
}

OutputFormat deepseek_format() {
  OutputFormat format;
  format.syntax.arguments = CallSyntax::Arguments::kJson;
  format.syntax.begin = kCallsBegin;
  format.syntax.end = kCallsEnd;
  format.syntax.marks = {kCallsBegin, kCallsEnd, kCallBegin, kCallEnd, kSeparator};
  format.openings = {kCallsBegin, kCallBegin};
  format.read = read_deepseek;
  return format;
}

constexpr InvokeMarks kDsml = {"<｜DSML｜function_calls>",   "</｜DSML｜function_calls>",
                               "<｜DSML｜invoke name=\"",    "</｜DSML｜invoke>",
                               "<｜DSML｜parameter name=\"", "</｜DSML｜parameter>"};

}  // namespace

OutputFormat deepseek_v3() {
  OutputFormat format = deepseek_format();
  format.syntax.call_begin = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>";
  format.syntax.name_end = "\n```json\n";
  format.syntax.call_end = "\n```<｜tool▁call▁end｜>";
  format.syntax.between = "\n";
  format.clues = {{{"<｜tool▁calls▁begin｜>", "```json"}, {}}};
  return format;
}

OutputFormat deepseek_v3_1() {
  OutputFormat format = deepseek_format();
  format.syntax.call_begin = kCallBegin;
  format.syntax.name_end = kSeparator;
  format.syntax.call_end = kCallEnd;
  format.clues = {{{"<｜tool▁calls▁begin｜>"}, {}}};
  return format;
}

OutputFormat deepseek_v3_2() {
  OutputFormat format = invoke_format(kDsml);
  format.syntax.begin = "<｜DSML｜function_calls>\n";
  format.syntax.key_end = "\" string=\"true\">";
  format.syntax.key_end_json = "\" string=\"false\">";
  format.syntax.value_end = "</｜DSML｜parameter>\n";
  format.syntax.call_end = "</｜DSML｜invoke>";
  format.syntax.end = "\n</｜DSML｜function_calls>";
  format.clues = {{{"｜DSML｜", "function_calls"}, {}}};
  format.read = [](Reader& in, Block& block) { read_invoke(in, block, kDsml); };
  return format;
}

}  // namespace tempo9::chat
