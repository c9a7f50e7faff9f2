// "llama3-json": {"name": ..., "parameters": {...}}, bare or behind <|python_tag|>, several with ;
// between them. "llama3-pythonic": a list of Python calls, bare or between marks (Llama 3.2, 4).
#include "chat/parsers/json_blocks.h"

namespace tempo9::chat {

OutputFormat llama3_json() {
  OutputFormat format;
  format.syntax = json_call_syntax("{\"name\": \"", "}");
  format.syntax.name_end = "\", \"parameters\": ";
  format.syntax.between = "; ";
  format.syntax.marks = {"<|python_tag|>"};
  format.clues = {{{"<|python_tag|>"}, {}}, {{"<|start_header_id|>", "ipython"}, {}}};
  format.openings = {"<|python_tag|>"};
  format.read = [](Reader& in, Block& block) {
    const size_t begin = in.position();
    if (block.n_calls == 0) {
      in.expect("<|python_tag|>");
    } else {
      in.blank();
      if (!in.accept(";")) return in.rewind(begin);
    }
    read_python_or_json(in, block);
    block.may_go_on = true;
  };
  format.bare = BareCallStyle::kJson;
  return format;
}

OutputFormat llama3_pythonic() {
  OutputFormat format;
  format.syntax.arguments = CallSyntax::Arguments::kPython;
  format.syntax.begin = "[";
  format.syntax.name_end = "(";
  format.syntax.call_end = ")";
  format.syntax.between = ", ";
  format.syntax.end = "]";
  format.syntax.marks = {"<|python_start|>", "<|python_end|>", "<|python_tag|>"};
  format.clues = {{{"<|python_start|>"}, {}}, {{"[func_name1("}, {}}};
  format.openings = {"<|python_start|>", "<|python_tag|>"};
  format.read = [](Reader& in, Block& block) {
    const bool has_end = in.accept("<|python_start|>");
    if (!has_end) in.expect("<|python_tag|>");
    read_python_or_json(in, block);
    if (has_end) in.close("<|python_end|>");
  };
  format.bare = BareCallStyle::kPython;
  return format;
}

}  // namespace tempo9::chat
