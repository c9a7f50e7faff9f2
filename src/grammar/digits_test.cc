#include "grammar/digits.h"

#include <gtest/gtest.h>

#include "grammar/testing/byte_vocab.h"

namespace tempo9::grammar {
namespace {

// Every integer of a window, against the comparison itself.
TEST(Digits, RangesHoldExactlyTheirIntegers) {
  auto compiler = Compiler::make(byte_vocab());
  ASSERT_TRUE(compiler);
  const std::pair<std::optional<int64_t>, std::optional<int64_t>> ranges[] = {{0, 0},
                                                                              {0, 9},
                                                                              {3, 7},
                                                                              {0, 100},
                                                                              {7, 130},
                                                                              {99, 1001},
                                                                              {-5, 5},
                                                                              {-130, -7},
                                                                              {-1, 0},
                                                                              {5, std::nullopt},
                                                                              {std::nullopt, -12},
                                                                              {std::nullopt, 3},
                                                                              {-8, std::nullopt},
                                                                              {10, 10},
                                                                              {199, 305}};
  for (const auto& [low, high] : ranges) {
    const auto grammar = compiler->ebnf("root ::= " + integers_ebnf(low, high));
    ASSERT_TRUE(grammar) << grammar.error().message;
    for (int64_t v = -140; v <= 1010; ++v) {
      const bool inside = (!low || v >= *low) && (!high || v <= *high);
      ASSERT_EQ(accepts(*grammar, std::to_string(v)), inside) << integers_ebnf(low, high) << v;
    }
    EXPECT_FALSE(accepts(*grammar, "007"));
    EXPECT_FALSE(accepts(*grammar, ""));
  }
}

}  // namespace
}  // namespace tempo9::grammar
