#include "engine/utf8_assembler.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tempo9::engine {
namespace {

std::string whole(std::string_view bytes) {
  std::string out;
  Utf8Assembler assembler;
  assembler.push(bytes, &out);
  assembler.flush(&out);
  return out;
}

const std::string kR = "\xEF\xBF\xBD";

// Expected values: Python's bytes.decode("utf-8", errors="replace").
TEST(Utf8Assembler, InvalidBytesAsPythonReplacesThem) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"abc", "abc"},
      {"\xC3\xA9", "\xC3\xA9"},
      {"\xF0\x9F\xA7\x91\xE2\x80\x8D\xF0\x9F\x92\xBB",
       "\xF0\x9F\xA7\x91\xE2\x80\x8D\xF0\x9F\x92\xBB"},
      {"\x80", kR},
      {"a\xFF\xFE"
       "b",
       "a" + kR + kR + "b"},
      {"\xC0\x80", kR + kR},                    // overlong
      {"\xE0\x80\x80", kR + kR + kR},           // overlong
      {"\xED\xA0\x80", kR + kR + kR},           // surrogate
      {"\xF4\x90\x80\x80", kR + kR + kR + kR},  // above U+10FFFF
      {"\xF5\x80", kR + kR},
      {"\xE2\x82", kR},  // cut short: one for the maximal part
      {"\xE2\x82"
       "a",
       kR + "a"},
      {"\xF0\x9F\xA7", kR},
      {"\xF0\x9F\xC3\xA9", kR + "\xC3\xA9"},
      {std::string("\0\x7F", 2), std::string("\0\x7F", 2)},
      {"\xEF\xBF\xBD", kR},
  };
  for (const auto& [bytes, expected] : cases) {
    EXPECT_EQ(whole(bytes), expected);
  }
}

TEST(Utf8Assembler, ShowsNothingOfAnIncompleteCharacter) {
  Utf8Assembler assembler;
  std::string out;
  for (const char c : {'\xF0', '\x9F', '\xA7'}) {
    assembler.push(std::string_view(&c, 1), &out);
    EXPECT_EQ(out, "");
    EXPECT_TRUE(assembler.is_holding());
  }
  assembler.push("\x91", &out);
  EXPECT_EQ(out, "\xF0\x9F\xA7\x91");
  EXPECT_FALSE(assembler.is_holding());
}

TEST(Utf8Assembler, TheCutNeverChangesTheText) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const std::vector<std::string> parts = {
      "a",        "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x9A",
      "\xE2\x82", "\x80",     "\xFF",         "\xED",
      "\xF0\x9F", "\xF4",     "\xE0"};
  for (int i = 0; i < 2000; ++i) {
    std::string bytes;
    for (size_t n = random() % 8; n > 0; --n) {
      bytes += parts[random() % parts.size()];
    }
    Utf8Assembler assembler;
    std::string out;
    for (size_t begin = 0; begin < bytes.size();) {
      const size_t n = 1 + random() % 4;
      assembler.push(std::string_view(bytes).substr(begin, n), &out);
      ASSERT_EQ(whole(out), out);  // valid at every moment
      begin += n;
    }
    assembler.flush(&out);
    ASSERT_EQ(out, whole(bytes));
  }
}

}  // namespace
}  // namespace tempo9::engine
