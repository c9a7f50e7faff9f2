#include <gtest/gtest.h>

#include "grammar/rules.h"
#include "grammar/testing/byte_vocab.h"

namespace tempo9::grammar {
namespace {

TEST(EitherRules, TheReplyDecidesWhichOneItKeeps) {
  auto compiler = Compiler::make(byte_vocab());
  const auto rules = either(grammar_rules(*compiler->ebnf(R"(root ::= "ax" | "ay")")),
                            grammar_rules(*compiler->ebnf(R"(root ::= "ax" "z"* | "b")")));
  const auto start = [&] { return std::move(*rules->start()); };
  const auto allowed = [](Constraint& constraint) {
    std::vector<uint32_t> mask(mask_words(257));
    EXPECT_TRUE(*constraint.fill_mask(mask));
    std::string out;
    for (int c = 'a'; c <= 'z'; ++c) {
      if ((mask[static_cast<size_t>(c) / 32] >> (c % 32) & 1) != 0) out += static_cast<char>(c);
    }
    return out;
  };
  auto both = start();
  EXPECT_EQ(allowed(*both), "ab");
  ASSERT_TRUE(*both->accept('a'));
  EXPECT_EQ(allowed(*both), "xy");
  ASSERT_TRUE(*both->accept('x'));
  EXPECT_TRUE(both->can_end());
  EXPECT_EQ(allowed(*both), "z");
  ASSERT_TRUE(*both->accept('z'));
  EXPECT_EQ(allowed(*both), "z");
  auto first = start();
  EXPECT_TRUE(*first->accept_text("ay"));
  EXPECT_FALSE(*first->accept('z'));
  EXPECT_TRUE(*first->accept(256));
  EXPECT_TRUE(first->ended());
  EXPECT_FALSE(*start()->accept('c'));
}

}  // namespace
}  // namespace tempo9::grammar
