#include "tokenizer/pre_match.h"

#include <gtest/gtest.h>

namespace tempo9::tokenizer {
namespace {

// How many bytes a matcher takes from the front of text.
template <typename Match>
size_t taken(std::string_view text, Match match) {
  return static_cast<size_t>(match(text.data(), text.data() + text.size()) - text.data());
}

TEST(Contraction, WithAndWithoutFolding) {
  const auto folded = [](const char* p, const char* end) { return contraction(p, end, true); };
  const auto exact = [](const char* p, const char* end) { return contraction(p, end, false); };
  for (const std::string_view text : {"'s", "'t", "'m", "'d"})
    EXPECT_EQ(taken(text, exact), 2u) << text;
  for (const std::string_view text : {"'re", "'ve", "'ll"})
    EXPECT_EQ(taken(text, exact), 3u) << text;
  EXPECT_EQ(taken("'S", folded), 2u);
  EXPECT_EQ(taken("'S", exact), 0u);
  EXPECT_EQ(taken("'Ll", folded), 3u);
  EXPECT_EQ(taken("'ſ", folded), 3u);
  EXPECT_EQ(taken("'ſ", exact), 0u);
  for (const std::string_view text : {"'", "'r", "'x", "s", "'l", "''s"})
    EXPECT_EQ(taken(text, folded), 0u) << text;
}

TEST(WhiteSpace, GivesBackTheLastOneBeforeText) {
  const auto plain = [](const char* p, const char* end) { return white_space(p, end, false); };
  const auto lines = [](const char* p, const char* end) { return white_space(p, end, true); };
  EXPECT_EQ(taken("   ", plain), 3u);
  EXPECT_EQ(taken("   x", plain), 2u);
  EXPECT_EQ(taken(" x", plain), 1u);
  EXPECT_EQ(taken("x", plain), 0u);
  EXPECT_EQ(taken("\u3000\u3000x", plain), 3u);
  EXPECT_EQ(taken(" \n  x", lines), 2u);
  EXPECT_EQ(taken(" \n \r\n x", lines), 5u);
  EXPECT_EQ(taken(" \n  x", plain), 3u);
}

TEST(Digits, AtMost) {
  const auto three = [](const char* p, const char* end) { return digits(3, p, end); };
  EXPECT_EQ(taken("12345", three), 3u);
  EXPECT_EQ(taken("1a", three), 1u);
  EXPECT_EQ(taken("½", three), 2u);
  EXPECT_EQ(taken("a1", three), 0u);
}

TEST(Isolate, GapsArePieces) {
  const std::string_view text = "ab1 c22\xFF";
  std::vector<size_t> ends;
  const auto number = [](const char* p, const char* end) { return digits(1, p, end); };
  isolate(text.data(), text.data() + text.size(), number, record(text, &ends));
  EXPECT_EQ(ends, (std::vector<size_t>{2, 3, 5, 6, 7, 8}));
}

}  // namespace
}  // namespace tempo9::tokenizer
