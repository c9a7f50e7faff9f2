// Names that lead nowhere are refused before anything is asked; the protocols are in
// tests/e2e/test_pull.py.
#include "store/source.h"

#include <gtest/gtest.h>

namespace tempo9::store {
namespace {

// Port 1: nobody listens there.
const SourceOptions kNobody{
    .hugging_face = "http://127.0.0.1:1", .ollama = "http://127.0.0.1:1", .token = ""};

TEST(Source, NamesThatAreNone) {
  for (const char* name : {"", "/", ":", "/a", "a/b/c", "../x", "a/..", "a/.b", "a:", "a:b/c",
                           "a b", "a/b:c:d", "a\nb", "hf.co/a", "huggingface.co/",
                           "ollama.com/a/b/c", "a/b?x=1", "a/b#c", "\xc3\xa4/b"}) {
    const auto model = find_remote(name, kNobody);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, ErrorCode::kInvalidArgument) << name;
    EXPECT_NE(model.error().message.find("expected owner/repo"), std::string::npos) << name;
  }
}

TEST(Source, EachNameAsksItsOwnAddress) {
  const std::pair<const char*, const char*> kAsked[] = {
      {"o/r", "127.0.0.1:1/api/models/o/r/revision/main"},
      {"hf.co/o/r:Q4_0", "127.0.0.1:1/api/models/o/r/revision/main"},
      {"https://huggingface.co/o/r/", "127.0.0.1:1/api/models/o/r/revision/main"},
      {"qwen3", "127.0.0.1:1/v2/library/qwen3/manifests/latest"},
      {"qwen3:0.6b", "127.0.0.1:1/v2/library/qwen3/manifests/0.6b"},
      {"https://ollama.com/someone/m:v1", "127.0.0.1:1/v2/someone/m/manifests/v1"}};
  for (const auto& [name, address] : kAsked) {
    const auto model = find_remote(name, kNobody);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, ErrorCode::kIo);
    EXPECT_NE(model.error().message.find(address), std::string::npos) << model.error().message;
  }
}

}  // namespace
}  // namespace tempo9::store
