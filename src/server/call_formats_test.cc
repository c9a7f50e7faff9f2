// Arguments are held to their schemas in every output format, as real vocabularies have its marks.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "chat/exact_json.h"
#include "chat/parser.h"
#include "chat/parsers/testing/written_calls.h"
#include "server/forced_call.h"
#include "server/structure.h"
#include "server/testing/fake_engine.h"

namespace tempo9::server {
namespace {

using chat::Call;

constexpr std::string_view kWeather = R"([
  {"type":"function","function":{"name":"get_weather","parameters":{"type":"object",
    "properties":{"city":{"type":"string"},"days":{"type":"integer"},"on":{"type":"boolean"},
      "unit":{"enum":["C","F",null]},"note":{"type":["string","null"],"minLength":1},
      "opts":{"type":"object","properties":{"k":{"type":"string"},"n":{"type":"number"}},
              "additionalProperties":false},
      "rows":{"type":"array","items":{"type":["integer","boolean","null"]},"maxItems":3}},
    "required":["city"]}}},
  {"type":"function","function":{"name":"get","parameters":{"type":"object"}}},
  {"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}])";

class EveryCallFormat : public ::testing::TestWithParam<std::string_view> {
 protected:
  EveryCallFormat() : syntax_(*chat::call_syntax(GetParam())) {
    engine_.info_.is_script = false;
    std::vector<std::string> marks;
    for (const std::string_view mark : syntax_.marks) {
      if (engine_.tokenizer().find(mark) < 0) marks.emplace_back(mark);
    }
    engine_.add_control_tokens(marks);
    Service::Options options;
    options.format = GetParam();
    options.log = [this](const std::string& message) { log_ += message; };
    service_ = *Service::create(engine_, options);
    offer(kWeather);
  }
  void offer(std::string_view tools) {
    tools_ = *chat::tools_from_json(*chat::parse_exactly(tools));
  }

  std::unique_ptr<grammar::Constraint> hold(CallStructure structure) {
    structure.tools = &tools_;
    engine::GenerateRequest request;
    const Status held = hold_calls(*service_, structure, &request);
    EXPECT_TRUE(held) << held.error().message;
    if (!held || request.rules == nullptr) return nullptr;
    return std::move(*request.rules->start());
  }

  // What of the text comes through, marks as the tokens that they are.
  std::string taken(grammar::Constraint& constraint, std::string_view text) const {
    std::string out;
    while (!text.empty()) {
      TokenId id = static_cast<unsigned char>(text[0]);
      size_t n = 1;
      for (const std::string_view mark : syntax_.marks) {
        if (text.starts_with(mark)) id = engine_.tokenizer().find(mark), n = mark.size();
      }
      std::vector<uint32_t> mask(
          grammar::mask_words(static_cast<size_t>(engine_.tokenizer().size())), ~0U);
      const bool masked = *constraint.fill_mask(mask);
      const auto bit = static_cast<size_t>(id);
      const bool may = !masked || (mask[bit / 32] >> (bit % 32) & 1) != 0;
      const bool takes = *constraint.accept(id);
      EXPECT_TRUE(may || !takes) << "the mask forbids what is taken, behind " << out;
      if (!takes) break;
      out += text.substr(0, n);
      text.remove_prefix(n);
    }
    return out;
  }
  std::string taken_in_auto(std::string_view text) {
    auto constraint = hold({});
    return constraint == nullptr ? "" : taken(*constraint, text);
  }
  // Behind the opening that was written for the model.
  std::string taken_when_named(const Call& call) {
    auto constraint = hold({.forced = true, .name = call.name, .one_call = true});
    if (constraint == nullptr) return "";
    const std::string text = written(syntax_, {call});
    const std::string opening =
        chat::join_segments(open_call(GetParam(), call.name, false)->segments);
    EXPECT_TRUE(text.starts_with(opening)) << opening;
    return opening + taken(*constraint, std::string_view(text).substr(opening.size()));
  }
  bool holds(const Json& arguments) {
    const Call call{"get_weather", arguments};
    const std::string text = written(syntax_, {call});
    const bool named = taken_when_named(call) == text;
    EXPECT_EQ(taken_in_auto(text) == text, named) << text;
    return named;
  }

  const chat::CallSyntax syntax_;
  testing::FakeEngine engine_;
  std::shared_ptr<Service> service_;
  std::vector<chat::Tool> tools_;
  std::string log_;
};

TEST_P(EveryCallFormat, ArgumentsKeepTheirSchema) {
  EXPECT_TRUE(holds({{"city", "Lund"}}));
  EXPECT_TRUE(holds({{"city", ""}, {"days", -2}, {"on", true}, {"unit", "C"}}));
  EXPECT_TRUE(holds({{"city", "x"}, {"unit", nullptr}, {"note", "a"}}));
  EXPECT_TRUE(holds({{"city", "x"}, {"opts", {{"k", "v"}, {"n", 1.5}}}}));
  EXPECT_TRUE(holds({{"city", "x"}, {"rows", Json::array({1, true, nullptr})}}));
  EXPECT_FALSE(holds({{"days", 1}}));                     // city is missing
  EXPECT_FALSE(holds({{"city", "x"}, {"town", "y"}}));    // no such argument
  EXPECT_FALSE(holds({{"city", "x"}, {"days", "two"}}));  // types
  EXPECT_FALSE(holds({{"city", "x"}, {"days", 1.5}}));
  EXPECT_FALSE(holds({{"city", "x"}, {"on", 1}}));
  EXPECT_FALSE(holds({{"city", "x"}, {"unit", "K"}}));
  EXPECT_FALSE(holds({{"city", "x"}, {"note", ""}}));
  EXPECT_FALSE(holds({{"city", "x"}, {"opts", {{"k", 1}}}}));
  EXPECT_FALSE(holds({{"city", "x"}, {"opts", {{"z", "v"}}}}));
  EXPECT_FALSE(holds({{"city", "x"}, {"rows", Json::array({"y"})}}));
  EXPECT_FALSE(holds({{"city", "x"}, {"rows", Json::array({1, 1, 1, 1})}}));
}

TEST_P(EveryCallFormat, TextIsAnyText) {
  std::string text = "Lu \"nd\" it's {\"a\": \"}</\"} ```\n)] \\ é";
  if (syntax_.arguments == chat::CallSyntax::Arguments::kParameters)
    text +=
        fmt::format(" {} y", syntax_.value_end.substr(syntax_.value_end.find_first_not_of('\n')));
  // A mark's letters are text; only its token is the mark.
  std::string body = written(syntax_, {{"get_weather", {{"city", "@"}}}});
  std::string spelled = text;
  if (syntax_.arguments == chat::CallSyntax::Arguments::kJson ||
      syntax_.arguments == chat::CallSyntax::Arguments::kPython) {
    spelled = Json(text).dump();
    spelled = spelled.substr(1, spelled.size() - 2);
  }
  body.replace(body.find('@'), 1, spelled);
  if (GetParam() == "glm4") return;  // its closing mark is a token and no letters
  EXPECT_EQ(taken_in_auto(body), body);
}

TEST_P(EveryCallFormat, WhatOthersAreCalledIsFree) {
  const std::string text = "Let me see.\n" + written(syntax_, {{"other", {{"town", 1}}}}) + " {x";
  EXPECT_EQ(taken_in_auto(text), text);
  // A longer name is another name.
  const std::string longer = written(syntax_, {{"now_then", {{"town", 1}}}});
  EXPECT_EQ(taken_in_auto(longer), longer);
}

TEST_P(EveryCallFormat, EachCallOfAReplyIsHeld) {
  const Call good{"get_weather", {{"city", "Lund"}, {"rows", Json::array({1})}}};
  const Call open{"get", {{"a", 1}, {"b", {{"c", Json::array()}}}}};
  const Call bad{"get_weather", {{"city", "Lund"}, {"town", 1}}};
  const std::string once = written(syntax_, {good}) + "\nDone.";
  EXPECT_EQ(taken_in_auto(once), once);
  if (syntax_.ends_reply) return;
  const std::string three = written(syntax_, {good, open, {"now", Json::object()}});
  EXPECT_EQ(taken_in_auto(three), three);
  const std::string second = written(syntax_, {good, bad});
  EXPECT_NE(taken_in_auto(second), second);
  const std::string third = written(syntax_, {open, good, bad});
  EXPECT_NE(taken_in_auto(third), third);
}

TEST_P(EveryCallFormat, NoReplyEndsInsideArguments) {
  const std::string text = written(syntax_, {{"get_weather", {{"city", "Lund"}}}});
  auto constraint = hold({});
  ASSERT_NE(constraint, nullptr);
  EXPECT_TRUE(constraint->can_end());
  const size_t inside = text.find("Lund") + 2;
  ASSERT_EQ(taken(*constraint, text.substr(0, inside)), text.substr(0, inside));
  EXPECT_FALSE(constraint->can_end());
  EXPECT_FALSE(*constraint->accept(engine_.tokenizer().eos()));
  taken(*constraint, text.substr(inside));
  EXPECT_TRUE(constraint->can_end());
}

TEST_P(EveryCallFormat, AStrictToolsSchemaIsHeldWhole) {
  offer(R"([{"type":"function","function":{"name":"get_weather","strict":true,"parameters":{
    "type":"object","properties":{"city":{"type":"string"},
      "rows":{"type":"array","items":{"type":"integer"},"uniqueItems":true}},
    "required":["city","rows"],"not":{"properties":{"city":{"const":"Oslo"}}}}}}])");
  EXPECT_TRUE(holds({{"city", "Lund"}, {"rows", Json::array({1, 2})}}));
  EXPECT_FALSE(holds({{"city", "Lund"}, {"rows", Json::array({1, 1})}}));
  EXPECT_FALSE(holds({{"city", "Oslo"}, {"rows", Json::array({1, 2})}}));
}

TEST_P(EveryCallFormat, TextsKeepTheirLimits) {
  offer(R"([{"type":"function","function":{"name":"get_weather","parameters":{"type":"object",
    "properties":{"code":{"type":"string","minLength":2,"maxLength":4},
      "long":{"type":"string","minLength":3},"word":{"type":"string","pattern":"^[a-c]+$"},
      "any":{"type":"string","pattern":"\\d"},
      "both":{"type":"string","pattern":"^[a-c]+$","maxLength":3},
      "kind":{"type":"string","enum":["a b","c"]},
      "id":{"enum":[9007199254740993,5]},"n":{"type":"integer"}}}}}])");
  EXPECT_TRUE(holds({{"code", "ab"}, {"long", "a\nb c"}, {"word", "abc"}, {"any", "x 1 y"}}));
  EXPECT_TRUE(holds({{"code", "ab\u00e9d"}, {"both", "abc"}, {"kind", "a b"}}));
  EXPECT_TRUE(holds({{"id", 9007199254740993}, {"n", 9223372036854775807}}));
  EXPECT_FALSE(holds({{"code", "a"}}));
  EXPECT_FALSE(holds({{"code", "abcde"}}));
  EXPECT_FALSE(holds({{"long", "ab"}}));
  EXPECT_FALSE(holds({{"word", "abd"}}));
  EXPECT_FALSE(holds({{"any", "x y"}}));
  EXPECT_FALSE(holds({{"both", "abca"}}));
  EXPECT_FALSE(holds({{"kind", "a"}}));
  EXPECT_FALSE(holds({{"id", 9007199254740992}}));
  // What closes such a text is no part of it: other arguments may not follow as if it were.
  for (const char* name : {"code", "long", "word", "any", "both"}) {
    const std::string good = name == std::string("any") ? "12" : "abc";
    EXPECT_TRUE(holds({{name, good}, {"n", 1}})) << name;
    EXPECT_FALSE(holds({{name, good}, {"town", "y"}})) << name;
  }
}

TEST_P(EveryCallFormat, LongIntegersKeepTheirDigits) {
  offer(R"([{"type":"function","function":{"name":"get_weather","parameters":{"type":"object",
    "properties":{"id":{"enum":[123456789012345678901234567890]}}}}}])");
  std::string right = written(syntax_, {{"get_weather", {{"id", 123456}}}});
  right.replace(right.find("123456"), 6, "123456789012345678901234567890");
  EXPECT_EQ(taken_in_auto(right), right);
  std::string other = right;
  other[other.find("890123")] = '9';
  EXPECT_NE(taken_in_auto(other), other);
}

std::string format_case_name(const ::testing::TestParamInfo<std::string_view>& info) {
  std::string name(info.param);
  std::ranges::replace_if(name, [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}
std::vector<std::string_view> call_formats() {
  std::vector<std::string_view> names = chat::format_names();
  std::erase(names, "none");
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, EveryCallFormat, ::testing::ValuesIn(call_formats()),
                         format_case_name);

// As the models' own templates write them (tools/golden/chat_formats.py).
TEST_P(EveryCallFormat, WhatTemplatesWriteComesThrough) {
  std::ifstream file(std::string(T9_TEST_DATA) + "/chat/format_cases.json");
  const Json golden = Json::parse(file, nullptr, false);
  ASSERT_TRUE(golden.is_object());
  tools_ = *chat::tools_from_json(golden["tools"]);
  for (const Json& golden_case : golden["cases"]) {
    if (golden_case["format"] != GetParam()) continue;
    const auto reply = golden_case["reply"].get<std::string>();
    EXPECT_EQ(taken_in_auto(reply), reply);
  }
}

}  // namespace
}  // namespace tempo9::server
