// Against stores laid out as `ollama pull` leaves them.
#include "store/ollama.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"

namespace tempo9::store {
namespace {

namespace fs = std::filesystem;

class OllamaStore : public ::testing::Test {
 protected:
  std::string folder() const { return folder_.path(); }

  void write(const std::string& name, const std::string& content) {
    const fs::path path = fs::path(folder()) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
  }
  static std::string manifest(const std::string& digest, uint64_t size = 999) {
    return R"({"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json",)"
           R"("config":{"mediaType":"application/vnd.docker.container.image.v1+json","digest":"sha256:00","size":1},)"
           R"("layers":[{"mediaType":"application/vnd.ollama.image.template","digest":"sha256:)" +
           std::string(64, 'e') +
           R"(","size":3},{"mediaType":"application/vnd.ollama.image.model","digest":")" + digest +
           R"(","size":)" + std::to_string(size) + "}]}";
  }
  void add(const std::string& name, char digit, const std::string& weights) {
    const std::string digits(64, digit);
    write("manifests/" + name, manifest("sha256:" + digits));
    write("blobs/sha256-" + digits, weights);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& model : list_ollama(folder())) names.push_back(model.name);
    return names;
  }

 private:
  TempFolder folder_;
};

TEST_F(OllamaStore, NamesAreOllamasOwn) {
  add("registry.ollama.ai/library/llama3.2/latest", 'a', "12345");
  add("registry.ollama.ai/library/qwen3/0.6b", 'b', "1");
  add("registry.ollama.ai/someone/tuned/v1", 'c', "1");
  add("hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF/Q4_K_M", 'd', "1");
  EXPECT_EQ(names(),
            (std::vector<std::string>{"hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M",
                                      "llama3.2:latest", "qwen3:0.6b", "someone/tuned:v1"}));
}

TEST_F(OllamaStore, FindsByFullShortAndBareName) {
  add("registry.ollama.ai/library/llama3.2/latest", 'a', "12345");
  add("hf.co/bartowski/Llama-GGUF/Q4_K_M", 'd', "1");
  for (const char* name : {"llama3.2", "llama3.2:latest", "LLAMA3.2"}) {
    const auto found = find_ollama(folder(), name);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->n_bytes, 5u) << "the file's size, not the manifest's";
    EXPECT_EQ(found->path, folder() + "/blobs/sha256-" + std::string(64, 'a'));
  }
  for (const char* name : {"hf.co/bartowski/Llama-GGUF:Q4_K_M", "hf.co/bartowski/llama-gguf:q4_k_m",
                           "Llama-GGUF:Q4_K_M"}) {
    EXPECT_TRUE(find_ollama(folder(), name)) << name;
  }
  for (const char* name : {"Llama-GGUF", "llama3.2:1b", "", ":", "../llama3.2", "sha256"}) {
    const auto found = find_ollama(folder(), name);
    ASSERT_FALSE(found) << name;
    EXPECT_NE(found.error().message.find("llama3.2:latest"), std::string::npos);
  }
}

TEST_F(OllamaStore, AShortNameOfTwoIsRefusedWithBoth) {
  add("hf.co/a/same/Q4", 'a', "1");
  add("hf.co/b/same/Q4", 'b', "1");
  const auto found = find_ollama(folder(), "same:Q4");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("hf.co/a/same:Q4, hf.co/b/same:Q4"), std::string::npos);
}

TEST_F(OllamaStore, WhatIsNotWholeIsLeftOut) {
  add("registry.ollama.ai/library/good/latest", 'a', "1");
  const std::string base = "manifests/registry.ollama.ai/library/";
  write(base + "missing/latest", manifest("sha256:" + std::string(64, 'f')));
  write(base + "climbs/latest", manifest("sha256:../../../etc/passwd"));
  write(base + "short/latest", manifest("sha256:aa"));
  write(base + "none/latest", R"({"layers":[]})");
  write(
      base + "odd1/latest",
      R"({"layers":[5,{"mediaType":7},{"mediaType":"application/vnd.ollama.image.model","digest":5}]})");
  write(base + "odd2/latest", R"({"layers":{}})");
  write(base + "nested/latest", std::string(100'000, '['));
  write(base + "large/latest", std::string((1 << 20) + 1, ' '));
  write(base + "empty/latest", "");
  write("manifests/stray", manifest("sha256:" + std::string(64, 'a')));
  fs::create_directory_symlink(folder(), fs::path(folder()) / base / "loop");
  EXPECT_EQ(names(), std::vector<std::string>{"good:latest"});
}

TEST_F(OllamaStore, AModelWithAnAdapterIsRefusedByName) {
  add("registry.ollama.ai/library/tuned/latest", 'a', "1");
  write("manifests/registry.ollama.ai/library/tuned/lora",
        R"({"layers":[{"mediaType":"application/vnd.ollama.image.adapter","digest":"sha256:)" +
            std::string(64, 'b') +
            R"("},{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:)" +
            std::string(64, 'a') + R"("}]})");
  EXPECT_EQ(names(), (std::vector<std::string>{"tuned:latest", "tuned:lora"}));
  EXPECT_TRUE(find_ollama(folder(), "tuned"));
  const auto found = find_ollama(folder(), "tuned:lora");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(found.error().message.find("adapter"), std::string::npos) << found.error().message;
}

TEST_F(OllamaStore, TheOldestSpellingOfBlobs) {
  write("manifests/registry.ollama.ai/library/old/latest",
        manifest("sha256:" + std::string(64, 'a')));
  write("blobs/sha256:" + std::string(64, 'a'), "1");
  EXPECT_EQ(names(), std::vector<std::string>{"old:latest"});
}

TEST(Ollama, NoStoreHoldsNoModel) {
  EXPECT_TRUE(list_ollama("/nonexistent").empty());
  EXPECT_NE(find_ollama("/nonexistent", "x").error().message.find("OLLAMA_MODELS"),
            std::string::npos);
}

}  // namespace
}  // namespace tempo9::store
