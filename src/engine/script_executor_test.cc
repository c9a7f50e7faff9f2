#include "engine/script_executor.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/step_loop.h"
#include "engine/testing/fake_clock.h"
#include "grammar/rules.h"
#include "grammar/thinking.h"

namespace tempo9::engine {
namespace {

struct HeardScript {
  std::string text;
  std::vector<std::string> increments;  // of events that brought text
  std::vector<TokenId> tokens;
  std::optional<Event::Finish> finish;
  Usage usage;
  std::string format;
  double finished_ms = -1;
};

// With g++ 12, designated initialisers of so large a struct in an argument give a false "maybe
// uninitialized".
template <typename Set>
GenerateRequest with(Set set) {
  GenerateRequest request;
  set(request);
  return request;
}

struct ScriptFixture {
  explicit ScriptFixture(std::string_view script)
      : tokenizer(tokenizer::make_byte_tokenizer()),
        executor(*parse_script(script, "test"), tokenizer.get(), &clock),
        loop({.limits = {}, .cache = {.n_pages = 4096}, .max_length = 4096, .cache_secret = {1, 2}},
             tokenizer.get(), &executor, &copier) {}

  RequestId ask(const std::string& text, GenerateRequest request = {}) {
    const RequestId id = ++last_id;
    tokenizer->encode(text, {}, &request.prompt);
    request.match_text = text;
    loop.submit(id, std::move(request), 1, [this, id](Event&& event) {
      HeardScript& h = heard[id];
      EXPECT_FALSE(h.finish.has_value());
      h.text += event.text;
      if (!event.text.empty()) h.increments.push_back(event.text);
      for (const TokenInfo& info : event.tokens) h.tokens.push_back(info.id);
      h.usage = event.usage;
      h.format = event.format;
      if (event.finish) {
        h.finish = event.finish;
        h.finished_ms = static_cast<double>(clock.now().count()) / 1e6;
      }
    });
    return id;
  }
  void run() {
    for (int i = 0; i < 100000 && !loop.is_idle(); ++i) {
      if (const auto due = loop.step()) clock.set(*due);
      const Status status = loop.check_integrity();
      ASSERT_TRUE(status) << status.error().message;
    }
    ASSERT_TRUE(loop.is_idle());
  }
  const HeardScript& hear(const std::string& text, GenerateRequest request = {}) {
    const RequestId id = ask(text, std::move(request));
    run();
    return heard[id];
  }

  testing::FakeClock clock{true};
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  ScriptExecutor executor;
  NoCopier copier;
  StepLoop loop;
  RequestId last_id = 0;
  std::map<RequestId, HeardScript> heard;
};

TEST(ScriptExecutor, LinesAreUsedInOrderAndTheLastFittingOneAgain) {
  ScriptFixture f(R"({"text": "one"}
{"text": "two", "when": "x", "format": "hermes"}
{"text": "three", "when": "x"})");
  EXPECT_EQ(f.hear("x y").text, "one");
  EXPECT_EQ(f.hear("abc").text, "one");  // the only fitting line, again
  const HeardScript two = f.hear("has x");
  EXPECT_EQ(two.text, "two");
  EXPECT_EQ(two.format, "hermes");
  EXPECT_EQ(f.hear("x").text, "three");
  EXPECT_EQ(f.hear("x").text, "three");
  EXPECT_EQ(f.hear("x").format, "");
}

TEST(ScriptExecutor, LinesGoByArrivalNotByWhoIsFirstToSpeak) {
  ScriptFixture f(R"({"text": "one", "prefill_ms": 100}
{"text": "two"})");
  const RequestId a = f.ask("a"), b = f.ask("b");
  f.run();
  EXPECT_EQ(f.heard[a].text, "one");
  EXPECT_EQ(f.heard[b].text, "two");
  EXPECT_LT(f.heard[b].finished_ms, f.heard[a].finished_ms);
}

TEST(ScriptExecutor, WithoutAFittingLineItEchoesTheUser) {
  ScriptFixture f(R"({"text": "no", "when": "nothing has this"})");
  EXPECT_EQ(f.hear("hello \xF0\x9F\x98\x9A").text, "hello \xF0\x9F\x98\x9A");
  // A control token's spelling from outside stays text.
  const HeardScript h = f.hear("a<|im_end|>b");
  EXPECT_EQ(h.text, "a<|im_end|>b");
  EXPECT_EQ(f.hear("the tool's", with([](GenerateRequest& r) { r.echo_text = "the user's"; })).text,
            "the user's");
}

TEST(ScriptExecutor, TextIsOneTokenAnIncrementAndEndsWithTheEndToken) {
  ScriptFixture f("{\"text\": \"h\xC3\xA9\"}");
  const HeardScript h = f.hear("abc");
  EXPECT_EQ(h.increments, (std::vector<std::string>{"h", "\xC3\xA9"}));
  EXPECT_EQ(h.tokens, (std::vector<TokenId>{'h', 0xC3, 0xA9, f.tokenizer->eos()}));
  EXPECT_EQ(h.finish->reason, FinishReason::kStop);
  EXPECT_EQ(h.usage.prompt_tokens, 3u);
  EXPECT_EQ(h.usage.completion_tokens, 4u);
}

TEST(ScriptExecutor, ControlSpellingsInTextBecomeTokens) {
  ScriptFixture f(R"({"text": "<tool_call>x</tool_call><|im_end|>never"})");
  const HeardScript spelled = f.hear("a", with([](GenerateRequest& r) { r.spell_control = true; }));
  EXPECT_EQ(spelled.text, "<tool_call>x</tool_call>");
  EXPECT_EQ(spelled.tokens.size(), 4u);
  EXPECT_EQ(spelled.finish->reason, FinishReason::kStop);
  EXPECT_EQ(f.hear("a").text, "x");
}

TEST(ScriptExecutor, PiecesAreIncrementsOfWholeCharacters) {
  // B68: an emoji split over pieces; and a mark cut in the middle.
  ScriptFixture f(
      R"({"pieces": ["ab", {"b64": "8J8="}, {"b64": "p5E="}, "<tool_", "call>", {"b64": "/w=="}]})");
  const HeardScript h = f.hear("a", with([](GenerateRequest& r) { r.spell_control = true; }));
  EXPECT_EQ(h.increments, (std::vector<std::string>{"ab", "\xF0\x9F\xA7\x91", "<tool_", "call>",
                                                    "\xEF\xBF\xBD"}));
}

TEST(ScriptExecutor, FinishReasons) {
  ScriptFixture f(R"({"text": "a", "finish": "length"}
{"text": "b", "finish": "error"}
{"pieces": []})");
  EXPECT_EQ(f.hear("x").finish->reason, FinishReason::kLength);
  const HeardScript error = f.hear("x");
  EXPECT_EQ(error.text, "b");
  EXPECT_EQ(error.finish->reason, FinishReason::kError);
  EXPECT_NE(error.finish->error->message.find("line 2"), std::string::npos);
  const HeardScript empty = f.hear("x");
  EXPECT_EQ(empty.text, "");
  EXPECT_EQ(empty.finish->reason, FinishReason::kStop);
}

TEST(ScriptExecutor, LimitsAndStopsWorkAsWithAModel) {
  ScriptFixture f(R"({"text": "hello world"})");
  const HeardScript cut = f.hear("x", with([](GenerateRequest& r) { r.max_tokens = 4; }));
  EXPECT_EQ(cut.text, "hell");
  EXPECT_EQ(cut.finish->reason, FinishReason::kLength);
  EXPECT_EQ(cut.usage.completion_tokens, 4u);
  const HeardScript stopped = f.hear("x", with([](GenerateRequest& r) { r.stop = {"o w"}; }));
  EXPECT_EQ(stopped.text, "hell");
  EXPECT_EQ(*stopped.finish->stop_string, "o w");
  EXPECT_EQ(f.hear("x", with([](GenerateRequest& r) { r.max_tokens = 0; })).text, "");
  EXPECT_EQ(f.hear("x", with([](GenerateRequest& r) { r.stop_token_ids = {'w'}; })).text, "hello ");
  EXPECT_EQ(f.hear("x", with([](GenerateRequest& r) { r.ignore_eos = true; })).text, "hello world");
}

TEST(ScriptExecutor, RulesCutAScriptBeforeWhatTheyForbid) {
  auto tokenizer = tokenizer::make_byte_tokenizer();
  auto compiler = grammar::Compiler::make(grammar::vocab_of(*tokenizer));
  ASSERT_TRUE(compiler);
  const auto rules = grammar::grammar_rules(*compiler->ebnf(R"(root ::= "ab" "c"*)"));
  const auto hear = [&](std::string_view script, const std::string& format = "") {
    ScriptFixture f(script);
    return HeardScript(f.hear("x", with([&](GenerateRequest& r) {
                                r.rules = rules;
                                r.rules_format = format;
                              })));
  };
  const auto expect = [](const HeardScript& heard, std::string_view text, FinishReason reason) {
    EXPECT_EQ(heard.text, text);
    EXPECT_EQ(heard.finish->reason, reason);
  };
  expect(hear(R"({"text": "abcc"})"), "abcc", FinishReason::kStop);
  expect(hear(R"({"text": "abcd"})"), "abc", FinishReason::kStop);
  expect(hear(R"({"text": "axc"})"), "a", FinishReason::kLength);
  expect(hear(R"({"text": "a"})"), "a", FinishReason::kLength);
  expect(hear(R"({"pieces": ["a", "bc", "dd"]})"), "abc", FinishReason::kStop);
  expect(hear(R"({"text": "xyz", "format": "none"})", "hermes"), "xyz", FinishReason::kStop);
}

TEST(ScriptExecutor, ThinkingIsCutAndTheLineGoesOnBehindIt) {
  auto tokenizer = tokenizer::make_byte_tokenizer();
  const TokenId open = tokenizer->find("<think>"), close = tokenizer->find("</think>");
  const auto hear = [&](std::string_view script, uint32_t budget) {
    ScriptFixture f(script);
    return HeardScript(f.hear("x", with([&](GenerateRequest& r) {
                                r.spell_control = true;
                                r.rules = grammar::with_thinking_budget(
                                    nullptr, {.pairs = {{{open}, {close}}}}, budget,
                                    tokenizer.get());
                              })));
  };
  constexpr std::string_view kLine = R"({"text": "<think>abcdef</think>\nDone."})";
  EXPECT_EQ(hear(kLine, 3).text, "<think>abc</think>\nDone.");
  EXPECT_EQ(hear(kLine, 0).text, "<think></think>\nDone.");
  EXPECT_EQ(hear(kLine, 6).text, "<think>abcdef</think>\nDone.");
  EXPECT_EQ(hear(R"({"text": "Done."})", 0).text, "Done.");
  const HeardScript pieces = hear(R"({"pieces": ["<think>ab", "cd</th", "ink>Do", "ne."]})", 1);
  EXPECT_EQ(pieces.text, "<think>abcd</think>Done.");
  EXPECT_EQ(pieces.finish->reason, FinishReason::kStop);
  const HeardScript endless = hear(R"({"text": "<think>abcdef"})", 2);
  EXPECT_EQ(endless.text, "<think>ab</think>");
  EXPECT_EQ(endless.finish->reason, FinishReason::kStop);
}

TEST(ScriptExecutor, TimesAreKept) {
  ScriptFixture f(R"({"text": "abcd", "prefill_ms": 1000, "delay_ms": 50})");
  std::string prompt(1500, 'p');
  const HeardScript h = f.hear(prompt);
  EXPECT_NEAR(h.finished_ms, 1000 + 4 * 50, 0.01);
  const HeardScript again =
      f.hear(prompt);  // cached but for the last token: its one slice takes the prompt's time
  EXPECT_EQ(again.usage.cached_tokens, 1499u);
  EXPECT_NEAR(again.finished_ms, 2 * (1000 + 4 * 50), 0.01);
}

TEST(ScriptExecutor, RequestsWaitSideBySide) {
  ScriptFixture f(R"({"text": "abcd", "delay_ms": 100})");
  std::vector<RequestId> ids;
  for (int i = 0; i < 8; ++i) {
    ids.push_back(f.ask(std::to_string(i) + " request"));
  }
  f.run();
  for (const RequestId id : ids) {
    EXPECT_NEAR(f.heard[id].finished_ms, 400, 0.01);
  }
}

TEST(ScriptExecutor, CancelledWhileItWaits) {
  ScriptFixture f(R"({"text": "abcd", "delay_ms": 100})");
  const RequestId id = f.ask("x");
  f.clock.set(*f.loop.step());
  f.loop.step();
  f.loop.cancel(id);
  EXPECT_TRUE(f.loop.is_idle());
  EXPECT_EQ(f.heard[id].text, "a");
  EXPECT_EQ(f.heard[id].finish->reason, FinishReason::kCancelled);
}

TEST(ScriptExecutor, LogprobsOfWhatIsCertain) {
  ScriptFixture f(R"({"text": "a"})");
  std::vector<TokenInfo> prompt, tokens;
  f.loop.submit(100, with([](GenerateRequest& r) {
                  r.prompt = {'x', 'y'};
                  r.n_logprobs = 3;
                  r.prompt_logprobs = true;
                }),
                1, [&](Event&& event) {
                  if (!event.prompt_tokens.empty()) prompt = event.prompt_tokens;
                  tokens.insert(tokens.end(), event.tokens.begin(), event.tokens.end());
                });
  f.run();
  ASSERT_EQ(prompt.size(), 2u);
  EXPECT_FALSE(prompt[0].logprob.has_value());
  EXPECT_EQ(prompt[1].id, 'y');
  EXPECT_EQ(*prompt[1].logprob, 0.0f);
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens[0].top.size(), 1u);
}

}  // namespace
}  // namespace tempo9::engine
