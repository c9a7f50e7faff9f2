#include "chat/parsers/json_scanner.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace tempo9::chat {
namespace {

// Where the value ends, or -1 if it never does, -2 for an error.
int end_of(std::string_view text) {
  JsonScanner scanner;
  for (size_t i = 0; i < text.size(); ++i) {
    JsonScanner::Step step = scanner.feed(text[i]);
    if (step == JsonScanner::Step::kEnd) return static_cast<int>(i + 1);
    if (step == JsonScanner::Step::kError) return -2;
  }
  return -1;
}

TEST(JsonScanner, FindsTheEnd) {
  EXPECT_EQ(end_of("{}x"), 2);
  EXPECT_EQ(end_of(R"({"a": [1, -2.5e3, true, null, "}\"]"]} tail)"), 38);
  EXPECT_EQ(end_of("[[], {}]"), 8);
  EXPECT_EQ(end_of("{\"a\": 1"), -1);
  for (const char* bad :
       {"1", "\"a\"", "{a:1}", "{'a':1}", "{\"a\" 1}", "{\"a\":}", "[1,]", "{\"a\":1,}", "[}",
        "[tru]", "[01]", "[1 2]", "[\"\\x\"]", "[\"\\u12g4\"]"}) {
    EXPECT_EQ(end_of(bad), -2) << bad;
  }
}

// Whatever nlohmann takes ends at its last byte; whatever it refuses is an error or does not end
// there. (Numbers beyond a double, which it refuses too, are in exact_json_test.cc.)
TEST(JsonScanner, AgreesWithAParser) {
  std::mt19937 random(3);
  const char* parts[] = {"{",     "}",         "[", "]",           ",",       ":",
                         "\"a\"", "\"\\\"}\"", "1", "-0.5",        "1e-5",    "true",
                         "null",  "x",         " ", "\"\\u00e9\"", "{\"k\":", "[1,"};
  int valid = 0;
  for (int round = 0; round < 200000; ++round) {
    std::string text = random() % 2 == 0 ? "{" : "[";
    for (auto n = random() % 7; n > 0; --n) text += parts[random() % std::size(parts)];
    text += random() % 2 == 0 ? "}" : "]";
    bool accepted = nlohmann::json::accept(text);
    valid += accepted ? 1 : 0;
    ASSERT_EQ(end_of(text) == static_cast<int>(text.size()), accepted) << text;
  }
  EXPECT_GT(valid, 1000);
}

TEST(JsonScanner, NamesKeysAndStrings) {
  JsonScanner scanner;
  std::string seen;
  for (char c : std::string(R"({"k": "v", "n": [1, "w"]})")) {
    JsonScanner::Step step = scanner.feed(c);
    if (step == JsonScanner::Step::kKey)
      seen += "K" + scanner.string() + std::to_string(scanner.depth());
    if (step == JsonScanner::Step::kString)
      seen += "S" + scanner.string() + std::to_string(scanner.depth());
  }
  EXPECT_EQ(seen, "Kk1Sv1Kn1Sw2");
}

TEST(JsonScanner, DepthIsBounded) { EXPECT_EQ(end_of(std::string(100000, '[')), -2); }

TEST(MendStrings, HalvesOfSurrogatePairs) {
  EXPECT_EQ(mend_strings(
                R"(["\ud800","\uDC00x","\uD83D\ude00","\ud83d\ud83d\ude00","\\ud800","\u12d8"])"),
            R"(["\ufffd","\ufffdx","\uD83D\ude00","\ufffd\ud83d\ude00","\\ud800","\u12d8"])");
}

TEST(MendStrings, RawControlsOnlyInsideStrings) {
  EXPECT_EQ(mend_strings("{\n\"a\":\t\"x\ny\\n\x01\"}"), "{\n\"a\":\t\"x\\ny\\n\\u0001\"}");
}

}  // namespace
}  // namespace tempo9::chat
