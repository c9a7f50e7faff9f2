#include <algorithm>
#include <utility>

#include "chat/call_syntax.h"
#include "chat/parser.h"
#include "chat/parsers/format.h"
#include "chat/parsers/marks.h"
#include "chat/parsers/plain.h"

namespace tempo9::chat {
namespace {

struct Entry {
  std::string_view name;
  OutputFormat (*format)();
};

#define T9_OUTPUT_FORMAT(name, format) {name, format},
constexpr Entry kFormats[] = {
#include "chat/parsers/list.inc"
};
#undef T9_OUTPUT_FORMAT

bool fits(const Clue& clue, std::string_view template_source, const VocabLookup& has_token) {
  const auto in_template = [&](std::string_view text) {
    return template_source.find(text) != std::string_view::npos;
  };
  const auto in_vocabulary = [&](std::string_view token) { return has_token && has_token(token); };
  return std::all_of(clue.texts.begin(), clue.texts.end(), in_template) &&
         std::all_of(clue.tokens.begin(), clue.tokens.end(), in_vocabulary);
}

}  // namespace

Result<OutputFormat> find_format(std::string_view name) {
  for (const Entry& entry : kFormats) {
    if (entry.name == name) return entry.format();
  }
  return make_error(ErrorCode::kInvalidArgument,
                    "output format '{}' is unknown; the known ones are: {}", name,
                    fmt::join(format_names(), ", "));
}

std::vector<std::string_view> format_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kFormats) names.push_back(entry.name);
  return names;
}

Result<std::unique_ptr<OutputParser>> make_parser(std::string_view name, ParserOptions options) {
  T9_TRY(OutputFormat format, find_format(name));
  if (format.make != nullptr) {
    // Its messages are told apart with or without tools.
    const bool is_text = options.tools.empty() && !options.split_thinking;
    return make_utf8_joiner(is_text ? make_plain_parser() : format.make(options));
  }
  const std::vector<ThinkingMarks> thinking = format.thinking;
  const bool has_calls = format.read != nullptr && !options.tools.empty();
  std::unique_ptr<OutputParser> parser =
      has_calls ? make_call_machine(std::move(format), options) : make_plain_parser();
  if (options.split_thinking) parser = make_thinking_splitter(std::move(parser), thinking, options);
  return make_utf8_joiner(std::move(parser));
}

std::string choose_format(std::string_view template_source, const VocabLookup& has_token) {
  if (template_source.empty()) return "none";
  for (const Entry& entry : kFormats) {
    const std::vector<Clue> clues = entry.format().clues;
    if (std::any_of(clues.begin(), clues.end(),
                    [&](const Clue& clue) { return fits(clue, template_source, has_token); }))
      return std::string(entry.name);
  }
  // Templates that name no format of their own show the tools in this one (see
  // ChatTemplate::render).
  return "hermes";
}

std::string_view open_thinking(std::string_view text) {
  text = without_blank_end(text);
  for (const Entry& entry : kFormats) {
    for (const ThinkingMarks& marks : entry.format().thinking) {
      std::string_view rest = text;
      if (!rest.ends_with(marks.label)) continue;
      rest.remove_suffix(marks.label.size());
      if (rest.ends_with(marks.open)) return marks.close;
    }
  }
  return {};
}

bool ends_with_thinking_mark(std::string_view text) { return !open_thinking(text).empty(); }

Result<CallSyntax> call_syntax(std::string_view name) {
  T9_TRY(OutputFormat format, find_format(name));
  format.syntax.thinking = format.thinking;
  return std::move(format.syntax);
}

bool ParsedReply::operator==(const ParsedReply& other) const {
  auto same = [](const ToolCall& a, const ToolCall& b) {
    return a.id == b.id && a.name == b.name && a.arguments == b.arguments;
  };
  return text == other.text && reasoning == other.reasoning &&
         std::equal(calls.begin(), calls.end(), other.calls.begin(), other.calls.end(), same);
}

namespace {

struct Join {
  ParsedReply& reply;
  void operator()(const TextDelta& e) const { reply.text += e.text; }
  void operator()(const ReasoningDelta& e) const { reply.reasoning += e.text; }
  void operator()(const ToolCallBegin& e) const {
    reply.calls.push_back({e.id, e.name, std::string()});
  }
  void operator()(const ToolCallArgsDelta& e) const {
    reply.calls[static_cast<size_t>(e.index)].arguments.get_ref<std::string&>() += e.json;
  }
  void operator()(const ToolCallEnd&) const {}
};

}  // namespace

ParsedReply join_events(const std::vector<Event>& events) {
  ParsedReply reply;
  for (const Event& event : events) std::visit(Join{reply}, event);
  return reply;
}

}  // namespace tempo9::chat
