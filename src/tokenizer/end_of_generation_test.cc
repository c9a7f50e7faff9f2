#include "tokenizer/end_of_generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo9::tokenizer {
namespace {

// Spellings of the tokens that end a reply.
std::vector<std::string> ends(const VocabData& vocab) {
  const std::vector<bool> flags = find_end_tokens(vocab);
  std::vector<std::string> found;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i]) found.push_back(vocab.tokens[i]);
  }
  return found;
}

VocabData control(std::vector<std::string> tokens, TokenId eos) {
  VocabData vocab;
  vocab.types.assign(tokens.size(), 3);
  vocab.tokens = std::move(tokens);
  vocab.eos = eos;
  return vocab;
}

using testing::ElementsAre;

// After eos_token_id in each model's generation_config.json.
TEST(EndOfGeneration, ModelFamilies) {
  EXPECT_THAT(ends(control({"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|fim_pad|>"}, 2)),
              ElementsAre("<|endoftext|>", "<|im_end|>"));
  EXPECT_THAT(
      ends(control({"<|begin_of_text|>", "<|end_of_text|>", "<|eom_id|>", "<|eot_id|>"}, 1)),
      ElementsAre("<|end_of_text|>", "<|eom_id|>", "<|eot_id|>"));
  EXPECT_THAT(ends(control({"<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>"}, 0)),
              ElementsAre("<eos>", "<end_of_turn>"));
  EXPECT_THAT(ends(control({"<|endoftext|>", "<|return|>", "<|call|>", "<|end|>", "<|start|>"}, 1)),
              ElementsAre("<|endoftext|>", "<|return|>", "<|call|>"));
  EXPECT_THAT(ends(control({"<s>", "<|end|>", "<|endoftext|>"}, 2)),
              ElementsAre("<|end|>", "<|endoftext|>"));
  EXPECT_THAT(ends(control(
                  {"[gMASK]", "<|endoftext|>", "<|user|>", "<|assistant|>", "<|observation|>"}, 1)),
              ElementsAre("<|endoftext|>", "<|user|>", "<|observation|>"));
}

TEST(EndOfGeneration, Gemma4WaitsForTheTool) {
  VocabData vocab = control({"<eos>", "<turn|>", "<|tool_response>", "</s>"}, 0);
  vocab.types = {3, 3, 4, 1};
  EXPECT_THAT(ends(vocab), ElementsAre("<eos>", "<turn|>", "<|tool_response>"));
}

TEST(EndOfGeneration, OrdinaryTokensDoNotEnd) {
  VocabData vocab = control({"</s>", "<|im_end|>", "x", "y", "z"}, -1);
  vocab.types = {4, 1, 1, 1, 1};  // Gemma 3 has </s> as an HTML tag
  EXPECT_THAT(ends(vocab), ElementsAre());
  vocab.eos = 2;
  vocab.eot = 3;
  vocab.eom = 4;
  EXPECT_THAT(ends(vocab), ElementsAre("x", "y", "z"));
}

}  // namespace
}  // namespace tempo9::tokenizer
