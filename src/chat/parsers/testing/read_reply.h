// A whole reply through a format's parser, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "chat/parser.h"

namespace tempo9::chat {

// "f{"a":1}" for each call, a space between them.
inline std::string calls_text(const ParsedReply& reply) {
  std::string out;
  for (const ToolCall& call : reply.calls) {
    if (!out.empty()) out += ' ';
    out += call.name + call.arguments.get<std::string>();
  }
  return out;
}

// The tools f and g take anything; get_weather has a schema.
inline ParserOptions some_tools() {
  ParserOptions options;
  options.tools = {{"f", "", Json::object(), {}},
                   {"g", "", Json::object(), {}},
                   {"get_weather",
                    "",
                    Json::parse(R"({"type":"object","properties":{"city":{"type":"string"},
                      "days":{"type":"integer"},"multi":{"type":"boolean"},
                      "rows":{"type":"array"},"x":{"type":"number"}}})"),
                    {}}};
  return options;
}

inline ParsedReply read_reply(std::string_view format, std::string_view reply,
                              FinishReason reason = FinishReason::kStop,
                              ParserOptions options = some_tools()) {
  auto parser = make_parser(format, std::move(options));
  EXPECT_TRUE(parser);
  std::vector<Event> events;
  (*parser)->feed(reply, false, &events);
  (*parser)->finish(reason, &events);
  return join_events(events);
}

}  // namespace tempo9::chat
