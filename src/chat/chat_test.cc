#include "chat/chat.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace tempo9::chat {
namespace {

using testing::HasSubstr;
using testing::Not;

// Templates in the manner of known families, from the golden file of the template language.
std::string style(const std::string& name) {
  std::ifstream file(std::string(T9_TEST_DATA) + "/chat/jinja_cases.json");
  Json data = Json::parse(file, nullptr, false);
  return data["shared"]["@" + name].get<std::string>();
}

ChatTemplate compile(const std::string& source) {
  auto result = ChatTemplate::compile(source, {"<s>", "</s>"});
  EXPECT_TRUE(result) << result.error().message;
  return std::move(*result);
}

RenderInput conversation(const char* messages) {
  RenderInput input;
  auto parsed = messages_from_json(Json::parse(messages));
  EXPECT_TRUE(parsed) << parsed.error().message;
  input.messages = std::move(*parsed);
  input.now = "2026-05-04";
  return input;
}

std::string prompt(const ChatTemplate& t, const RenderInput& input) {
  auto segments = t.render(input);
  return segments ? join_segments(*segments) : "error: " + segments.error().message;
}

TEST(ChatTemplate, OutsideTextIsNoTemplateText) {
  auto segments =
      compile(style("chatml")).render(conversation(R"([{"role":"user","content":"<|im_end|>"}])"));
  ASSERT_TRUE(segments);
  bool found = false;
  for (const Segment& s : *segments) {
    if (s.text == "<|im_end|>") {
      EXPECT_FALSE(s.is_template);
      found = true;
    }
  }
  EXPECT_TRUE(found);
  EXPECT_TRUE(segments->back().is_template);
}

TEST(ChatTemplate, NoTemplateNamesTheFlag) {
  auto result = ChatTemplate::compile("", {});
  ASSERT_TRUE(result);
  auto segments = result->render(conversation(R"([{"role":"user","content":"a"}])"));
  ASSERT_FALSE(segments);
  EXPECT_EQ(segments.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(segments.error().message, HasSubstr("--chat-template-file"));
}

TEST(ChatTemplate, ArgumentsAsTextOrObjectAndContentInEveryFormGiveTheSamePrompt) {
  for (const char* name :
       {"hermes", "chatml", "mistral", "deepseek", "glm", "xml-coder", "typescript"}) {
    SCOPED_TRACE(name);
    ChatTemplate t = compile(style(name));
    auto with = [&](const char* content, const char* arguments) {
      std::string text =
          std::string(R"([{"role":"user","content":"q"},{"role":"assistant",)") + content +
          R"("tool_calls":[{"id":"abcdef123","type":"function","function":{"name":"get_weather","arguments":)" +
          arguments + R"(}}]},{"role":"tool","tool_call_id":"abcdef123","content":"sunny"}])";
      return prompt(t, conversation(text.c_str()));
    };
    std::string expected = with(R"("content":null,)", R"({"city":"Lund","n":[1,2.5]})");
    EXPECT_THAT(expected, Not(testing::StartsWith("error")));
    EXPECT_THAT(expected, Not(HasSubstr("None")));
    EXPECT_THAT(expected, HasSubstr("Lund"));
    EXPECT_EQ(with(R"("content":null,)", R"("{\"city\": \"Lund\", \"n\": [1, 2.5]}")"), expected);
    EXPECT_EQ(with(R"("content":"",)", R"({"city":"Lund","n":[1,2.5]})"), expected);
    EXPECT_EQ(with(R"("content":[],)", R"({"city":"Lund","n":[1,2.5]})"), expected);
    EXPECT_EQ(with("", R"({"city":"Lund","n":[1,2.5]})"), expected);
  }
}

TEST(ChatTemplate, TextPartsAreJoinedWhereATemplateWouldPrintAList) {
  for (const char* name : {"hermes", "chatml", "llama", "mistral", "gemma", "deepseek", "glm"}) {
    SCOPED_TRACE(name);
    ChatTemplate t = compile(style(name));
    std::string parts = prompt(
        t,
        conversation(
            R"([{"role":"user","content":[{"type":"text","text":"Hello "},{"type":"text","text":"you"}]}])"));
    std::string plain = prompt(t, conversation(R"([{"role":"user","content":"Hello you"}])"));
    EXPECT_THAT(parts, Not(HasSubstr("'type'")));
    if (!t.takes_parts()) {
      EXPECT_EQ(parts, plain);
    }
    EXPECT_EQ(prompt(t, conversation(
                            R"([{"role":"user","content":[{"type":"text","text":"Hello you"}]}])")),
              plain);
  }
  EXPECT_TRUE(compile(style("gemma")).takes_parts());
  EXPECT_FALSE(compile(style("chatml")).takes_parts());
}

// Whatever clients send reaches the model, or is refused in the template's words.
TEST(ChatTemplate, OddTurnsAreServed) {
  const char* conversations[] = {
      R"([{"role":"user","content":"U-one"},{"role":"user","content":"U-two"}])",
      R"([{"role":"assistant","content":"A-one"},{"role":"user","content":"U-two"}])",
      R"([{"role":"system","content":"S-one"},{"role":"system","content":"S-two"},{"role":"user","content":"U-two"}])",
      R"([{"role":"user","content":"U-one"},{"role":"assistant","content":"A-one"},{"role":"system","content":"S-note"},{"role":"user","content":"U-two"}])",
      R"([{"role":"developer","content":"S-dev"},{"role":"user","content":"U-two"}])",
      R"([{"role":"user","content":"U-one"},{"role":"assistant","content":"","tool_calls":[
          {"id":"call_1","function":{"name":"f_one","arguments":"{}"}},{"id":"call_2","function":{"name":"f_two","arguments":"{}"}}]},
          {"role":"tool","tool_call_id":"call_1","content":"R-one"},{"role":"tool","tool_call_id":"call_2","content":"R-two"},{"role":"user","content":"U-two"}])",
  };
  for (const char* name : {"chatml", "hermes", "llama", "mistral", "gemma", "deepseek", "glm",
                           "xml-coder", "typescript"}) {
    ChatTemplate t = compile(style(name));
    for (const char* text : conversations) {
      SCOPED_TRACE(std::string(name) + ": " + text);
      std::string p = prompt(t, conversation(text));
      EXPECT_THAT(p, Not(testing::StartsWith("error")));
      for (const char* word : {"U-one", "U-two", "S-one", "S-two", "S-note", "S-dev", "A-one",
                               "f_one", "f_two", "R-one", "R-two"}) {
        if (std::string_view(text).find(word) != std::string_view::npos) {
          EXPECT_THAT(p, HasSubstr(word));
        }
      }
    }
  }
}

TEST(ChatTemplate, ALateSystemMessageKeepsThePrefix) {
  ChatTemplate t = compile(
      "{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ "
      "raise_exception('System message must come first.') }}"
      "{% endif %}<{{ m.role }}>{{ m.content }}\n{% endfor %}");
  std::string before = prompt(
      t, conversation(R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"}])"));
  std::string after = prompt(
      t,
      conversation(
          R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"system","content":"note"},{"role":"user","content":"c"}])"));
  EXPECT_TRUE(after.starts_with(before)) << after;
  EXPECT_THAT(after, HasSubstr("<user>[System message]\nnote"));
}

TEST(ChatTemplate, WhatItRefusesIsSaidInItsWords) {
  ChatTemplate t = compile("{{ raise_exception('Only on Sundays: ' ~ messages|length) }}");
  auto segments = t.render(conversation(R"([{"role":"user","content":"a"}])"));
  ASSERT_FALSE(segments);
  EXPECT_EQ(segments.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(segments.error().message, HasSubstr("Only on Sundays: 1"));
  // /apply-template shows what the template says to the messages as they are.
  ChatTemplate gemma = compile(style("gemma"));
  auto exact = gemma.render_exactly(
      conversation(R"([{"role":"user","content":"a"},{"role":"user","content":"b"}])"));
  ASSERT_FALSE(exact);
  EXPECT_THAT(exact.error().message, HasSubstr("Roles have to alternate"));
}

TEST(ChatTemplate, KwargsSetTokensAndTime) {
  ChatTemplate t = compile(
      "{{ bos_token }}|{{ eos_token }}|{{ strftime_now('%d.%m.%Y') }}|{{ flag }}|{{ tools }}|{{ "
      "add_generation_prompt }}");
  RenderInput input = conversation(R"([{"role":"user","content":"a"}])");
  EXPECT_EQ(join_segments(*t.render_exactly(input)), "<s>|</s>|04.05.2026||None|True");
  input.template_kwargs = Json::parse(
      R"({"bos_token":"<B>","eos_token":"<E>","now":"2024-02-29T10:00:00","flag":false})");
  input.add_generation_prompt = false;
  EXPECT_EQ(join_segments(*t.render_exactly(input)), "<B>|<E>|29.02.2024|False|None|False");
  input.template_kwargs = Json::parse(R"({"now":"yesterday"})");
  auto bad = t.render_exactly(input);
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("yesterday"));
  for (const char* key : {"messages", "tools", "add_generation_prompt"}) {
    input.template_kwargs = {{key, Json::array()}};
    for (const auto& refused : {t.render(input), t.render_exactly(input)}) {
      ASSERT_FALSE(refused);
      EXPECT_THAT(refused.error().message, HasSubstr(fmt::format("chat_template_kwargs.{}", key)));
    }
  }
}

TEST(ChatTemplate, FieldsKeepTheirOrder) {
  ChatTemplate t = compile("{{ messages|tojson }}");
  EXPECT_EQ(join_segments(*t.render_exactly(
                conversation(R"([{"content":"a","role":"user","zeta":1,"alpha":null}])"))),
            R"([{"content": "a", "role": "user", "zeta": 1, "alpha": null}])");
}

TEST(ChatTemplate, ToolsReachAModelWhoseTemplateKnowsNone) {
  ChatTemplate t = compile(style("chatml"));
  EXPECT_FALSE(t.uses_tools());
  RenderInput input =
      conversation(R"([{"role":"system","content":"Be brief."},{"role":"user","content":"a"}])");
  input.tools = *tools_from_json(Json::parse(
      R"([{"type":"function","function":{"name":"get_weather","parameters":{"type":"object"}}}])"));
  std::string p = prompt(t, input);
  EXPECT_THAT(p, HasSubstr("Be brief."));
  EXPECT_THAT(p, HasSubstr(R"("name":"get_weather")"));
}

TEST(ChatTemplate, TheLastMessageCanBeContinued) {
  ChatTemplate t = compile(style("chatml"));
  RenderInput input = conversation(
      R"([{"role":"user","content":"a"},{"role":"assistant","content":"The answer "}])");
  input.add_generation_prompt = false;
  input.continue_final = true;
  std::string p = prompt(t, input);
  EXPECT_TRUE(p.ends_with("<|im_start|>assistant\nThe answer ")) << p;
}

TEST(OpensThinking, OnlyByTheTemplate) {
  EXPECT_TRUE(opens_thinking({{"<|turn>model\n<|channel>thought\n", true}}));
  EXPECT_FALSE(opens_thinking({{"<|turn>model\n<|channel>thought\n<channel|>", true}}));
  EXPECT_TRUE(opens_thinking({{"[/INST][THINK]", true}}));
  EXPECT_TRUE(opens_thinking({{"x", false}, {"<|Assistant|><think>\n", true}}));
  EXPECT_FALSE(opens_thinking({{"<think>\n\n</think>\n\n", true}}));
  EXPECT_FALSE(opens_thinking({{"<think>", false}}));
  EXPECT_FALSE(opens_thinking({}));
}

ChatTemplate compiled(std::string source) {
  auto made = ChatTemplate::compile(std::move(source), {});
  EXPECT_TRUE(made);
  return std::move(*made);
}

RenderInput asking(const char* messages, Json kwargs = Json::object()) {
  RenderInput input;
  input.messages = messages_from_json(Json::parse(messages)).value();
  input.template_kwargs = std::move(kwargs);
  return input;
}

std::string prompt_of(const ChatTemplate& chat_template, const RenderInput& input) {
  const auto segments = chat_template.render(input);
  return segments ? join_segments(*segments) : segments.error().message;
}

TEST(ChatTemplate, ReplayedNumbersKeepTheirDigits) {
  const ChatTemplate chat_template = compiled(
      "{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}"
      "{{ c.function.name }}{{ c.function.arguments | tojson }}"
      "{% for k, v in c.function.arguments | items %} {{ k }}={{ v }}{% endfor %}"
      "{% endfor %}{% endfor %}");
  EXPECT_EQ(prompt_of(chat_template, asking(R"([{"role":"user","content":"q "},
                {"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":
                "{\"id\": 123456789012345678901234567890, \"x\": 2.50, \"n\": -7}"}}]}])")),
            "q f{\"id\": 123456789012345678901234567890, \"x\": 2.50, \"n\": -7}"
            " id=123456789012345678901234567890 x=2.50 n=-7");
}

constexpr const char* kQuestion = R"([{"role":"user","content":"q"}])";

TEST(ChatTemplate, EverySwitchTurnsThinkingOff) {
  const std::vector<Json> switches = {{{"enable_thinking", false}},
                                      {{"thinking", false}},
                                      {{"reasoning_effort", "none"}, {"enable_thinking", false}}};
  // The template's own switch, under either name; no switch, but the prompt opens thinking; no
  // switch at all.
  const std::vector<std::pair<const char*, const char*>> templates = {
      {"{{ messages[0].content }}{% if enable_thinking is false %}<think></think>{% endif %}",
       "q<think></think>"},
      {"{{ messages[0].content }}{% if thinking %}<think>{% else %}</think>{% endif %}",
       "q</think>"},
      {"{{ messages[0].content }}{{ '<think>\n' }}", "q<think>\n\n</think>\n\n"},
      {"{{ messages[0].content }}<think>", "q<think></think>\n\n"},
      {"{{ messages[0].content }}[THINK]", "q[THINK][/THINK]\n\n"},
      {"{% if false %}<think>{% endif %}{{ messages[0].content }}", "q<think>\n\n</think>\n\n"},
      {"<|start|>user<|message|>{{ messages[0].content }}<|channel|>analysis<|start|>assistant",
       "<|start|>user<|message|>q<|channel|>analysis<|start|>assistant"
       "<|channel|>analysis<|message|><|end|><|start|>assistant"},
      {"{{ messages[0].content }}", "q"},
  };
  for (const auto& [source, expected] : templates) {
    for (const Json& kwargs : switches) {
      EXPECT_EQ(prompt_of(compiled(source), asking(kQuestion, kwargs)), expected) << kwargs.dump();
    }
  }
}

TEST(ChatTemplate, EffortIsGivenInWordsThatTemplatesKnow) {
  const ChatTemplate chat_template = compiled("{{ messages[0].content }}{{ reasoning_effort }}");
  for (const auto& [given, expected] :
       {std::pair{"minimal", "qlow"}, {"medium", "qmedium"}, {"xhigh", "qhigh"}}) {
    EXPECT_EQ(prompt_of(chat_template, asking(kQuestion, {{"reasoning_effort", given}})), expected);
  }
}

TEST(ChatTemplate, ThinkingInHistoryReachesTheTemplatesOwnField) {
  const std::string loop =
      "{{% for m in messages %}}{{{{ m.content or '' }}}}{{% if m.{} %}}<think>{{{{ m.{} "
      "}}}}</think>"
      "{{% endif %}}{{% for c in m.tool_calls or [] %}}{{{{ c.function.name }}}}{{% endfor %}}"
      "{{% endfor %}}";
  for (const char* sent : {"reasoning_content", "reasoning", "thinking"}) {
    const std::string messages = fmt::format(
        R"([{{"role":"user","content":"q"}},{{"role":"assistant","content":"","{}":"hm",
            "tool_calls":[{{"id":"a","function":{{"name":"f","arguments":"{{}}"}}}}]}}])",
        sent);
    for (const char* read : {"reasoning_content", "reasoning", "thinking"}) {
      EXPECT_EQ(prompt_of(compiled(fmt::format(fmt::runtime(loop), read, read)),
                          asking(messages.c_str())),
                "q<think>hm</think>f")
          << sent << " read as " << read;
    }
  }
}

// A template that refuses text beside thinking (gpt-oss) gets both as thinking.
TEST(ChatTemplate, TextBesideThinkingIsNotLost) {
  const ChatTemplate chat_template = compiled(
      "{% for m in messages %}{% if m.tool_calls %}{% if m.content and m.thinking %}"
      "{{ raise_exception('not both') }}{% endif %}[{{ m.thinking }}]{{ "
      "m.tool_calls[0].function.name }}"
      "{% else %}{{ m.content }}{% endif %}{% endfor %}");
  EXPECT_EQ(prompt_of(chat_template, asking(R"([{"role":"user","content":"q"},
                {"role":"assistant","content":"Look.","reasoning_content":"hm",
                 "tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}])")),
            "q[hm\n\nLook.]f");
}

// Control tokens come from the template only: whatever field of the conversation spells one.
TEST(ChatTemplate, NoFieldsTextIsTemplateText) {
  const std::string source =
      "{% for t in tools or [] %}{{ t | tojson }}{{ t.function.name ~ t.function.description }}"
      "{% endfor %}{% for m in messages %}<|im_start|>{{ m.role ~ '\n' ~ (m.name or '') }}"
      "{{ (m.content or '') | trim | replace('a', 'a') }}{{ m.reasoning_content }}"
      "{{ m.tool_call_id }}{% for c in m.tool_calls or [] %}{{ c.function.name ~ c.id }}"
      "{{ c.function.arguments | tojson }}{% for k, v in c.function.arguments | items %}"
      "{{ k ~ '=' ~ v | string | upper | lower }}{% endfor %}{% endfor %}<|im_end|>\n{% endfor %}";
  const ChatTemplate chat_template = compiled(source);
  const std::string mark = "<|im_end|>";
  const auto call = [&](const std::string& x) {
    return Json{{"id", x},
                {"function", {{"name", x}, {"arguments", {{x, {{x, Json::array({x})}}}}}}}};
  };
  const auto messages = [&](const std::string& x) {
    Json out = Json::array();
    for (const char* role : {"system", "user", "assistant", "developer", "tool"}) {
      Json m = {{"role", role},
                {"content", x + " a"},
                {"name", x},
                {"reasoning_content", x},
                {"tool_call_id", x}};
      if (m["role"] == "assistant") m["tool_calls"] = Json::array({call(x), call(x)});
      out.push_back(m);
    }
    out.push_back({{"role", "user"}, {"content", Json::array({{{"type", "text"}, {"text", x}}})}});
    return out;
  };
  const auto marks = [&](const std::string& x) {
    RenderInput input;
    input.messages = messages_from_json(messages(x)).value();
    input.tools = tools_from_json(Json::array({{{"type", "function"},
                                                {"function",
                                                 {{"name", x},
                                                  {"description", x},
                                                  {"parameters", {{"properties", {{x, x}}}}}}}}}))
                      .value();
    input.template_kwargs = {{"custom", x}};
    const auto segments = chat_template.render(input);
    EXPECT_TRUE(segments);
    size_t n = 0;
    for (const Segment& segment : *segments) {
      if (!segment.is_template) continue;
      for (size_t at = segment.text.find(mark); at != std::string::npos;
           at = segment.text.find(mark, at + 1))
        ++n;
    }
    return n;
  };
  EXPECT_EQ(marks(mark), marks("plain"));
  EXPECT_GE(marks("plain"), 5u);
}

// A status that says "later" (503) would have clients ask for ever.
TEST(ChatTemplate, LimitsAreTheRequestsFault) {
  const ChatTemplate t = compile("{{ 'a' * 10000000000 }}");
  const auto input = conversation(R"([{"role":"user","content":"a"}])");
  for (const auto& refused : {t.render(input), t.render_exactly(input)}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument) << refused.error().message;
  }
}

}  // namespace
}  // namespace tempo9::chat
