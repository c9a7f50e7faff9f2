#include "chat/parsers/prose.h"

#include <gtest/gtest.h>

namespace tempo9::chat {
namespace {

// Passes all of text, then asks.
Prose behind(std::string_view text) {
  Prose prose;
  while (!text.empty()) text.remove_prefix(prose.pass(text, true));
  return prose;
}

TEST(Prose, FencesAndBackticksQuote) {
  EXPECT_FALSE(behind("Text\n").quotes());
  EXPECT_TRUE(behind("Write `").quotes());
  EXPECT_FALSE(behind("Write `x` and ").quotes());
  EXPECT_FALSE(behind("```json\n").quotes());
  EXPECT_FALSE(behind("```\n").quotes());
  EXPECT_TRUE(behind("```python\n").quotes());
  EXPECT_TRUE(behind("````json\n").quotes());
  EXPECT_TRUE(behind("````\n```json\n").quotes());
  EXPECT_TRUE(behind("````\n```json\n```\n").quotes());
  EXPECT_FALSE(behind("```python\nx\n```\n").quotes());
  EXPECT_TRUE(behind("~~~python\n```\n").quotes());
}

TEST(Prose, AQuoteEnds) {
  Prose prose = behind("`");
  EXPECT_TRUE(prose.quotes());
  for (const char c : std::string_view("<x>")) prose.pass({&c, 1}, false);
  EXPECT_TRUE(prose.quotes());
  prose.pass("`", false);
  prose.pass(" ", false);
  EXPECT_FALSE(prose.quotes());
}

TEST(Prose, AFencesMarksAreCountedWhole) {
  Prose prose;
  EXPECT_EQ(prose.pass("``", false), 0u);
  EXPECT_EQ(prose.pass("```", false), 0u);
  EXPECT_EQ(prose.pass("```j", false), 3u);
  EXPECT_TRUE(prose.in_fence());
}

}  // namespace
}  // namespace tempo9::chat
