#include "tokenizer/end_of_generation.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tempo9::tokenizer {
namespace {

struct EndSpelling {
  std::string_view spelling;
  std::string_view only_with = "";  // counts only if the vocabulary also has this token
  std::string_view unless = "";     // does not count if the vocabulary also has this token
  bool user_defined = false;        // counts also as a user-defined token
};

// After each model's generation_config.json, eos_token_id.
constexpr EndSpelling kEndSpellings[] = {
    {.spelling = "<|im_end|>", .user_defined = true},     // ChatML: Qwen, SmolLM, LFM2, Nemotron
    {.spelling = "<|endoftext|>", .user_defined = true},  // GPT-2, Qwen, Phi, GLM, gpt-oss
    {.spelling = "<|eot_id|>", .user_defined = true},     // Llama 3
    {.spelling = "<|eom_id|>", .user_defined = true},
    {.spelling = "<|end_of_text|>", .user_defined = true},  // Llama 3, Granite
    {.spelling = "<|eot|>"},                                // Llama 4
    {.spelling = "<|eom|>"},
    {.spelling = "</s>"},   // Llama 2, Mistral; a user-defined one is an HTML tag
    {.spelling = "<eos>"},  // Gemma
    {.spelling = "<end_of_turn>", .user_defined = true},
    {.spelling = "<turn|>", .user_defined = true},  // Gemma 4
    {.spelling = "<|tool_response>",
     .only_with = "<turn|>",
     .user_defined = true},      // Gemma 4: the tool's turn
    {.spelling = "<|return|>"},  // gpt-oss
    {.spelling = "<|call|>"},
    {.spelling = "<|end|>",
     .unless = "<|return|>",
     .user_defined = true},  // Phi; in gpt-oss it ends a message only
    {.spelling = "<｜end▁of▁sentence｜>", .user_defined = true},             // DeepSeek
    {.spelling = "<|EOT|>", .user_defined = true},                           // DeepSeek Coder
    {.spelling = "<|user|>", .only_with = "[gMASK]", .user_defined = true},  // GLM-4
    {.spelling = "<|observation|>", .only_with = "[gMASK]", .user_defined = true},
};

}  // namespace

std::vector<bool> find_end_tokens(const VocabData& vocab) {
  constexpr size_t kCount = std::size(kEndSpellings);
  std::vector<bool> ends(vocab.tokens.size(), false);
  TokenId found[kCount];
  std::fill(std::begin(found), std::end(found), -1);
  const auto has = [&](std::string_view spelling) {
    return std::find(vocab.tokens.begin(), vocab.tokens.end(), spelling) != vocab.tokens.end();
  };
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    const auto type =
        vocab.types.empty() ? TokenType::kNormal : static_cast<TokenType>(vocab.types[id]);
    if (type != TokenType::kControl && type != TokenType::kUserDefined) continue;
    for (size_t i = 0; i < kCount; ++i) {
      const EndSpelling& end = kEndSpellings[i];
      if (vocab.tokens[id] != end.spelling) continue;
      if (type == TokenType::kControl || end.user_defined) found[i] = static_cast<TokenId>(id);
    }
  }
  for (size_t i = 0; i < kCount; ++i) {
    const EndSpelling& end = kEndSpellings[i];
    if (found[i] == -1) continue;
    if (!end.only_with.empty() && !has(end.only_with)) continue;
    if (!end.unless.empty() && has(end.unless)) continue;
    ends[static_cast<size_t>(found[i])] = true;
  }
  for (const TokenId id : {vocab.eos, vocab.eot, vocab.eom}) {
    if (id >= 0) ends[static_cast<size_t>(id)] = true;
  }
  return ends;
}

}  // namespace tempo9::tokenizer
