#include "store/own_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"

namespace tempo9::store {
namespace {

class OwnStoreTest : public ::testing::Test {
 protected:
  void add(const std::string& name, std::vector<std::string> files) {
    RemoteModel model{.name = name, .files = {}, .headers = {}};
    for (const std::string& file : files) model.files.push_back({file, "", 3, ""});
    const auto folder = store_.prepare(model);
    ASSERT_TRUE(folder) << folder.error().message;
    for (const std::string& file : files) std::ofstream(*folder + "/" + file) << "abc";
    ASSERT_TRUE(store_.finish(model));
  }
  TempFolder folder_;
  OwnStore store_{folder_.path()};
};

TEST_F(OwnStoreTest, WhatIsFinishedIsListedAndFound) {
  add("owner/repo:Q4_0", {"r-00001-of-00002.gguf", "r-00002-of-00002.gguf"});
  add("qwen3:0.6b", {"q.gguf"});
  ASSERT_EQ(store_.list().size(), 2u);
  EXPECT_EQ(store_.list()[0].name, "owner/repo:Q4_0");
  EXPECT_EQ(store_.list()[0].n_bytes, 6u);
  EXPECT_EQ(store_.find("OWNER/repo")->path,
            folder_.path() + "/owner/repo/Q4_0/r-00001-of-00002.gguf");
  EXPECT_EQ(store_.find("qwen3:0.6b")->name, "qwen3:0.6b");
  EXPECT_EQ(store_.find("qwen3:1b").error().code, ErrorCode::kNotFound);
  add("owner/repo:Q8_0", {"r.gguf"});
  EXPECT_EQ(store_.find("owner/repo").error().code, ErrorCode::kInvalidArgument);
}

TEST_F(OwnStoreTest, WhatIsNotWholeIsNotThere) {
  add("a/b:c", {"x.gguf", "y.gguf"});
  std::filesystem::remove(folder_.path() + "/a/b/c/y.gguf");
  EXPECT_TRUE(store_.list().empty());
  std::filesystem::create_directories(folder_.path() + "/d");
  for (const char* text : {"", "{", "[]", "{}", R"({"name": 5})", R"({"name": "n", "files": []})",
                           R"({"name": "n", "files": [5]})",
                           R"({"name": "n", "files": [{"name": "../a/b/c/x.gguf"}]})"}) {
    std::ofstream(folder_.path() + "/d/model.json") << text;
    EXPECT_TRUE(store_.list().empty()) << text;
  }
}

TEST_F(OwnStoreTest, RemovingLeavesTheOthers) {
  add("a/b:c", {"x.gguf"});
  add("a/b:d", {"y.gguf"});
  ASSERT_TRUE(store_.remove("a/b:c"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/a/b/c"));
  EXPECT_EQ(store_.list().at(0).name, "a/b:d");
  ASSERT_TRUE(store_.remove("a/b"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_FALSE(store_.remove("a/b"));
}

}  // namespace
}  // namespace tempo9::store
