#include "gguf/cursor.h"

#include <gtest/gtest.h>

#include "gguf/test_writer.h"

namespace tempo9::gguf {
namespace {

TEST(Cursor, ReadsAcrossItsWindow) {
  // 200,003 bytes: several windows, none of which ends where a number does.
  Bytes bytes;
  bytes.number<uint8_t>(0).number<uint16_t>(0);
  for (uint32_t i = 0; i < 50'000; ++i) bytes.number(i);
  const Source source = Source::from_bytes(bytes.data, "numbers");
  Cursor cursor(source);
  ASSERT_TRUE(cursor.skip(3, "the start").has_value());
  for (uint32_t i = 0; i < 50'000; ++i) ASSERT_EQ(cursor.read<uint32_t>("a number").value(), i);
  EXPECT_EQ(cursor.remaining(), 0u);

  Cursor again(source);
  std::vector<uint8_t> all(bytes.data.size());
  ASSERT_TRUE(again.take(all.data(), all.size(), "everything").has_value());
  EXPECT_EQ(all, bytes.data);
}

TEST(Cursor, SaysWhatWasCutShortAndTakesNothing) {
  const Source source = Source::from_bytes({1, 2, 3}, "short.gguf");
  Cursor cursor(source);
  auto number = cursor.read<uint32_t>("the version");
  ASSERT_FALSE(number.has_value());
  EXPECT_EQ(number.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(number.error().message,
            "short.gguf: the version needs 4 bytes at byte 0, but only 3 are left: the file is cut "
            "short or damaged");
  EXPECT_FALSE(cursor.skip(UINT64_MAX, "a tensor").has_value());
  EXPECT_EQ(cursor.position(), 0u);
}

TEST(Cursor, BoundsStringsByTheFileAndByTheLimit) {
  const Source lying =
      Source::from_bytes(Bytes().number<uint64_t>(UINT64_MAX).raw("abc").data, "lying");
  Cursor cursor(lying);
  EXPECT_FALSE(cursor.read_string(UINT64_MAX, "a name").has_value());

  const Source source = Source::from_bytes(Bytes().text("abcdef").data, "names");
  Cursor limited(source);
  auto text = limited.read_string(5, "a name");
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().message, "names: a name at byte 0 has 6 bytes, expected at most 5");
  Cursor good(source);
  EXPECT_EQ(good.read_string(6, "a name").value(), "abcdef");
}

}  // namespace
}  // namespace tempo9::gguf
