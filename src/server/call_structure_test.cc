#include <gtest/gtest.h>

#include "server/custom_tool.h"
#include "server/structure.h"
#include "server/testing/fake_engine.h"

namespace tempo9::server {
namespace {

constexpr std::string_view kThreeTools = R"([
  {"type":"function","function":{"name":"find","strict":true,"parameters":{"type":"object",
    "properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}},
  {"type":"function","function":{"name":"go","parameters":{"type":"object",
    "properties":{"x":{"type":"dict"},"n":{"type":"integer"}}}}},
  {"type":"function","function":{"name":"stop"}}])";

class CallStructureTest : public ::testing::Test {
 protected:
  void make(bool is_script) {
    engine_.info_.is_script = is_script;
    Service::Options options;
    options.log = [this](const std::string& message) { log_ += message; };
    service_ = *Service::create(engine_, options);
    tools_ = *chat::tools_from_json(Json::parse(kThreeTools));
  }
  std::unique_ptr<grammar::Constraint> hold(CallStructure structure) {
    structure.tools = &tools_;
    engine::GenerateRequest request;
    const Status held = hold_calls(*service_, structure, &request);
    EXPECT_TRUE(held) << held.error().message;
    if (request.rules == nullptr) return nullptr;
    return std::move(*request.rules->start());
  }
  // Text byte by byte, "<tool_call>" and "</tool_call>" as the tokens that they are.
  bool takes(grammar::Constraint& constraint, std::string_view text) {
    while (!text.empty()) {
      TokenId id = static_cast<unsigned char>(text[0]);
      size_t n = 1;
      for (const std::string_view mark : {"<tool_call>", "</tool_call>"}) {
        if (text.starts_with(mark)) id = engine_.tokenizer().find(mark), n = mark.size();
      }
      if (!*constraint.accept(id)) return false;
      text.remove_prefix(n);
    }
    return true;
  }
  testing::FakeEngine engine_;
  std::shared_ptr<Service> service_;
  std::vector<chat::Tool> tools_;
  std::string log_;
};

TEST_F(CallStructureTest, ARequiredCallGoesOnFromItsOpening) {
  make(false);
  auto constraint = hold({.forced = true});
  EXPECT_TRUE(takes(*constraint, R"( "find", "arguments": {"city": "Lund"}})"));
  EXPECT_FALSE(constraint->can_end());
  EXPECT_TRUE(takes(*constraint, "\n</tool_call>"));
  EXPECT_TRUE(constraint->can_end());
  EXPECT_TRUE(
      takes(*constraint, "\n<tool_call>\n{\"name\": \"stop\", \"arguments\": {}}\n</tool_call>"));
  auto other = hold({.forced = true});
  EXPECT_FALSE(takes(*other, R"( "lose")"));
  auto spelled = hold({.forced = true});
  ASSERT_TRUE(takes(*spelled, R"( "stop", "arguments": {}})"));
  EXPECT_FALSE(*spelled->accept('<'));  // letters are no mark
}

TEST_F(CallStructureTest, ANamedCallIsOneCall) {
  make(false);
  auto constraint = hold({.forced = true, .name = "go", .one_call = true});
  EXPECT_TRUE(takes(*constraint, " {\"x\": [1], \"n\": 2}}\n</tool_call>"));
  EXPECT_TRUE(takes(*constraint, "\n"));
  EXPECT_FALSE(takes(*constraint, "<tool_call>"));
  EXPECT_TRUE(*constraint->accept(engine_.tokenizer().eos()));
}

TEST_F(CallStructureTest, WhatAnOrdinaryToolCannotHoldIsAWarning) {
  make(false);
  auto constraint = hold({});
  EXPECT_NE(log_.find("tools[1] (go): #/properties/x: type: found \"dict\""), std::string::npos)
      << log_;
  EXPECT_TRUE(
      takes(*constraint, R"({"name": "go", "arguments": {"x": 1, "n": 3}} and {"n": "x"})"));
  auto held = hold({});
  EXPECT_FALSE(takes(*held, R"({"name": "go", "arguments": {"n": "x")"));
}

TEST_F(CallStructureTest, ScriptsAreHeldWhereTheRequestSaysSo) {
  make(true);
  auto strict = hold({});
  ASSERT_NE(strict, nullptr);
  EXPECT_TRUE(*strict->accept_text(R"({"name": "go", "arguments": {"n": "x"}})"));
  EXPECT_FALSE(*strict->accept_text("\n{\"name\": \"find\", \"arguments\": {\"town\": 1}}"));
  auto forced = hold({.forced = true});
  EXPECT_FALSE(*forced->accept_text("Hello"));
  EXPECT_TRUE(
      *forced->accept_text("<tool_call>\n{\"name\": \"stop\", \"arguments\": {}}\n</tool_call>"));
  EXPECT_TRUE(forced->can_end());
}

TEST_F(CallStructureTest, AStrictToolThatCannotBeHeldIsAnError) {
  make(false);
  tools_ = *chat::tools_from_json(Json::parse(
      R"([{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"x"}}}])"));
  engine::GenerateRequest request;
  const Status held = hold_calls(*service_, {.tools = &tools_}, &request);
  ASSERT_FALSE(held);
  EXPECT_TRUE(held.error().message.starts_with("tools[0].function.parameters: #: type: "))
      << held.error().message;
}

TEST_F(CallStructureTest, ACustomToolsTextKeepsItsGrammar) {
  make(false);
  const auto custom = [](const char* name, const char* format) {
    return *custom_as_function(Json{{"format", Json::parse(format)}}, "tools[0]", name);
  };
  tools_ = {
      custom("patch", R"({"type": "grammar", "syntax": "lark",
                          "definition": "start: (\"+\" /.*/ LF)+\n%import common.LF"})"),
      custom("code", R"({"type": "grammar", "syntax": "regex", "definition": "^[a-z\"]{2}$"})")};
  auto free = hold({});
  EXPECT_TRUE(takes(
      *free, R"(I edit. <tool_call>{"name": "patch", "arguments": {"input": "+a \"b\"\n+\n"}})"));
  auto other = hold({});
  EXPECT_FALSE(takes(*other, R"({"name": "patch", "arguments": {"input": "-)"));
  auto named = hold({.forced = true, .name = "code", .one_call = true});
  EXPECT_TRUE(takes(*named, " {\"input\": \"a\\\"\"}}\n</tool_call>"));
  EXPECT_TRUE(named->can_end());
  auto cut = hold({.forced = true, .name = "code", .one_call = true});
  EXPECT_FALSE(takes(*cut, R"( {"input": "a"})"));
  EXPECT_EQ(log_, "");
}

TEST_F(CallStructureTest, AGrammarThatCannotBeHeldIsAWarningOrAnError) {
  make(false);
  const auto hold_one = [this](Json entry) {
    tools_ = {*custom_as_function(entry, "tools[0]", "t")};
    engine::GenerateRequest request;
    const Status held = hold_calls(*service_, {.tools = &tools_}, &request);
    return held ? std::string() : held.error().message;
  };
  Json entry = {{"format", {{"type", "grammar"}, {"syntax", "regex"}, {"definition", "a(?=b)"}}}};
  EXPECT_EQ(hold_one(entry), "");
  EXPECT_NE(log_.find("tools[0] (t): "), std::string::npos) << log_;
  entry["strict"] = true;
  EXPECT_TRUE(hold_one(entry).starts_with("tools[0].format.definition: ")) << hold_one(entry);
  const Json broken = {
      {"format", {{"type", "grammar"}, {"syntax", "lark"}, {"definition", "start: ("}}}};
  EXPECT_TRUE(hold_one(broken).starts_with("tools[0].format.definition: line 1: "));
}

}  // namespace
}  // namespace tempo9::server
