#include "tokenizer/unicode.h"

#include <gtest/gtest.h>

namespace tempo9::tokenizer {
namespace {

Character first(std::string_view text) { return decode(text.data(), text.data() + text.size()); }

TEST(Decode, ValidSequences) {
  EXPECT_EQ(first("a").code, U'a');
  EXPECT_EQ(first("é").code, U'é');
  EXPECT_EQ(first("中").n_bytes, 3u);
  EXPECT_EQ(first("😀").code, U'😀');
  EXPECT_EQ(first("\xF4\x8F\xBF\xBF").code, 0x10FFFFu);
}

TEST(Decode, InvalidBytesAreCharactersOfTheirOwn) {
  for (const std::string_view bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xF8\x88\x80\x80", "\xFF", "\xC3", "\xE4\xB8", "\xF0\x9F\x98", "\xC3(", "\xE4\xB8("}) {
    EXPECT_EQ(first(bad).code, kInvalid) << testing::PrintToString(bad);
    EXPECT_EQ(first(bad).n_bytes, 1u);
    EXPECT_EQ(first(bad).classes, 0u);
  }
}

TEST(Decode, AppendGivesBackWhatWasDecoded) {
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string utf8;
    append_utf8(code, &utf8);
    ASSERT_EQ(first(utf8).code, code);
    ASSERT_EQ(first(utf8).n_bytes, utf8.size());
    ASSERT_EQ(first(utf8).classes, classes_of(code));
  }
}

// Counts of Unicode 16.0, DerivedGeneralCategory.txt and PropList.txt.
TEST(Classes, CountsOfUnicode16) {
  size_t letters = 0, marks = 0, numbers = 0, punctuation = 0, symbols = 0, white = 0;
  for (char32_t code = 0; code < 0x110000; ++code) {
    const ClassMask classes = classes_of(code);
    letters += (classes & kLetter) != 0;
    marks += (classes & kMark) != 0;
    numbers += (classes & kNumber) != 0;
    punctuation += (classes & kPunctuation) != 0;
    symbols += (classes & kSymbol) != 0;
    white += (classes & kWhite) != 0;
  }
  EXPECT_EQ(letters, 141028u);
  EXPECT_EQ(marks, 2501u);
  EXPECT_EQ(numbers, 1911u);
  EXPECT_EQ(punctuation, 855u);
  EXPECT_EQ(symbols, 8514u);
  EXPECT_EQ(white, 25u);
}

TEST(Classes, Examples) {
  EXPECT_EQ(classes_of(U'A') & ~kNotNfcSafe, kUpper);
  EXPECT_EQ(classes_of(U'ǅ') & ~kNotNfcSafe, kTitle);
  EXPECT_EQ(classes_of(U'ʰ') & ~kNotNfcSafe, kModifier);
  EXPECT_EQ(classes_of(U'中') & ~kNotNfcSafe, kOtherLetter);
  EXPECT_EQ(classes_of(U'½') & ~kNotNfcSafe, kNumber);
  EXPECT_EQ(classes_of(0x3000), kWhite);
  EXPECT_EQ(classes_of(0x85), kWhite);
  EXPECT_EQ(classes_of(0x200B), 0u);
  EXPECT_EQ(classes_of(kInvalid), 0u);
}

}  // namespace
}  // namespace tempo9::tokenizer
