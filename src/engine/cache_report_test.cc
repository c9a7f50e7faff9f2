#include "engine/cache_report.h"

#include <gtest/gtest.h>

namespace tempo9::engine {
namespace {

std::string cause(const char* before, const char* was, const char* now) {
  return cause_of({before, was, now, ""});
}

TEST(CacheReport, CausesAreNamedByWhatChanged) {
  EXPECT_EQ(cause("Now: 10:00:0", "1 in Lund\n", "2 in Lund\n"), "a time stamp that changes");
  EXPECT_EQ(cause("Today's date: 2026-05-0", "4.", "5."), "a date that changes");
  EXPECT_EQ(cause("Date: ", "Mon, 4 May", "Tue, 5 May"), "a date that changes");
  EXPECT_EQ(cause("x-anthropic-billing-header: cc_version=9.9.9; cch=ab", "12c;", "99f;"),
            "a billing stamp that changes");
  EXPECT_EQ(cause("session ", "3f9a2b77c1 ends", "81cc02e9aa ends"), "an id or nonce that changes");
  EXPECT_EQ(cause("turn ", "17 of", "18 of"), "a number that changes");
  EXPECT_EQ(cause("assistant\n", "<think>\nhm</think>Hello", "Hello"),
            "thinking that the conversation no longer holds");
  EXPECT_EQ(
      cause("{", "\"city\": {\"type\": 1}, \"unit\": 2}", "\"unit\": 2, \"city\": {\"type\": 1}}"),
      "the same keys in another order");
  EXPECT_EQ(cause("a ", "cat sat", "dog lay"), "other text");
}

struct ReporterFixture {
  std::vector<tokenizer::TokenId> tokens(const std::string& text) {
    std::vector<tokenizer::TokenId> out;
    tokenizer->encode(text, {.parse_control = true}, &out);
    return out;
  }
  CacheReport report(const std::string& text, uint32_t n_cached) {
    return reporter.report(tokens(text), {.ram = n_cached});
  }
  std::unique_ptr<tokenizer::Tokenizer> tokenizer = tokenizer::make_byte_tokenizer();
  CacheReporter reporter{tokenizer.get()};
};

// B51: a clock in the system text.
TEST(CacheReport, TheFirstDifferenceWithItsPlace) {
  ReporterFixture f;
  const std::string rest =
      "\nBe helpful." + std::string(200, '.') + "<|im_end|>\n<|im_start|>user\nhi";
  f.reporter.remember(f.tokens("<|im_start|>system\nNow: 10:00:01" + rest));
  f.reporter.remember(f.tokens("something else that was asked"));
  const CacheReport report = f.report("<|im_start|>system\nNow: 10:00:02" + rest, 20);
  EXPECT_EQ(report.alike_tokens, 20u);
  ASSERT_TRUE(report.difference);
  EXPECT_EQ(report.difference->before, "<|im_start|>system\nNow: 10:00:0");
  EXPECT_TRUE(report.difference->was.starts_with("1\nBe helpful"));
  EXPECT_TRUE(report.difference->now.starts_with("2\nBe helpful"));
  EXPECT_EQ(report.difference->place, "system");
  EXPECT_EQ(report.cause, "a time stamp that changes in system text");
}

TEST(CacheReport, WhatIsNoLossHasNoCause) {
  ReporterFixture f;
  const std::string first(100, 'a');
  f.reporter.remember(f.tokens(first));
  const CacheReport next = f.report(first + "and more", 100);
  EXPECT_FALSE(next.difference);
  EXPECT_EQ(next.cause, "");
  EXPECT_EQ(f.report(first + "and more", 0).cause, "its pages were given to others meanwhile");
  CacheReporter recurrent(f.tokenizer.get(), /*has_states=*/true);
  recurrent.remember(f.tokens(first));
  EXPECT_TRUE(recurrent.report(f.tokens(first + "and more"), {.ram = 32})
                  .cause.starts_with("recurrent layers go on from a kept state only"));
  EXPECT_EQ(f.report(std::string(100, 'z'), 0).cause, "nothing alike was asked lately");
}

}  // namespace
}  // namespace tempo9::engine
