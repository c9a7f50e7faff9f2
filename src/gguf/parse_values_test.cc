#include <gtest/gtest.h>

#include "gguf/gguf.h"
#include "gguf/test_writer.h"

namespace tempo9::gguf {
namespace {

template <typename T>
T value_of(const File& file, std::string_view key) {
  const Value* value = file.find(key);
  EXPECT_NE(value, nullptr) << key;
  if (value == nullptr || !std::holds_alternative<T>(*value)) {
    ADD_FAILURE() << key << " has another kind";
    return T{};
  }
  return std::get<T>(*value);
}

template <typename T>
std::vector<T> elements_of(const File& file, std::string_view key) {
  return std::get<std::vector<T>>(value_of<Array>(file, key).values);
}

TEST(ParseValues, EveryKindKeepsItsValueAndSign) {
  auto file = File::from_bytes(rich_file().build());
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(value_of<uint64_t>(*file, "k.u8"), 200u);
  EXPECT_EQ(value_of<int64_t>(*file, "k.i8"), -100);
  EXPECT_EQ(value_of<uint64_t>(*file, "k.u16"), 60000u);
  EXPECT_EQ(value_of<int64_t>(*file, "k.i16"), -30000);
  EXPECT_EQ(value_of<int64_t>(*file, "k.i32"), -2000000000);
  EXPECT_EQ(value_of<double>(*file, "k.f32"), static_cast<double>(0.1f));
  EXPECT_EQ(value_of<double>(*file, "k.f64"), 0.1);
  EXPECT_EQ(value_of<uint64_t>(*file, "k.u64"), UINT64_MAX);
  EXPECT_EQ(value_of<int64_t>(*file, "k.i64"), INT64_MIN);
  EXPECT_EQ(value_of<bool>(*file, "k.true"), true);
  EXPECT_EQ(value_of<bool>(*file, "k.false"), false);
  EXPECT_EQ(value_of<std::string>(*file, "general.architecture"), "test");
}

TEST(ParseValues, ArraysOfEveryElement) {
  auto file = File::from_bytes(rich_file().build());
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(elements_of<std::string>(*file, "a.strings"),
            (std::vector<std::string>{"one", "", "three"}));
  EXPECT_EQ(elements_of<int64_t>(*file, "a.i32"), (std::vector<int64_t>{-1, 0, 7}));
  EXPECT_EQ(elements_of<uint64_t>(*file, "a.u32"), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(elements_of<double>(*file, "a.f32"), (std::vector<double>{0.5, -2.0}));
  EXPECT_EQ(elements_of<bool>(*file, "a.bool"), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(value_of<Array>(*file, "a.empty").size(), 0u);
  const auto nested = elements_of<Array>(*file, "a.nested");
  ASSERT_EQ(nested.size(), 2u);
  EXPECT_EQ(std::get<std::vector<int64_t>>(nested[0].values), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(std::get<std::vector<std::string>>(nested[1].values), (std::vector<std::string>{"x"}));
}

TEST(ParseValues, StringsKeepAnyBytes) {
  // Vocabularies hold NUL and bytes that are no UTF-8.
  const std::string bytes("a\0\xFF\n", 4);
  TestWriter w;
  w.string("s", bytes).array("a", strings({bytes, ""}));
  auto file = File::from_bytes(w.build());
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->get_string("s").value(), bytes);
  EXPECT_EQ(file->get_strings("a").value()[0], bytes);
}

TEST(ParseValues, MetadataIsInTheOrderOfTheFileWithItsKinds) {
  TestWriter w;
  w.u32("z", 1).string("a", "x").array("m", numbers<int8_t>(Kind::kI8, {1})).u16("b", 2);
  auto file = File::from_bytes(w.build());
  ASSERT_TRUE(file.has_value());
  std::vector<std::string> keys;
  for (const auto& [key, value] : file->metadata()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"z", "a", "m", "b"}));
  EXPECT_EQ(file->metadata_kinds(), (std::vector<std::string>{"u32", "string", "[i8]", "u16"}));
}

TEST(ParseValues, NumberArraysLongerThanAChunk) {
  Bytes array;
  array.kind(Kind::kI16).number<uint64_t>(5000);
  for (int i = 0; i < 5000; ++i) array.number(static_cast<int16_t>(i - 2500));
  TestWriter w;
  w.array("long", array);
  auto file = File::from_bytes(w.build());
  ASSERT_TRUE(file.has_value());
  const auto values = file->get_ints("long").value();
  ASSERT_EQ(values.size(), 5000u);
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], i - 2500);
}

}  // namespace
}  // namespace tempo9::gguf
