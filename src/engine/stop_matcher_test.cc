#include "engine/stop_matcher.h"

#include <gtest/gtest.h>

#include <random>

namespace tempo9::engine {
namespace {

struct Seen {
  std::vector<std::string> parts;
  std::optional<std::string> matched;
  std::string text() const {
    std::string all;
    for (const std::string& part : parts) all += part;
    return all;
  }
};

Seen see(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopMatcher matcher(stops);
  Seen seen;
  for (const std::string& piece : pieces) {
    seen.parts.emplace_back();
    matcher.push(piece, &seen.parts.back());
  }
  seen.parts.emplace_back();
  if (!matcher.matched()) {
    matcher.flush(&seen.parts.back());
  }
  seen.matched = matcher.matched();
  return seen;
}

TEST(StopMatcher, AcrossPieces) {
  const Seen seen = see({"<END>"}, {"a<E", "ND>b"});
  EXPECT_EQ(seen.parts[0], "a");
  EXPECT_EQ(seen.text(), "a");
  EXPECT_EQ(seen.matched, "<END>");
}

TEST(StopMatcher, ABorderInsideTheStop) {
  EXPECT_EQ(see({"aab"}, {"a", "a", "a", "b"}).text(), "a");
  EXPECT_EQ(see({"aab"}, {"aaab"}).text(), "a");
  EXPECT_EQ(see({"abab"}, {"aba", "ab", "c"}).text(), "abaabc");
  EXPECT_EQ(see({"abab"}, {"abaabab"}).text(), "aba");
}

TEST(StopMatcher, WhatWasHeldBackIsShownInTheEnd) {
  const Seen seen = see({"<END>"}, {"x<EN"});
  EXPECT_EQ(seen.parts[0], "x");
  EXPECT_EQ(seen.text(), "x<EN");
  EXPECT_FALSE(seen.matched);
}

TEST(StopMatcher, TheFirstToBeCompleteCountsAndOfThoseTheLongest) {
  EXPECT_EQ(see({"cde", "d"}, {"abcdef"}).matched, "d");
  EXPECT_EQ(see({"d", "cd"}, {"abcdef"}).matched, "cd");
  EXPECT_EQ(see({"d", "cd"}, {"abcdef"}).text(), "ab");
  EXPECT_EQ(see({"abc", "bc", ""}, {"ab", "c"}).text(), "");
}

TEST(StopMatcher, NoStopsHoldNothingBack) {
  EXPECT_EQ(see({}, {"a", "b"}).parts[1], "b");
  EXPECT_EQ(see({""}, {"a", "b"}).parts[1], "b");
}

// The naive twin looks at the whole text after every character.
TEST(StopMatcher, RandomCutsEqualTheWholeText) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto word = [&](size_t max) {
    std::string text;
    for (size_t n = 1 + random() % max; n > 0; --n) text += static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int i = 0; i < 5000; ++i) {
    const std::vector<std::string> stops = {word(5), word(7), word(9)};
    const std::string text = word(40);
    std::string expected = text;
    std::optional<std::string> matched;
    for (size_t end = 1; end <= text.size() && !matched; ++end) {
      for (const std::string& stop : stops) {
        if (std::string_view(text).substr(0, end).ends_with(stop) &&
            (!matched || stop.size() > matched->size())) {
          matched = stop;
          expected = text.substr(0, end - stop.size());
        }
      }
    }
    std::vector<std::string> pieces;
    for (size_t begin = 0; begin < text.size(); begin += pieces.back().size()) {
      pieces.push_back(text.substr(begin, 1 + random() % 5));
    }
    const Seen seen = see(stops, pieces);
    ASSERT_EQ(seen.text(), expected) << text;
    ASSERT_EQ(seen.matched, matched);
    if (!matched) continue;
    std::string shown;  // at no moment more than the final text
    for (const std::string& part : seen.parts) {
      shown += part;
      ASSERT_TRUE(expected.starts_with(shown));
    }
  }
}

}  // namespace
}  // namespace tempo9::engine
