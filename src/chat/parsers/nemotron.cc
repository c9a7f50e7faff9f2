// "nemotron": <TOOLCALL> with a list of calls as JSON (Nemotron Nano 2; Nemotron 3 writes
// "qwen3-coder").
#include "chat/parsers/json_blocks.h"

namespace tempo9::chat {

OutputFormat nemotron() {
  OutputFormat format;
  format.syntax = json_call_syntax("{\"name\": \"", "}");
  format.syntax.begin = "<TOOLCALL>[";
  format.syntax.between = ", ";
  format.syntax.end = "]</TOOLCALL>";
  format.syntax.marks = {"<TOOLCALL>", "</TOOLCALL>"};
  format.clues = {{{"<TOOLCALL>"}, {}}};
  format.openings = {"<TOOLCALL>"};
  format.read = [](Reader& in, Block& block) {
    in.expect("<TOOLCALL>");
    read_json_block(in, block, "<TOOLCALL>", "</TOOLCALL>");
  };
  return format;
}

}  // namespace tempo9::chat
