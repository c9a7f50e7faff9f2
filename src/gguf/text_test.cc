#include "gguf/text.h"

#include <gtest/gtest.h>

namespace tempo9::gguf {
namespace {

TEST(Text, AcceptsWellFormedUtf8) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("plain"));
  EXPECT_TRUE(is_utf8("\u00e4\u20ac\U0001F600"));
  EXPECT_TRUE(is_utf8("\xF4\x8F\xBF\xBF"));  // U+10FFFF
}

TEST(Text, RefusesWhatUnicodeForbids) {
  for (const char* bad :
       {"\x80", "\xC3", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF",
        "\xE2\x82", "a\xC3z", "\xF8\x88\x80\x80\x80"}) {
    EXPECT_FALSE(is_utf8(bad)) << printable(bad);
  }
}

TEST(Text, PrintableEscapesWhatATerminalMustNotSee) {
  EXPECT_EQ(printable("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(printable("\x1B[31m\x7F"), "\\x1B[31m\\x7F");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\xC2\\x9B31m");
  EXPECT_EQ(printable("\u00e4\xFF"), "\u00e4\\xFF");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(Text, PrintableCutsBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("\u20ac\u20ac", 2), "\u20ac...");
}

}  // namespace
}  // namespace tempo9::gguf
