// Replies as the models' own templates write them (tools/golden/chat_formats.py).
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "chat/parser.h"

namespace tempo9::chat {
namespace {

Json golden() {
  std::ifstream file(std::string(T9_TEST_DATA) + "/chat/format_cases.json");
  return Json::parse(file, nullptr, false);
}

ParsedReply parse_case(const Json& golden_case, const std::vector<Tool>& tools, size_t cut) {
  ParserOptions options;
  options.tools = tools;
  options.starts_in_thinking = golden_case["opens_thinking"].get<bool>();
  auto parser = make_parser(golden_case["format"].get<std::string>(), options);
  EXPECT_TRUE(parser);
  std::vector<Event> events;
  const auto reply = golden_case["reply"].get<std::string>();
  for (size_t at = 0; at < reply.size(); at += cut)
    (*parser)->feed(std::string_view(reply).substr(at, cut), false, &events);
  (*parser)->finish(FinishReason::kStop, &events);
  return join_events(events);
}

std::string_view stripped(std::string_view text) {
  const size_t last = text.find_last_not_of(" \n");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

TEST(GoldenFormats, WhatTemplatesWriteIsReadBack) {
  const Json file = golden();
  ASSERT_TRUE(file.is_object());
  const std::vector<Tool> tools = tools_from_json(file["tools"]).value();
  for (const Json& golden_case : file["cases"]) {
    SCOPED_TRACE(golden_case["template"].get<std::string>());
    const ParsedReply reply = parse_case(golden_case, tools, 1000);
    EXPECT_EQ(stripped(reply.text), golden_case["text"].get<std::string>());
    EXPECT_EQ(reply.reasoning, golden_case["thinking"].get<std::string>());
    const Json& calls = golden_case["calls"];
    ASSERT_EQ(reply.calls.size(), calls.size());
    for (size_t i = 0; i < calls.size(); ++i) {
      EXPECT_EQ(reply.calls[i].name, calls[i]["name"].get<std::string>());
      // Some templates sort the keys.
      using Sorted = nlohmann::json;
      EXPECT_EQ(Sorted::parse(reply.calls[i].arguments.get<std::string>()),
                Sorted::parse(calls[i]["arguments"].dump()));
    }
    EXPECT_EQ(parse_case(golden_case, tools, 1), reply);
  }
}

TEST(GoldenFormats, EveryFormatHasOne) {
  // functiongemma and llama3-pythonic: their templates are in no package; their syntax is Google's
  // and Meta's documentation's.
  std::set<std::string_view> covered = {"none", "functiongemma", "llama3-pythonic"};
  const Json file = golden();
  for (const Json& golden_case : file["cases"])
    covered.insert(golden_case["format"].get_ref<const std::string&>());
  for (const std::string_view name : format_names())
    EXPECT_TRUE(covered.contains(name)) << name << " has no case";
}

}  // namespace
}  // namespace tempo9::chat
