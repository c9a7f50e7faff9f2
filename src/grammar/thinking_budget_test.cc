#include <gtest/gtest.h>

#include "grammar/grammar.h"
#include "grammar/rules.h"
#include "grammar/testing/marked_tokenizer.h"
#include "grammar/thinking.h"

namespace tempo9::grammar {
namespace {

class ThinkingBudgetTest : public testing::Test {
 protected:
  std::vector<TokenId> ids(std::string_view text) const { return encode(*tokenizer_, text); }
  std::unique_ptr<Constraint> start(uint32_t n_tokens, ThinkingMarks marks,
                                    std::shared_ptr<const Rules> rules = nullptr) {
    return std::move(
        *with_thinking_budget(std::move(rules), std::move(marks), n_tokens, tokenizer_.get())
             ->start());
  }
  ThinkingMarks think(bool starts_inside) {
    return {.pairs = {{ids("<think>"), ids("</think>")}}, .starts_inside = starts_inside};
  }
  // What a model says that would say text, token by token, and writes what it must where it must.
  std::string say(Constraint& constraint, std::string_view text) {
    std::string said;
    std::vector<uint32_t> mask(mask_words(static_cast<size_t>(tokenizer_->size())));
    for (TokenId id : ids(text)) {
      for (bool forced = true; forced;) {
        forced = false;
        std::ranges::fill(mask, ~0U);
        if (*constraint.fill_mask(mask)) {
          std::vector<TokenId> allowed;
          for (TokenId t = 0; t < tokenizer_->size(); ++t) {
            if ((mask[static_cast<size_t>(t) / 32] >> (t % 32) & 1) != 0) allowed.push_back(t);
          }
          forced = allowed.size() == 1 && allowed[0] != id;
          if (forced) {
            EXPECT_FALSE(*constraint.accept(id));
            EXPECT_TRUE(*constraint.accept(allowed[0]));
            said += tokenizer_->token_bytes(allowed[0], true);
          }
        }
      }
      if (!*constraint.accept(id)) return said + "|refused";
      said += tokenizer_->token_bytes(id, true);
    }
    return said;
  }

  std::unique_ptr<tokenizer::Tokenizer> tokenizer_ = marked_tokenizer(
      {"<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>", "<|start|>"});
  Result<Compiler> compiler_ = Compiler::make(vocab_of(*tokenizer_));
};

TEST_F(ThinkingBudgetTest, TheEndIsForcedAndTheReplyGoesOn) {
  EXPECT_EQ(say(*start(3, think(false)), "<think>abcdef"), "<think>abc</think>def");
  EXPECT_EQ(say(*start(3, think(true)), "abcdef"), "abc</think>def");
  EXPECT_EQ(say(*start(0, think(true)), "ab"), "</think>ab");
  EXPECT_EQ(say(*start(0, think(false)), "<think>ab"), "<think></think>ab");
}

TEST_F(ThinkingBudgetTest, WhatStaysWithinItIsLeftAlone) {
  for (const std::string_view text :
       {"<think>abc</think>def", "no thinking <think> here", "</think>", "", "\n <think>ab"}) {
    EXPECT_EQ(say(*start(3, think(false)), text), text);
  }
  EXPECT_EQ(say(*start(2, think(true)), "ab</think>c"), "ab</think>c");
  EXPECT_EQ(say(*start(2, think(true)), "a</think>bcdef"), "a</think>bcdef");
}

// The budget is the reply's, not a block's; a mark of several tokens is not begun twice.
TEST_F(ThinkingBudgetTest, HarmonyMayThinkInSeveralMessages) {
  const ThinkingMarks harmony = {
      .pairs = {{ids("<|channel|>analysis<|message|>"), ids("<|end|><|start|>assistant")}},
      .anywhere = true};
  EXPECT_EQ(say(*start(4, harmony),
                "<|channel|>analysis<|message|>ab<|end|><|start|>assistant<|channel|>x"),
            "<|channel|>analysis<|message|>ab<|end|><|start|>assistant<|channel|>x");
  EXPECT_EQ(say(*start(2, harmony), "<|channel|>analysis<|message|>abc"),
            "<|channel|>analysis<|message|>ab<|end|><|start|>assistantc");
  auto constraint = start(3, harmony);
  say(*constraint, "<|channel|>analysis<|message|>ab<|end|>");  // the third is the mark's first
  EXPECT_EQ(constraint->forced_text(), "<|start|>assistant");
  EXPECT_EQ(say(*constraint, "<|channel|>x"), "<|start|>assistant<|channel|>x");
  // Thinking that begins again behind other text.
  EXPECT_EQ(say(*constraint, "<|end|><|start|>assistant<|channel|>analysis<|message|>x"),
            "<|end|><|start|>assistant<|channel|>analysis<|message|><|end|><|start|>assistantx");
}

TEST_F(ThinkingBudgetTest, AFormBehindItIsKept) {
  auto rules = after_thinking(grammar_rules(*compiler_->ebnf(R"(root ::= [x]{5})")), think(true),
                              {}, tokenizer_.get());
  auto constraint = start(2, think(true), rules);
  EXPECT_EQ(say(*constraint, "abxxxxx"), "ab</think>xxxxx");
  EXPECT_TRUE(constraint->can_end());
}

TEST_F(ThinkingBudgetTest, AScriptIsTold) {
  auto constraint = start(2, think(false));
  EXPECT_EQ(constraint->forced_text(), "");
  for (const char* text : {"<thi", "nk>", "a", "b"}) EXPECT_TRUE(*constraint->accept_text(text));
  EXPECT_EQ(constraint->forced_text(), "</think>");
  EXPECT_TRUE(*constraint->accept_text("</think>"));
  EXPECT_EQ(constraint->forced_text(), "");
}

}  // namespace
}  // namespace tempo9::grammar
