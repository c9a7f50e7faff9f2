#include "cpu/packed_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/testing/temp_folder.h"

namespace tempo9::cpu {
namespace {

class PackedFileTest : public ::testing::Test {
 protected:
  PackedFileTest() : small_(1000), large_((size_t{9} << 20) + 17), pool_(2, [] {}) {
    std::iota(small_.begin(), small_.end(), uint8_t{3});
    for (size_t i = 0; i < large_.size(); ++i) large_[i] = static_cast<uint8_t>(i * i >> 7);
  }
  PackedParts parts_of(std::vector<uint8_t>& first, std::vector<uint8_t>& second) {
    return {first, {}, second};
  }
  Status write(const std::string& key = "model") {
    return write_packed_file(path_, key, parts_of(small_, large_), pool_);
  }
  // Reads into memory of its own and compares when all is said to be well.
  Result<PackedFileState> read(const std::string& key = "model") {
    std::vector<uint8_t> small(small_.size()), large(large_.size());
    const auto state = read_packed_file(path_, key, parts_of(small, large), pool_);
    if (state && *state == PackedFileState::kRead) {
      EXPECT_EQ(small, small_);
      EXPECT_EQ(large, large_);
    }
    return state;
  }
  size_t files() const {
    const auto entries = std::filesystem::directory_iterator(folder_.path());
    return static_cast<size_t>(std::distance(begin(entries), end(entries)));
  }

  TempFolder folder_;
  std::string path_ = folder_.path() + "/weights.packed";
  std::vector<uint8_t> small_, large_;
  ThreadPool pool_;
};

TEST_F(PackedFileTest, WhatWasWrittenIsRead) {
  EXPECT_EQ(*read(), PackedFileState::kMissing);
  ASSERT_TRUE(write());
  EXPECT_EQ(*read(), PackedFileState::kRead);
  EXPECT_EQ(files(), 1u);
}

TEST_F(PackedFileTest, OfAnotherModelOrOtherSizes) {
  ASSERT_TRUE(write());
  EXPECT_EQ(*read("other"), PackedFileState::kOther);
  small_.push_back(0);
  EXPECT_EQ(*read(), PackedFileState::kOther);
  ASSERT_TRUE(write());  // replaces it
  EXPECT_EQ(*read(), PackedFileState::kRead);
}

TEST_F(PackedFileTest, EveryDamagedOrMissingByteIsSeen) {
  ASSERT_TRUE(write());
  const auto n_bytes = std::filesystem::file_size(path_);
  // Head, checksums, first and last part, its first and last chunk.
  for (const uint64_t at : {uint64_t{8}, uint64_t{20}, uint64_t{70}, uint64_t{4096 + 500},
                            uint64_t{8192}, n_bytes - 1}) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char was = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(was ^ 0x10));
    file.close();
    EXPECT_NE(*read(), PackedFileState::kRead) << at;
    ASSERT_TRUE(write());
  }
  for (const uint64_t size : {n_bytes - 1, uint64_t{8192}, uint64_t{60}, uint64_t{9}}) {
    std::filesystem::resize_file(path_, size);
    EXPECT_NE(*read(), PackedFileState::kRead) << size;
    ASSERT_TRUE(write());
  }
}

TEST_F(PackedFileTest, SomebodysFileIsNotReplaced) {
  std::ofstream(path_) << "my notes";
  const auto state = read();
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(state.error().message.find(path_), std::string::npos);
  path_ = folder_.path();
  EXPECT_FALSE(read());  // a folder
}

TEST_F(PackedFileTest, AWriteThatFailsLeavesNothing) {
  path_ = folder_.path() + "/no/such/folder";
  const Status written = write();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kIo);
  EXPECT_EQ(files(), 0u);
  path_ = folder_.path() + "/taken";
  std::filesystem::create_directories(path_ + "/by");  // a rename over it fails
  EXPECT_FALSE(write());
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace tempo9::cpu
