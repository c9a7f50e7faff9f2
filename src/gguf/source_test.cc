#include "gguf/source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/testing/temp_folder.h"

namespace tempo9::gguf {
namespace {

TEST(Source, ReadsAndMapsAFile) {
  const TempFolder folder;
  const std::string path = folder.write("file", "0123456789");
  auto source = Source::open(path);
  ASSERT_TRUE(source.has_value()) << source.error().message;
  EXPECT_EQ(source->size(), 10u);
  char three[3];
  ASSERT_TRUE(source->read_at(4, three, 3).has_value());
  EXPECT_EQ(std::string(three, 3), "456");
  ASSERT_TRUE(source->map().has_value());
  const Source moved = std::move(*source);
  EXPECT_EQ(moved.data().size(), 10u);
  EXPECT_EQ(moved.data()[9], '9');
}

uint64_t resident_pages() {
  uint64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident;
}

TEST(Source, WhatIsForgottenNeedsNoMemoryAndComesBack) {
  const TempFolder folder;
  std::string bytes(32 << 20, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761u >> 24);
  auto source = Source::open(folder.write("file", bytes));
  ASSERT_TRUE(source.has_value() && source->map().has_value());
  ASSERT_TRUE(std::ranges::equal(source->data(), bytes, {}, {},
                                 [](char c) { return static_cast<uint8_t>(c); }));
  const uint64_t before = resident_pages();
  source->forget(source->data().subspan(100));
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_LT(resident_pages(), before - (24u << 20) / page);
  const std::vector<uint8_t> elsewhere(3 * page, 7);
  source->forget(elsewhere);
  EXPECT_EQ(elsewhere[page], 7);
  EXPECT_TRUE(std::ranges::equal(source->data(), bytes, {}, {},
                                 [](char c) { return static_cast<uint8_t>(c); }));
}

TEST(Source, AFileElsewhereIsReadAndThenZeros) {
  auto source =
      Source::from_reader("there", uint64_t{1} << 40, [](uint64_t at, void* dst, size_t n) {
        std::fill_n(static_cast<uint8_t*>(dst), n, static_cast<uint8_t>(at));
        return Status();
      });
  uint8_t two[2];
  ASSERT_TRUE(source.read_at(7, two, 2).has_value());
  EXPECT_EQ(two[1], 7);
  ASSERT_TRUE(source.map().has_value()) << "a terabyte of nothing";
  EXPECT_EQ(source.data().size(), uint64_t{1} << 40);
  EXPECT_EQ(source.data()[(uint64_t{1} << 40) - 1], 0);
  const ReadBytes nothing = [](uint64_t, void*, size_t) { return Status(); };
  EXPECT_FALSE(Source::from_reader("absurd", uint64_t{1} << 60, nothing).map().has_value());
}

TEST(Source, NamesWhatCannotBeOpened) {
  auto missing = Source::open("/nonexistent/x.gguf");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("/nonexistent/x.gguf"), std::string::npos);
  auto folder = Source::open("/");
  ASSERT_FALSE(folder.has_value());
  EXPECT_NE(folder.error().message.find("a directory"), std::string::npos);
}

TEST(Source, DoesNotWaitForAPipe) {
  const TempFolder folder;
  const std::string path = folder.file("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  auto source = Source::open(path);
  ASSERT_FALSE(source.has_value());
  EXPECT_NE(source.error().message.find("not a regular file"), std::string::npos);
}

TEST(Source, AFileThatShrinksIsAnErrorAndNotASignal) {
  const TempFolder folder;
  const std::string path = folder.write("shrinks", std::string(100'000, 'x'));
  auto source = Source::open(path);
  ASSERT_TRUE(source.has_value());
  ASSERT_EQ(::truncate(path.c_str(), 50), 0);
  char byte = 0;
  auto read = source->read_at(99'000, &byte, 1);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kIo);
  EXPECT_NE(read.error().message.find("changed while it was being opened"), std::string::npos);
  EXPECT_FALSE(source->map().has_value());
}

TEST(Source, AFileThatGrowsIsNoticedWhenMapped) {
  const TempFolder folder;
  const std::string path = folder.write("grows", "0123456789");
  auto source = Source::open(path);
  ASSERT_TRUE(source.has_value());
  folder.write("grows", "0123456789abc");
  auto mapped = source->map();
  ASSERT_FALSE(mapped.has_value());
  EXPECT_NE(mapped.error().message.find("10 bytes at first"), std::string::npos)
      << mapped.error().message;
}

TEST(Source, BytesInMemoryBehaveAlike) {
  Source source = Source::from_bytes({1, 2, 3}, "three");
  ASSERT_TRUE(source.map().has_value());
  uint8_t byte = 0;
  ASSERT_TRUE(source.read_at(2, &byte, 1).has_value());
  EXPECT_EQ(byte, 3);
  EXPECT_EQ(source.path(), "three");
}

}  // namespace
}  // namespace tempo9::gguf
