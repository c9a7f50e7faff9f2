// What needs no server; the rest is in tests/e2e/test_pull.py.
#include "store/download.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "base/testing/temp_folder.h"

namespace tempo9::store {
namespace {

constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

// From an address that is refused at once: what is asked for fails.
Download from_nowhere(std::string path, uint64_t n_bytes, std::string sha256) {
  Download what;
  what.url = "file:///nowhere";
  what.path = std::move(path);
  what.n_bytes = n_bytes;
  what.sha256 = std::move(sha256);
  return what;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// FIPS 180-4's own examples.
TEST(Sha256, KnownDigests) {
  const TempFolder folder;
  EXPECT_EQ(sha256_of(folder.write("a", "abc")).value(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of(folder.write("b", "")).value(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of(folder.file("none")).error().code, ErrorCode::kIo);
}

TEST(Download, WhatCannotBeWrittenOrHeldIsSaidBeforeAnythingIsFetched) {
  const TempFolder folder;
  Download what;
  what.url = "http://127.0.0.1:1/f";
  what.path = "/nonexistent/f";
  what.n_bytes = 5;
  EXPECT_NE(download(what).error().message.find("/nonexistent/f.part"), std::string::npos);
  what.path = folder.file("f");
  what.n_bytes = uint64_t{1} << 49;
  EXPECT_NE(download(what).error().message.find("are free on that disk"), std::string::npos);
}

TEST(Download, PiecesThatAreThereAreNotAskedFor) {
  const TempFolder folder;
  // All three pieces are marked: no server is needed, and the hash is checked all the same.
  folder.write("f.part", "abc");
  folder.write(
      "f.part.json",
      R"({"n_bytes":3,"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","piece_bytes":1,"done":[0,1,2]})");
  Download what;
  what.url = "http://127.0.0.1:1/f";
  what.path = folder.file("f");
  what.n_bytes = 3;
  what.sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  what.piece_bytes = 1;
  const Status done = download(what);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(std::filesystem::file_size(what.path), 3u);
  EXPECT_FALSE(std::filesystem::exists(folder.file("f.part.json")));
}

TEST(Download, WhatIsThereIsTakenByItsHashAndNotByItsSize) {
  const TempFolder folder;
  const Download what = from_nowhere(folder.write("f", "abc"), 3, kAbc);
  EXPECT_TRUE(download(what));
  EXPECT_FALSE(std::filesystem::exists(folder.file("f.part")));
  folder.write("f", "abd");
  EXPECT_FALSE(download(what));
  folder.write("f", "abc");
  EXPECT_FALSE(download(from_nowhere(what.path, 3, ""))) << "nobody knows what it should be";
}

TEST(Download, ADamagedFileGivesWayToTheWholeOne) {
  const TempFolder folder;
  folder.write("f", "abd");
  folder.write("f.part", "abc");
  folder.write("f.part.json", fmt::format(R"({{"n_bytes":3,"sha256":"{}","piece_bytes":16777216,)"
                                          R"("done":[0]}})",
                                          kAbc));
  EXPECT_TRUE(download(from_nowhere(folder.file("f"), 3, kAbc)));
  EXPECT_EQ(content(folder.file("f")), "abc");
}

// The file may be another one by now.
TEST(Download, WithoutAHashNothingGoesOnWhereItWas) {
  const TempFolder folder;
  folder.write("f.part", "abc");
  folder.write("f.part.json", R"({"n_bytes":3,"sha256":"","piece_bytes":16777216,"done":[0]})");
  EXPECT_FALSE(download(from_nowhere(folder.file("f"), 3, "")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("f")));
}

// Until it has its name nobody else gets at it; then it is there for all.
TEST(Download, TheSameFileAtOnceComesOnce) {
  const TempFolder folder;
  const std::string bytes(size_t{8} << 20, 'x');
  const std::string sha256 = sha256_of(folder.write("same", bytes)).value();
  for (int round = 0; round < 3; ++round) {
    folder.write("f.part", bytes);
    folder.write("f.part.json",
                 fmt::format(R"({{"n_bytes":{},"sha256":"{}","piece_bytes":16777216,"done":[0]}})",
                             bytes.size(), sha256));
    std::filesystem::remove(folder.file("f"));
    std::vector<std::string> said(4);
    {
      std::vector<std::jthread> threads;
      for (std::string& words : said) {
        threads.emplace_back([&] {
          do {
            const Status done = download(from_nowhere(folder.file("f"), bytes.size(), sha256));
            words = done ? "done" : done.error().message;
          } while (words.ends_with("another process is fetching it"));
        });
      }
    }
    EXPECT_EQ(said, std::vector<std::string>(4, "done"));
    EXPECT_EQ(content(folder.file("f")), bytes);
    EXPECT_FALSE(std::filesystem::exists(folder.file("f.part")));
  }
}

}  // namespace
}  // namespace tempo9::store
