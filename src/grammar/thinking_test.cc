#include "grammar/thinking.h"

#include <gtest/gtest.h>

#include "grammar/grammar.h"
#include "grammar/rules.h"
#include "grammar/testing/marked_tokenizer.h"

namespace tempo9::grammar {
namespace {

class ThinkingTest : public testing::Test {
 protected:
  std::vector<TokenId> ids(std::string_view text) const { return encode(*tokenizer_, text); }
  ThinkingMarks marks(std::string_view open, std::string_view close) const {
    return {.pairs = {{ids(open), ids(close)}}};
  }
  std::shared_ptr<const Rules> braces() {
    return grammar_rules(*compiler_->ebnf(R"(root ::= "{}")"));
  }
  std::unique_ptr<Constraint> start(const ThinkingMarks& marks, std::string_view lead = "") {
    return std::move(*after_thinking(braces(), marks, ids(lead), tokenizer_.get())->start());
  }
  // How many tokens are taken, each of which the mask must allow too.
  size_t feed(Constraint& constraint, std::string_view text) {
    const std::vector<TokenId> tokens = ids(text);
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (!*constraint.accept(tokens[i])) return i;
    }
    return tokens.size();
  }
  bool allowed(Constraint& constraint, std::string_view token) {
    std::vector<uint32_t> mask(mask_words(static_cast<size_t>(tokenizer_->size())), 0);
    if (!*constraint.fill_mask(mask)) return true;
    const auto id = static_cast<uint32_t>(ids(token).at(0));
    return (mask[id / 32] >> (id % 32) & 1) != 0;
  }

  std::unique_ptr<tokenizer::Tokenizer> tokenizer_ =
      marked_tokenizer({"<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>",
                        "<|start|>", "[THINK]", "[/THINK]"});
  Result<Compiler> compiler_ = Compiler::make(vocab_of(*tokenizer_));
  TokenId end_ = tokenizer_->eos();
};

TEST_F(ThinkingTest, RunsFreeFirst) {
  auto constraint = start(marks("<think>", "</think>"));
  EXPECT_TRUE(allowed(*constraint, "<think>"));
  EXPECT_TRUE(allowed(*constraint, "{"));
  EXPECT_FALSE(allowed(*constraint, "a"));
  ASSERT_EQ(feed(*constraint, "<think>"), 1u);
  EXPECT_TRUE(allowed(*constraint, "a"));
  EXPECT_EQ(feed(*constraint, "any [THINK] thought"), 13u);
  EXPECT_FALSE(*constraint->accept(end_));  // thinking alone is no reply
  EXPECT_FALSE(constraint->can_end());
  EXPECT_EQ(feed(*constraint, "</think>\n\n"), 3u);
  EXPECT_FALSE(allowed(*constraint, "\n"));
  EXPECT_FALSE(allowed(*constraint, "<think>"));
  EXPECT_EQ(feed(*constraint, "{}"), 2u);
  EXPECT_FALSE(allowed(*constraint, "<think>"));
  EXPECT_TRUE(*constraint->accept(end_));
  EXPECT_EQ(feed(*start(marks("<think>", "</think>")), "{}"), 2u);
  EXPECT_EQ(feed(*start(marks("<think>", "</think>")), "a"), 0u);
}

// A mark that is a token is not its letters; one that is none is.
TEST_F(ThinkingTest, LettersAreNoToken) {
  auto constraint = start({.pairs = marks("<think>", "</think>").pairs, .starts_inside = true});
  for (const char c : std::string_view("</think>{}"))
    EXPECT_TRUE(*constraint->accept(static_cast<unsigned char>(c)));
  EXPECT_FALSE(constraint->can_end());
  EXPECT_EQ(feed(*constraint, "</think>{}"), 3u);
  EXPECT_TRUE(constraint->can_end());

  auto spelled = start(marks("<thought>", "</thought>"));
  EXPECT_TRUE(allowed(*spelled, "<"));
  EXPECT_EQ(feed(*spelled, "<thought>{ hm </thought>\n{}"), 27u);
  EXPECT_TRUE(spelled->can_end());
  EXPECT_EQ(feed(*start(marks("<thought>", "</thought>")), "<thing"), 3u);
}

TEST_F(ThinkingTest, EveryPairOpensAndItsOwnMarkCloses) {
  const ThinkingMarks two = {
      .pairs = {{ids("[THINK]"), ids("[/THINK]")}, {ids("<think>"), ids("</think>")}}};
  EXPECT_EQ(feed(*start(two), "<think>x[/THINK]{}</think>{}"), 8u);
  auto constraint = start(two);
  EXPECT_EQ(feed(*constraint, "[THINK]x[/THINK]{}"), 5u);
  EXPECT_TRUE(constraint->can_end());
}

// A form has a header of its own, which begins as thinking does.
TEST_F(ThinkingTest, HarmonyThinksAndAnswersInChannels) {
  ThinkingMarks harmony = marks("<|channel|>analysis<|message|>", "<|end|><|start|>assistant");
  harmony.anywhere = true;
  constexpr std::string_view kFinal = "<|channel|>final<|message|>";
  auto direct = start(harmony, kFinal);
  EXPECT_TRUE(allowed(*direct, "<|channel|>"));
  EXPECT_FALSE(allowed(*direct, "{"));
  EXPECT_EQ(feed(*direct, "<|channel|>final<|message|>{}"), 9u);
  EXPECT_TRUE(direct->can_end());

  auto constraint = start(harmony, kFinal);
  ASSERT_EQ(feed(*constraint, "<|channel|>"), 1u);
  EXPECT_TRUE(allowed(*constraint, "a"));
  EXPECT_TRUE(allowed(*constraint, "f"));
  EXPECT_FALSE(allowed(*constraint, "c"));
  EXPECT_EQ(feed(*constraint, "analysis<|message|>so {} it is<|end|><|start|>assistant"), 31u);
  EXPECT_EQ(feed(*constraint, "<|channel|>analysis<|message|>more<|end|><|start|>assistant"), 25u);
  EXPECT_FALSE(allowed(*constraint, "{"));
  EXPECT_EQ(feed(*constraint, "<|channel|>final<|message|>{}"), 9u);
  EXPECT_TRUE(constraint->can_end());
}

TEST_F(ThinkingTest, ScriptsAreReadByTheirLetters) {
  for (const std::string_view text :
       {"<think>a {b} c</think>\n\n{}", "{}", "\n<think></think>{}"}) {
    auto constraint = start(marks("<think>", "</think>"));
    for (const char c : text) ASSERT_TRUE(*constraint->accept_text(std::string(1, c))) << text;
    EXPECT_TRUE(constraint->can_end()) << text;
    auto whole = start(marks("<think>", "</think>"));
    EXPECT_TRUE(*whole->accept_text(text)) << text;
    EXPECT_TRUE(whole->can_end());
  }
  EXPECT_FALSE(*start(marks("<think>", "</think>"))->accept_text("<thx"));
  auto inside = start({.pairs = marks("<think>", "</think>").pairs, .starts_inside = true});
  ASSERT_TRUE(*inside->accept_text("so</thi"));
  EXPECT_FALSE(inside->can_end());
  ASSERT_TRUE(*inside->accept_text("nk>{}"));
  EXPECT_TRUE(inside->can_end());
}

}  // namespace
}  // namespace tempo9::grammar
