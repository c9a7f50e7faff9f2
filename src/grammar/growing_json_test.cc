#include "grammar/growing_json.h"

#include <gtest/gtest.h>

#include <random>

#include "grammar/validate.h"

namespace tempo9::grammar {
namespace {

constexpr std::string_view kTexts[] = {
    R"({"a": [1, -2.5e3, {"b": null, "c": "x\"y\\"}], "d": "é\n", "e": [[], {}], "f": true} tail)",
    "12 ",
    "\"\\ud83d\\ude00\"x",
    "[\"a\", false,",
    "{\"k\": {\"k\": 1",
    "{\"k\":1,\"k\"",
    "]",
    "{1",
    "[\"\\ud83d\", ",
    "nulll"};

// However a text is cut, the same is known of it after each byte as when it is read at once.
TEST(GrowingJson, EveryCutIsTheSame) {
  std::mt19937 random(7);
  for (const std::string_view text : kTexts) {
    for (int round = 0; round < 20; ++round) {
      GrowingJson grown;
      bool good = true;
      for (size_t at = 0; at < text.size();) {
        const size_t n = std::min<size_t>(text.size() - at, 1 + random() % 7);
        good = grown.add(text.substr(at, n));
        at += n;
        const auto whole = parse_partial(text.substr(0, at), false);
        ASSERT_EQ(good, whole.has_value()) << text.substr(0, at);
        if (!good) break;
        EXPECT_EQ(grown.has_value(), whole->has_value);
        EXPECT_EQ(grown.n_open(), whole->n_open);
        EXPECT_EQ(grown.repeats_key(), whole->repeated_key);
        EXPECT_EQ(grown.n_read(), whole->end);
        if (whole->has_value) {
          EXPECT_EQ(grown.value(), whole->value) << text.substr(0, at);
        }
      }
    }
  }
}

TEST(GrowingJson, TheValueIsTheTexts) {
  GrowingJson grown;
  const std::string_view text = kTexts[0];
  ASSERT_TRUE(grown.add(text));
  EXPECT_TRUE(grown.is_whole());
  EXPECT_EQ(grown.n_read(), text.size() - std::string_view(" tail").size());
  EXPECT_EQ(grown.value(), Json::parse(text.substr(0, grown.n_read())));
}

TEST(GrowingJson, OnlyWhatIsFinishedIsAChange) {
  GrowingJson grown;
  grown.add("{\"a\": \"");
  const size_t n = grown.n_changes();
  grown.add("long text, {[1, 2]} \\\" ");
  EXPECT_EQ(grown.n_changes(), n);
  grown.add("\"");
  EXPECT_EQ(grown.n_changes(), n + 1);
  EXPECT_FALSE(grown.is_whole());
  grown.add("}");
  EXPECT_TRUE(grown.is_whole());
}

TEST(GrowingJson, ANumberEndsWithTheText) {
  GrowingJson grown;
  EXPECT_TRUE(grown.add("12"));
  EXPECT_FALSE(grown.has_value());
  EXPECT_TRUE(grown.finish());
  EXPECT_EQ(grown.value(), 12);
  GrowingJson bad;
  EXPECT_FALSE(bad.add("-") && bad.finish());
}

}  // namespace
}  // namespace tempo9::grammar
