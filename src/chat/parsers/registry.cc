#include <algorithm>
#include <utility>

#include "chat/parser.h"
#include "chat/parsers/plain.h"

namespace tempo9::chat {

#define T9_OUTPUT_FORMAT(name, factory) \
  std::unique_ptr<OutputParser> factory(const ParserOptions& options);
#include "chat/parsers/list.inc"
#undef T9_OUTPUT_FORMAT

namespace {

struct Format {
  std::string_view name;
  std::unique_ptr<OutputParser> (*make)(const ParserOptions& options);
};

#define T9_OUTPUT_FORMAT(name, factory) {name, factory},
constexpr Format kFormats[] = {
#include "chat/parsers/list.inc"
};
#undef T9_OUTPUT_FORMAT

}  // namespace

std::vector<std::string_view> format_names() {
  std::vector<std::string_view> names;
  for (const Format& format : kFormats) names.push_back(format.name);
  return names;
}

Result<std::unique_ptr<OutputParser>> make_parser(std::string_view format, ParserOptions options) {
  auto it = std::find_if(std::begin(kFormats), std::end(kFormats),
                         [&](const Format& f) { return f.name == format; });
  if (it == std::end(kFormats)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "output format '{}' is unknown; the known ones are: {}", format,
                      fmt::join(format_names(), ", "));
  }
  if (options.tools.empty()) {
    it = std::find_if(std::begin(kFormats), std::end(kFormats),
                      [](const Format& f) { return f.name == "none"; });
  }
  std::unique_ptr<OutputParser> parser = it->make(options);
  if (options.split_thinking) parser = make_thinking_splitter(std::move(parser), options);
  return make_utf8_joiner(std::move(parser));
}

std::string choose_format(std::string_view template_source, const VocabLookup&) {
  // Templates that name no format of their own show the tools in this one (see
  // ChatTemplate::render).
  return template_source.empty() ? "none" : "hermes";
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
