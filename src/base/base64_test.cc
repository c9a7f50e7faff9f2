#include "base/base64.h"

#include <gtest/gtest.h>

#include <utility>

namespace tempo9 {
namespace {

// RFC 4648, section 10.
constexpr std::pair<const char*, const char*> kVectors[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
};

TEST(Base64, VectorsOfTheRfc) {
  for (const auto& [bytes, text] : kVectors) {
    EXPECT_EQ(encode_base64(bytes), text);
    EXPECT_EQ(decode_base64(text), bytes);
  }
}

TEST(Base64, TheUrlsAlphabetHasNoPadding) {
  for (const auto& [bytes, padded] : kVectors) {
    std::string text = padded;
    while (text.ends_with('=')) text.pop_back();
    EXPECT_EQ(encode_base64(bytes, Base64::kUrl), text);
    EXPECT_EQ(decode_base64(text, Base64::kUrl), bytes);
  }
  EXPECT_EQ(encode_base64("\xfb\xff", Base64::kUrl), "-_8");
  for (const char* other : {"+/8", "Zg==", "-_9", "a"})
    EXPECT_EQ(decode_base64(other, Base64::kUrl), std::nullopt) << other;
}

TEST(Base64, AllBytesComeBack) {
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
  EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes);
}

TEST(Base64, WhatNoEncoderWrites) {
  for (const char* text : {"a", "ab=c", "a b=", "==", "Zh==", "Zm9v\n"})
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
  EXPECT_EQ(decode_base64("Zm8"), "fo") << "padding left out";
}

}  // namespace
}  // namespace tempo9
