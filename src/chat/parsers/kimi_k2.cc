// "kimi-k2": a section of calls, each with an id that names the function (functions.NAME:INDEX) and
// its arguments as JSON.
#include <algorithm>
#include <string>

#include "chat/parsers/json_blocks.h"

namespace tempo9::chat {
namespace {

constexpr std::string_view kSectionBegin = "<|tool_calls_section_begin|>",
                           kSectionEnd = "<|tool_calls_section_end|>",
                           kKimiBegin = "<|tool_call_begin|>",
                           kKimiArguments = "<|tool_call_argument_begin|>",
                           kKimiEnd = "<|tool_call_end|>";

// functions.NAME:INDEX
std::string kimi_name(std::string_view id) {
  id = without_blank_end(without_blank_start(id));
  constexpr std::string_view kNamespace = "functions.";
  if (id.starts_with(kNamespace)) id.remove_prefix(kNamespace.size());
  const size_t colon = id.rfind(':');
  const bool is_numbered = colon != std::string_view::npos && colon + 1 < id.size() &&
                           std::all_of(id.begin() + static_cast<std::ptrdiff_t>(colon) + 1,
                                       id.end(), [](char c) { return c >= '0' && c <= '9'; });
  return std::string(is_numbered ? id.substr(0, colon) : id);
}

void read_kimi(Reader& in, Block& block) {
  if (block.n_calls == 0) {
    in.accept(kSectionBegin);
  } else if (in.closes(kSectionEnd)) {
    return;
  }
  in.blank();
  in.expect(kKimiBegin);
  const std::string name = kimi_name(in.until({kKimiArguments}));
  in.expect(kKimiArguments);
  read_json_arguments(in, block, name);
  in.close(kKimiEnd);
  block.may_go_on = true;
}

}  // namespace

OutputFormat kimi_k2() {
  OutputFormat format;
  format.syntax.arguments = CallSyntax::Arguments::kJson;
  format.syntax.begin = kSectionBegin;
  format.syntax.call_begin = "<|tool_call_begin|>functions.";
  format.syntax.number_mark = ":";
  format.syntax.name_end = kKimiArguments;
  format.syntax.call_end = kKimiEnd;
  format.syntax.end = kSectionEnd;
  format.syntax.marks = {kSectionBegin, kSectionEnd, kKimiBegin, kKimiArguments, kKimiEnd};
  format.clues = {{{"<|tool_calls_section_begin|>"}, {}}};
  format.openings = {kSectionBegin, kKimiBegin};
  format.read = read_kimi;
  return format;
}

}  // namespace tempo9::chat
