#include "server/infill.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "server/testing/fake_engine.h"

namespace tempo9::server {
namespace {

TEST(Infill, AVocabularyWithoutTheTokensIsRefused) {
  testing::FakeEngine engine;
  const auto service = Service::create(engine, {}).value();
  EXPECT_FALSE(knows_infill(*service));
  const auto prompt = encode_infill(*service, "a", "b");
  ASSERT_FALSE(prompt);
  EXPECT_TRUE(prompt.error().message.starts_with("suffix: ")) << prompt.error().message;
}

// The order of the marks is Qwen2.5-Coder's own (its README's fill-in-the-middle example).
TEST(Infill, ThePromptIsPrefixSuffixMiddle) {
  testing::FakeEngine engine;
  engine.add_control_tokens({"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"});
  const auto service = Service::create(engine, {}).value();
  EXPECT_TRUE(knows_infill(*service));
  const auto ids = encode_infill(*service, "a<|fim_middle|>", "b");
  ASSERT_TRUE(ids);
  const tokenizer::Tokenizer& tokenizer = engine.tokenizer();
  EXPECT_EQ(tokenizer.decode(*ids, true),
            "<|fim_prefix|>a<|fim_middle|><|fim_suffix|>b<|fim_middle|>");
  EXPECT_EQ(std::ranges::count(*ids, tokenizer.find("<|fim_middle|>")), 1);
}

}  // namespace
}  // namespace tempo9::server
