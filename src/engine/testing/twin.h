// For tests: the naive twin of the whole engine. One request, alone, on the fake model: no batch,
// pages, slices, cache, increments or threads.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/testing/fake_backend.h"
#include "sampling/logprobs.h"
#include "sampling/sampler.h"

namespace tempo9::engine::testing {

struct TwinReply {
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  std::vector<float> prompt_logprobs;  // of prompt tokens 1, 2, ...
  std::string bytes;  // of all tokens before the end token, with no stop string taken off
  std::string text;   // as shown; for requests whose bytes are valid UTF-8
  FinishReason reason = FinishReason::kLength;
};

inline TwinReply alone(const GenerateRequest& request, uint64_t seed, uint32_t max_length,
                       uint32_t n_vocab, const tokenizer::Tokenizer& tokenizer) {
  TwinReply reply;
  const auto n_tokens = static_cast<uint32_t>(tokenizer.size());
  sampling::Sampler sampler(n_vocab, n_tokens);
  std::vector<float> logits(n_vocab);
  uint64_t hash = 0;
  for (size_t i = 0; i < request.prompt.size(); ++i) {
    if (i > 0 && request.prompt_logprobs) {
      reply.prompt_logprobs.push_back(
          sampling::logprobs(logits, request.prompt[i], 0, n_tokens).chosen);
    }
    hash = kv::testing::FakeArena::step(hash, request.prompt[i]);
    if (request.prompt_logprobs || i + 1 == request.prompt.size()) {
      fake_logits(hash, n_vocab, logits.data());
    }
  }
  const auto room = max_length - static_cast<uint32_t>(request.prompt.size());
  const uint32_t max_new = std::min(room, request.max_tokens.value_or(room));
  while (reply.tokens.size() < max_new) {
    const TokenId id =
        sampler.sample(request.sampling,
                       {.logits = logits,
                        .prompt = request.prompt,
                        .output = reply.tokens,
                        .key = {seed, request.choice, static_cast<uint32_t>(reply.tokens.size())}});
    reply.tokens.push_back(id);
    if (request.n_logprobs) {
      reply.logprobs.push_back(sampling::logprobs(logits, id, 0, n_tokens).chosen);
    }
    if (!request.ignore_eos && tokenizer.ends_generation(id)) {
      reply.reason = FinishReason::kStop;
      break;
    }
    reply.bytes += tokenizer.token_bytes(id, request.spell_control);
    size_t begin = std::string::npos;
    for (const std::string& stop : request.stop) {
      begin = std::min(begin, reply.bytes.find(stop));
    }
    if (begin != std::string::npos) {
      reply.text = reply.bytes.substr(0, begin);
      reply.reason = FinishReason::kStop;
      return reply;
    }
    hash = kv::testing::FakeArena::step(hash, id);
    fake_logits(hash, n_vocab, logits.data());
  }
  reply.text = reply.bytes;
  return reply;
}

}  // namespace tempo9::engine::testing
