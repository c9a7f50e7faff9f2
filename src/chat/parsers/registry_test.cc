// Every format: the same events for every cut, and nothing lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "chat/call_syntax.h"
#include "chat/parser.h"
#include "chat/parsers/marks.h"
#include "chat/parsers/testing/written_calls.h"

namespace tempo9::chat {
namespace {

std::vector<Tool> tools() {
  Json weather = {{"type", "object"},
                  {"properties",
                   {{"city", {{"type", "string"}}},
                    {"days", {{"type", "integer"}}},
                    {"on", {{"type", "boolean"}}},
                    {"rows", {{"type", "array"}}},
                    {"opts", {{"type", "object"}}}}}};
  return {{"get_weather", "", weather, {}},
          {"f", "", Json::object(), {}},
          {"now", "", Json::object(), {}}};
}

ParserOptions options() {
  ParserOptions o;
  o.tools = tools();
  o.id_seed = 7;
  return o;
}

ParsedReply parse(std::string_view format, const std::vector<std::string>& pieces,
                  FinishReason reason = FinishReason::kStop, ParserOptions o = options()) {
  Result<std::unique_ptr<OutputParser>> parser = make_parser(format, std::move(o));
  EXPECT_TRUE(parser);
  std::vector<Event> events;
  for (const std::string& piece : pieces) (*parser)->feed(piece, false, &events);
  (*parser)->finish(reason, &events);
  for (const Event& e : events) {
    if (const auto* text = std::get_if<TextDelta>(&e)) {
      EXPECT_FALSE(text->text.empty());
    }
  }
  return join_events(events);
}

CallSyntax syntax_of(std::string_view format) { return call_syntax(format).value(); }

// Replies that are no calls, or not quite, and those that a format's syntax does not tell.
std::vector<std::string> own_replies(std::string_view format) {
  if (format == "hermes" || format == "gemma3") {
    return {
        "Let me see.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lund "
        "\\\"x\\\" </tool_call> </\"}}\n"
        "</tool_call>\n<tool_call>\n{\"arguments\": {\"a\":\"}</\"}, \"name\": "
        "\"f\"}\n</tool_call>\n",
        "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>tail<tool_call>{\"name\":\"f\"}</"
        "tool_call>",
        "<tool_call>{\"name\":\"f\",\"arguments\":{}}\n<tool_call>{\"name\":\"f\",\"arguments\":\"{"
        "}\"}</tool_call>",
        "<tool_call>{bad}</tool_call> then "
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"x\":[1,{\"y\":null}]}}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"line\nbreak\"}}</tool_call>",
        "<tool_call>{\"name\":\"f\",\"argu",
        "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_",
        "<tool_call><tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call></tool_call>",
        "<tool_call>{\"name\":\"f\",\"arguments\":{}} x</tool_call>",
        "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lund\"}}\n```",
        "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lund\"}}\n```\nSo it is.",
        "```json\n{\"name\": \"other\", \"arguments\": {}}\n```",
        "{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"f\", \"arguments\": {\"a\": "
        "\"<tool_call>\"}}",
        "[{\"name\": \"f\", \"parameters\": {}}, {\"type\": \"function\", \"name\": \"f\", "
        "\"parameters\": {\"q\": 1}}]",
        "<tools>\n{\"name\": \"f\", \"arguments\": {}}\n</tools>",
        "```python\nprint(1)\n```",
        "Look:\n```json\n{\"name\": \"f\", \"arguments\": {}}\n```\n\nand {\"name\":\n"
        "{\"name\": \"f\", \"arguments\": {}}\n",
        "```js\n``\n{\"name\": \"f\", \"arguments\": {}}\n ``` x\n"
        "[{\"name\": \"f\", \"arguments\": {}}]",
        "One.\n\n<tool_call>{\"name\":\"f\"}</tool_call>\n\nTwo.\n",
        "{\"name\": \"f\", \"arguments\": {}} "
        "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>",
    };
  }
  if (format == "qwen3-coder") {
    return {"<function=f><parameter=a>x</parameter></function>",
            "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>",
            "<function=other></function> <function=f></function></tool_call> x",
            "<tool_call><function=f></function><function=f></function><tool_call><function=f>"
            "</function>"};
  }
  if (format == "mistral" || format == "mistral-v3") {
    return {"[TOOL_CALLS][{\"name\":\"f\",\"arguments\":{}}]x", "[TOOL_CALLS]f{\"a\":1} x",
            "[TOOL_CALLS]f[CALL_ID]abcdef123[ARGS]{\"a\":\"[ARGS]\"}[TOOL_CALLS]f[ARGS]{}",
            "[THINK]a[/THINK]b</think>", "[TOOL_CALLS][1]"};
  }
  if (format == "harmony") {
    return {
        "<|channel|>analysis<|message|>Hm.\n<|end|><|start|>assistant<|channel|>final"
        "<|message|>Yes<|return|>",
        " to=functions.f<|channel|>commentary json<|message|>{\"a\":\"<|end|>\"}<|call|>",
        "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>"
        "commentary to=functions.f <|constrain|>json<|message|>{\"a\": 1",
        "<|channel|>analysis to=python<|message|>1+1<|call|> to=",
        "to=f is text",
        "<|start|>assistant<|end|>\n<|message|>x<|constrain|>"};
  }
  if (format == "deepseek-v3" || format == "deepseek-v3.1") {
    return {
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```"
        "<｜tool▁call▁end｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜> x",
        "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜> x"};
  }
  if (format == "gemma4") {
    return {"<|channel>thought\nHm <|tool_call>call:f{}<tool_call|>\n<channel|>Yes.",
            "<|channel>thought\n<channel|>Yes.", "<|channel>th", "<|channel>x<channel|>y",
            "<|tool_call>call:f{<|\"|>a b<|\"|>:[],c:word,d:[1,None,True]}<tool_call|>"};
  }
  if (format == "llama3-json") {
    return {"<|python_tag|>f.call(a=\"x\") ; f()", "<|python_tag|>print(1)",
            "<|python_tag|>{\"name\":\"f\",\"parameters\":{}};{\"name\":\"f\"} x",
            "[{\"name\": \"f\", \"parameters\": {}}]"};
  }
  if (format == "llama3-pythonic") {
    return {"<|python_start|>[f(a='x'), f()]<|python_end|>",
            "[f(a=1)] x",
            "[f(",
            "[other(a=1)]",
            "Text\n[ f ( a = '''x''' ) , ]\n",
            "[link](x)",
            "```tool_code\nf(a=1)\n```"};
  }
  if (format == "lfm2") {
    return {"<|tool_call_start|>[{\"name\":\"f\",\"arguments\":{}}]<|tool_call_end|>",
            "<|tool_call_start|>f(a=[1, (2, 3)], b={'c': None})<|tool_call_end|>",
            "<|tool_call_start|>[f(1)]<|tool_call_end|>"};
  }
  return {};
}

std::vector<std::string> replies(std::string_view format) {
  std::vector<std::string> all = {
      "",
      "Plain text.\n\n  With lines \n",
      "<think>\nhm </thin k> "
      "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n</think>\n\nDone. 🙂",
      "<think>never closed 日本 \n",
      " \n<think>a</think> <think>b</think> text <think>c</think>",
      "a < b, <thin, ```x```, {\"k\": 1}",
  };
  const CallSyntax syntax = syntax_of(format);
  if (syntax.arguments != CallSyntax::Arguments::kNone) {
    const std::string calls = written(syntax, two_calls(syntax));
    all.push_back("Let me see.\n\n" + calls + "\nSo it is.\n");
    all.push_back(calls.substr(0, calls.size() / 2));
    all.push_back(calls.substr(0, calls.size() / 4) + calls);
    all.push_back("A call looks like `" + written(syntax, {{"f", Json::object()}}) + "`, see?");
    std::string marks;
    for (const std::string_view mark : syntax.marks) marks += fmt::format("a {} b\n", mark);
    all.push_back(marks);
  }
  std::vector<std::string> own = own_replies(format);
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

class EveryFormat : public testing::TestWithParam<std::string_view> {};
// Rules that not every format can have are tried on those that have them.
class FormatWithCalls : public EveryFormat {};
class FormatWithMarks : public EveryFormat {};
class FormatThatThinksInTags : public EveryFormat {};  // others: see their own tests
class FormatOfTextAndCalls : public EveryFormat {};    // Harmony's marks end messages: see its test

template <typename Fits>
std::vector<std::string_view> formats_where(Fits fits) {
  std::vector<std::string_view> names = format_names();
  std::erase_if(names, [&](std::string_view name) { return !fits(name); });
  return names;
}
bool has_calls(std::string_view name) {
  return syntax_of(name).arguments != CallSyntax::Arguments::kNone;
}
bool has_marks(std::string_view name) { return !syntax_of(name).marks.empty(); }
bool is_text_and_calls(std::string_view name) { return name != "harmony"; }
bool thinks_in_tags(std::string_view name) { return name != "harmony" && name != "gemma4"; }

// With a sanitizer every seventh cut: the code that runs is the same.
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kCutStep = 7;
#else
constexpr size_t kCutStep = 1;
#endif

TEST_P(EveryFormat, EveryCutGivesTheSameReply) {
  for (const std::string& reply : replies(GetParam())) {
    SCOPED_TRACE(reply);
    for (FinishReason reason : {FinishReason::kStop, FinishReason::kLength}) {
      ParsedReply whole = parse(GetParam(), {reply}, reason);
      std::vector<std::string> bytes;
      for (char c : reply) bytes.emplace_back(1, c);
      ASSERT_EQ(parse(GetParam(), bytes, reason), whole);
      for (size_t i = 0; i <= reply.size(); i += kCutStep) {
        ASSERT_EQ(parse(GetParam(), {reply.substr(0, i), reply.substr(i)}, reason), whole)
            << "cut at " << i;
      }
      // Three pieces: every pair of cuts of the short ones, a sample of the long ones.
      const size_t stride = reply.size() < 40 ? kCutStep : reply.size() / 10;
      for (size_t i = 0; i <= reply.size(); i += stride) {
        for (size_t j = i; j <= reply.size(); j += stride) {
          ASSERT_EQ(parse(GetParam(), {reply.substr(0, i), reply.substr(i, j - i), reply.substr(j)},
                          reason),
                    whole)
              << "cut at " << i << " and " << j;
        }
      }
    }
  }
}

std::vector<Call> calls_of(const ParsedReply& reply) {
  std::vector<Call> out;
  for (const ToolCall& call : reply.calls) {
    out.push_back({call.name, Json::parse(call.arguments.get<std::string>())});
  }
  return out;
}

TEST_P(FormatWithCalls, ReadsWhatItsSyntaxWrites) {
  const CallSyntax syntax = syntax_of(GetParam());
  const std::vector<Call> calls = two_calls(syntax);
  const std::string body = written(syntax, calls);
  SCOPED_TRACE(body);
  const ParsedReply reply = parse(GetParam(), {"Let me see.\n" + body});
  EXPECT_EQ(calls_of(reply), calls);
  EXPECT_EQ(without_blank_end(reply.text), "Let me see.");
  ASSERT_EQ(reply.calls.size(), 2u);
  EXPECT_NE(reply.calls[0].id, reply.calls[1].id);
}

TEST_P(FormatWithMarks, MarksOfTheVocabularyCountAsTokensOnly) {
  const CallSyntax syntax = syntax_of(GetParam());
  const std::vector<std::string_view>& marks = syntax.marks;
  const std::vector<Call> calls = two_calls(syntax);
  const std::string body = written(syntax, calls);
  ParserOptions with_tokens = options();
  with_tokens.has_token = [marks](std::string_view s) {
    return std::find(marks.begin(), marks.end(), s) != marks.end();
  };
  const auto parser = make_parser(GetParam(), with_tokens);
  std::vector<Event> events;
  bool begins_with_mark = false;
  for (size_t at = 0; at < body.size();) {
    const auto mark = std::find_if(marks.begin(), marks.end(), [&](std::string_view m) {
      return std::string_view(body).substr(at).starts_with(m);
    });
    const bool is_mark = mark != marks.end();
    begins_with_mark = begins_with_mark || (at == 0 && is_mark);
    const size_t n = is_mark ? mark->size() : 1;
    (*parser)->feed(std::string_view(body).substr(at, n), is_mark, &events);
    at += n;
  }
  (*parser)->finish(FinishReason::kStop, &events);
  EXPECT_EQ(calls_of(join_events(events)), calls);
  if (begins_with_mark && GetParam() != "qwen3-coder") {  // it reads <function=, which is no mark
    EXPECT_TRUE(parse(GetParam(), {body}, FinishReason::kStop, with_tokens).calls.empty());
  }
}

TEST_P(EveryFormat, ACutReplyHasNoOtherCalls) {
  const CallSyntax syntax = syntax_of(GetParam());
  const std::vector<Call> calls = two_calls(syntax);
  const std::string body = written(syntax, calls);
  for (size_t n = 0; n < body.size(); ++n) {
    if (n > 0 && (body[n] & 0xC0) == 0x80) continue;
    for (FinishReason reason : {FinishReason::kStop, FinishReason::kLength}) {
      const ParsedReply reply = parse(GetParam(), {body.substr(0, n)}, reason);
      const std::vector<Call> got = calls_of(reply);
      // Harmony's end mark ends the reply and is not seen: no arguments were meant.
      if (GetParam() == "harmony" && body.substr(0, n).ends_with("<|message|>")) continue;
      ASSERT_LE(got.size(), calls.size());
      ASSERT_TRUE(std::equal(got.begin(), got.end(), calls.begin())) << body.substr(0, n);
      if (got.empty() && GetParam() != "harmony") {
        ASSERT_EQ(reply.text, body.substr(0, n));
      }
    }
  }
}

TEST_P(FormatThatThinksInTags, WhileThinkingACallIsText) {
  const CallSyntax syntax = syntax_of(GetParam());
  const std::string body = written(syntax, {{"f", Json::object()}});
  const ParsedReply reply =
      parse(GetParam(), {"<think>\nI could emit " + body + " but no.</think>Done."});
  EXPECT_EQ(reply.reasoning, "I could emit " + body + " but no.");
  EXPECT_EQ(reply.text, "Done.");
  EXPECT_TRUE(reply.calls.empty());
}

TEST_P(FormatOfTextAndCalls, AQuotedCallIsText) {
  const CallSyntax syntax = syntax_of(GetParam());
  const std::string body = written(syntax, {{"f", {{"a", "x"}}}});
  for (const std::string& reply :
       {"Write `" + body + "` for a call.", "So:\n````\n```json\n" + body + "\n```\n````\nis one.",
        "In Python:\n```python\n" + body + "\n```\n"}) {
    const ParsedReply parsed = parse(GetParam(), {reply});
    EXPECT_EQ(parsed.text, reply);
    EXPECT_TRUE(parsed.calls.empty());
  }
}

TEST_P(EveryFormat, RandomMixturesGiveTheSameReplyForRandomCuts) {
  const char* parts[] = {"<tool_call>",
                         "</tool_call>",
                         "<think>",
                         "</think>",
                         "{\"name\":\"f\",\"arguments\":{",
                         "}}",
                         "\"",
                         "```json\n",
                         "```",
                         "\n",
                         " ",
                         "x",
                         "é",
                         "<",
                         "</",
                         "{\"name\":\"f\",\"arguments\":{\"a\":\"<tool_call>\"}}",
                         "[",
                         "]",
                         ","};
  // Half of them from the format's own pieces.
  const CallSyntax syntax = syntax_of(GetParam());
  std::vector<std::string_view> own = syntax.marks;
  for (const std::string_view piece :
       {syntax.begin, syntax.call_begin, syntax.number_mark, syntax.name_end, syntax.call_end,
        syntax.between, syntax.end, syntax.key_begin, syntax.key_end, syntax.value_end,
        std::string_view("f"), std::string_view("{}"), std::string_view("a")})
    own.push_back(piece);
  std::mt19937 random(20260504);
  for (int round = 0; round < 2000; ++round) {
    std::string reply;
    for (auto n = random() % 9; n > 0; --n) {
      reply += random() % 2 == 0 ? own[random() % own.size()] : parts[random() % std::size(parts)];
    }
    std::vector<std::string> pieces;
    for (size_t at = 0; at < reply.size();) {
      size_t n = 1 + random() % 6;
      pieces.push_back(reply.substr(at, n));
      at += n;
    }
    FinishReason reason = random() % 2 == 0 ? FinishReason::kStop : FinishReason::kLength;
    ASSERT_EQ(parse(GetParam(), pieces, reason), parse(GetParam(), {reply}, reason)) << reply;
  }
}

TEST_P(EveryFormat, WithoutToolsAReplyIsItsText) {
  for (const std::string& reply : replies(GetParam())) {
    ParserOptions o;
    o.split_thinking = false;
    ParsedReply parsed = parse(GetParam(), {reply}, FinishReason::kStop, o);
    EXPECT_EQ(parsed.text, reply);
    EXPECT_TRUE(parsed.calls.empty());
  }
}

TEST_P(FormatOfTextAndCalls, CharactersCutApartComeWhole) {
  std::string emoji = "\xF0\x9F\xA7\x91\xE2\x80\x8D\xF0\x9F\x92\xBB";
  std::vector<std::string> all = {emoji};
  if (GetParam() != "gemma4") all.push_back("<think>" + emoji + "</think>" + emoji);
  for (const std::string& reply : all) {
    Result<std::unique_ptr<OutputParser>> parser = make_parser(GetParam(), options());
    std::vector<Event> events;
    for (char c : reply) (*parser)->feed(std::string_view(&c, 1), false, &events);
    (*parser)->finish(FinishReason::kStop, &events);
    for (const Event& e : events) {
      const std::string& text = std::holds_alternative<TextDelta>(e)
                                    ? std::get<TextDelta>(e).text
                                    : std::get<ReasoningDelta>(e).text;
      EXPECT_FALSE(Json(text).dump(-1, ' ', false, Json::error_handler_t::ignore).size() !=
                   text.size() + 2)
          << text;
    }
    EXPECT_EQ(join_events(events).text, emoji);
  }
  EXPECT_EQ(parse(GetParam(), {"a\xFF", "b\xE2\x82"}).text,
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD\xEF\xBF\xBD");
}

std::string case_name(const testing::TestParamInfo<std::string_view>& info) {
  std::string name(info.param);
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, EveryFormat, testing::ValuesIn(format_names()), case_name);
INSTANTIATE_TEST_SUITE_P(All, FormatWithCalls, testing::ValuesIn(formats_where(has_calls)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(All, FormatWithMarks, testing::ValuesIn(formats_where(has_marks)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(All, FormatThatThinksInTags,
                         testing::ValuesIn(formats_where(thinks_in_tags)), case_name);
INSTANTIATE_TEST_SUITE_P(All, FormatOfTextAndCalls,
                         testing::ValuesIn(formats_where(is_text_and_calls)), case_name);

TEST(Registry, UnknownFormatNamesTheKnown) {
  Result<std::unique_ptr<OutputParser>> parser = make_parser("herms", {});
  ASSERT_FALSE(parser);
  EXPECT_THAT(parser.error().message, testing::HasSubstr("hermes"));
}

// The texts are what real templates have.
TEST(Registry, TheTemplateTellsTheFormat) {
  const VocabLookup none, lfm2 = [](std::string_view s) { return s == "<|tool_call_start|>"; };
  const VocabLookup llama = [](std::string_view s) { return s == "<|python_tag|>"; };
  EXPECT_EQ(choose_format("", none), "none");
  EXPECT_EQ(choose_format("{{ messages }}", none), "hermes");
  // Hermes 3 keeps Llama's vocabulary.
  EXPECT_EQ(choose_format("<|im_start|> <tool_call>", llama), "hermes");
  EXPECT_EQ(choose_format("<|start_header_id|>ipython<|end_header_id|>", llama), "llama3-json");
  EXPECT_EQ(choose_format("<tool_call>\n<function=x>\n<parameter=y>", none), "qwen3-coder");
  EXPECT_EQ(choose_format("<tool_call>{n}<arg_key>", none), "glm4");
  EXPECT_EQ(choose_format("[TOOL_CALLS]' + name + '[ARGS]", none), "mistral");
  EXPECT_EQ(choose_format("[TOOL_CALLS][", none), "mistral-v3");
  EXPECT_EQ(choose_format("<｜tool▁calls▁begin｜>\n```json", none), "deepseek-v3");
  EXPECT_EQ(choose_format("<｜tool▁calls▁begin｜>", none), "deepseek-v3.1");
  EXPECT_EQ(choose_format("set dsml = '｜DSML｜' + 'function_calls>'", none), "deepseek-v3.2");
  EXPECT_EQ(choose_format("<|start|>assistant<|channel|>final<|message|>", none), "harmony");
  EXPECT_EQ(choose_format("<|im_start|><|tool_list_start|>", lfm2), "lfm2");
}

TEST(Registry, ThinkingOpenedByThePrompt) {
  ParserOptions o = options();
  o.starts_in_thinking = true;
  ParsedReply reply = parse("none", {"\nso\n", "</think>\n\nDone."}, FinishReason::kStop, o);
  EXPECT_EQ(reply.reasoning, "so");
  EXPECT_EQ(reply.text, "Done.");
}

TEST(Registry, ThinkingMarkMustBeAToken) {
  ParserOptions o = options();
  o.has_token = [](std::string_view s) { return s == "<think>" || s == "</think>"; };
  EXPECT_EQ(parse("none", {"<think>a</think>b"}, FinishReason::kStop, o).text, "<think>a</think>b");
  auto parser = make_parser("none", o);
  std::vector<Event> events;
  (*parser)->feed("<think>", true, &events);
  (*parser)->feed("a</think>", false, &events);
  (*parser)->feed("</think>", true, &events);
  (*parser)->feed("b", false, &events);
  (*parser)->finish(FinishReason::kStop, &events);
  EXPECT_EQ(join_events(events).reasoning, "a</think>");
  EXPECT_EQ(join_events(events).text, "b");
}

}  // namespace
}  // namespace tempo9::chat
