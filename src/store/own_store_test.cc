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
    RemoteModel model{.name = name, .files = {}, .headers = {}, .variants = {}};
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

TEST_F(OwnStoreTest, CompanionsAreOfTheModelAndGoWithIt) {
  RemoteModel model{.name = "a/b:c", .files = {{"x.gguf", "", 3, ""}}};
  model.companions = {{"mmproj.gguf", "", 5, "", "projector"}, {"mtp.gguf", "", 1, "", "drafter"}};
  const auto folder = store_.prepare(model);
  ASSERT_TRUE(folder);
  for (const char* file : {"x.gguf", "mmproj.gguf", "mtp.gguf"}) {
    std::ofstream(*folder + "/" + file) << "abc";
  }
  ASSERT_TRUE(store_.finish(model));
  EXPECT_EQ(store_.find("a/b")->companions, (std::vector<std::string>{"projector", "drafter"}));
  EXPECT_EQ(store_.find("a/b")->n_bytes, 9u);
  EXPECT_EQ(store_.find("a/b")->path, *folder + "/x.gguf");
  std::filesystem::remove(*folder + "/mtp.gguf");
  EXPECT_EQ(store_.find("a/b")->companions, (std::vector<std::string>{"projector"}));
  ASSERT_TRUE(store_.remove("a/b"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

// A description in the store's own folder would make everything in it a model's.
TEST_F(OwnStoreTest, ADescriptionThatLiesElsewhereIsNone) {
  const std::string mine = folder_.path() + "/mine.gguf";
  std::ofstream(mine) << "mine";
  std::filesystem::create_directories(folder_.path() + "/a");
  for (const std::string folder : {"/", "/a/"}) {
    std::ofstream(folder_.path() + folder + "model.json")
        << R"({"name": "a:b", "files": [{"name": "mine.gguf"}]})";
  }
  std::ofstream(folder_.path() + "/a/mine.gguf") << "mine";
  EXPECT_TRUE(store_.list().empty());
  EXPECT_FALSE(store_.remove("a:b"));
  EXPECT_TRUE(std::filesystem::exists(mine));
  // Folders that are links are not gone into: what they point to is not the store's.
  TempFolder other;
  std::filesystem::create_directories(other.path() + "/b/c");
  std::ofstream(other.path() + "/b/c/x.gguf") << "theirs";
  std::ofstream(other.path() + "/b/c/model.json")
      << R"({"name": "l/b:c", "files": [{"name": "x.gguf"}]})";
  std::filesystem::create_directory_symlink(other.path(), folder_.path() + "/l");
  EXPECT_FALSE(store_.remove("l/b:c"));
  EXPECT_TRUE(std::filesystem::exists(other.path() + "/b/c/x.gguf"));
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

TEST_F(OwnStoreTest, WhatBrokeOffIsRemovedByItsName) {
  const auto begin = [&](const std::string& name, std::vector<std::string> files) {
    const auto folder = store_.prepare({.name = name, .files = {}, .headers = {}, .variants = {}});
    for (const std::string& file : files) std::ofstream(*folder + "/" + file) << "abc";
  };
  add("a/b:whole", {"x.gguf"});
  begin("a/b:c",
        {"x-00001-of-00002.gguf", "x-00002-of-00002.gguf.part", "x-00002-of-00002.gguf.part.json"});
  begin("a/b:d", {"x.gguf.part"});
  begin("tiny:latest", {"tiny-latest.gguf.part"});
  EXPECT_EQ(store_.list().size(), 1u);
  const auto removed = store_.remove("A/b:C");
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->name, "a/b:c");
  EXPECT_EQ(removed->n_bytes, 9u);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/a/b/c"));
  ASSERT_TRUE(store_.remove("tiny"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/tiny"));
  ASSERT_TRUE(store_.remove("a/b")) << "a whole one comes first";
  EXPECT_TRUE(store_.list().empty());
  ASSERT_TRUE(store_.remove("a/b"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(OwnStoreTest, RemovingTouchesNoFilesThatAreNoModels) {
  // One model's folder may lie inside another's.
  add("someone/x:Q4_0", {"x.gguf"});
  add("someone:x", {"y.gguf"});
  const auto mine = {folder_.path() + "/mine.gguf", folder_.path() + "/someone/mine.gguf"};
  for (const std::string& file : mine) std::ofstream(file) << "mine";
  ASSERT_TRUE(store_.remove("someone:x"));
  EXPECT_EQ(store_.list().at(0).name, "someone/x:Q4_0");
  ASSERT_TRUE(store_.remove("someone/x"));
  for (const char* name : {"", ":", ".", "..", "../..", "/", "someone", ":someone", ".:someone"}) {
    EXPECT_FALSE(store_.remove(name)) << name;
  }
  for (const std::string& file : mine) EXPECT_TRUE(std::filesystem::exists(file)) << file;
}

}  // namespace
}  // namespace tempo9::store
