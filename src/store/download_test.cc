// What needs no server; the rest is in tests/e2e/test_pull.py.
#include "store/download.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/testing/temp_folder.h"

namespace tempo9::store {
namespace {

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

}  // namespace
}  // namespace tempo9::store
