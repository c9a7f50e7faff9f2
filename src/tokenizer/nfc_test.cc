// Expected values: Unicode's NormalizationTest.txt and Hugging Face's normalizers.NFC (tokenizers
// 0.23.3).
#include <gtest/gtest.h>

#include "tokenizer/unicode.h"

namespace tempo9::tokenizer {
namespace {

std::string nfc(std::string_view text) {
  std::string out;
  return to_nfc(text, &out) ? out : std::string(text);
}

TEST(Nfc, TextThatIsItsOwnNfcIsLeftAlone) {
  std::string out = "untouched";
  for (const std::string_view text :
       {"", "plain", "naïve café", "中文 한국어", "😀", "\xFF\x80", "\xC3"}) {
    EXPECT_FALSE(to_nfc(text, &out)) << text;
  }
  EXPECT_EQ(out, "untouched");
}

TEST(Nfc, Composes) {
  EXPECT_EQ(nfc("e\u0301"), "\u00e9");
  EXPECT_EQ(nfc("\u212b"), "\u00c5");  // Angstrom sign
  EXPECT_EQ(nfc("A\u030a"), "\u00c5");
  EXPECT_EQ(nfc("o\u0302\u0323"), "\u1ed9");  // reordered first
  EXPECT_EQ(nfc("\u1e9b\u0323"), "\u1e9b\u0323");
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093c");  // excluded from composition
  EXPECT_EQ(nfc("か\u3099"), "が");
  EXPECT_EQ(nfc("\u0dd9\u0dcf\u0dca"), "\u0ddd");
}

TEST(Nfc, Hangul) {
  EXPECT_EQ(nfc("\u1100\u1161"), "가");
  EXPECT_EQ(nfc("\u1100\u1161\u11a8"), "각");
  EXPECT_EQ(nfc("가\u11a8"), "각");
  EXPECT_EQ(nfc("각\u11a8"), "각\u11a8");
}

TEST(Nfc, BlockedMarksStay) {
  EXPECT_EQ(nfc("a\u0315\u0300"), "\u00e0\u0315");
  EXPECT_EQ(nfc("a\u0300\u0301"), "\u00e0\u0301");
  EXPECT_EQ(nfc("\u0301\u0301"), "\u0301\u0301");
}

TEST(Nfc, MarksNewerThanUnicode9StayInPlace) {
  EXPECT_EQ(nfc("a\u0898\u0325"), "a\u0898\u0325");  // by newer data the second would go first
  EXPECT_EQ(nfc("\U000105d2\u0307"), "\U000105d2\u0307");
}

TEST(Nfc, OnlyStretchesChange) {
  EXPECT_EQ(nfc("one e\u0301 two a\u030a three"), "one é two å three");
}

TEST(Nfc, InvalidBytesPassThrough) {
  EXPECT_EQ(nfc("\xFF"
                "e\u0301\xE4\xB8"),
            "\xFF\u00e9\xE4\xB8");
  EXPECT_EQ(nfc("e\xCC"
                "e\u0301"),
            "e\xCC\u00e9");
}

TEST(Nfc, ManyMarksTakeLinearTime) {
  std::string text = "a";
  for (int i = 0; i < 100000; ++i) text += i % 2 == 0 ? "\u0301" : "\u0323";
  const std::string out = nfc(text);
  EXPECT_EQ(out.size(), std::string("\u1ea1").size() + 2 * 99999);
}

}  // namespace
}  // namespace tempo9::tokenizer
