// Embeddings, for every dialect that has them: texts to requests, pooled states to vectors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "server/generation.h"
#include "server/json_body.h"
#include "server/service.h"

namespace tempo9::server {

inline constexpr size_t kMaxEmbeddingInputs = 2048;  // OpenAI's limit

// Whether the model gives embeddings. Errors: kUnsupported, naming --pooling.
Status check_embeds(const Service& service);

// What the model's tokenizer makes of a text, begin and end tokens included. Control tokens are
// plain text: it comes from outside.
std::vector<TokenId> encode_for_embedding(const Service& service, const std::string& text);

// Drops tokens at the end so that at most limit are left; the tokenizer's end token stays the last
// one.
void truncate_for_embedding(const Service& service, size_t limit, std::vector<TokenId>* ids);

// `dimensions`, 1 to the model's width; that width when it is absent.
uint32_t read_dimensions(Fields& fields, const Service& service);

// The first n numbers, scaled to length 1 (all zeros stay).
std::vector<float> unit_vector(std::vector<float> embedding, size_t n);

// One request an input. Inputs of one call are one session: others come in between.
std::vector<engine::GenerateRequest> embedding_requests(const Service& service,
                                                        std::vector<std::vector<TokenId>> inputs);

// Gathers the vectors of all inputs; the dialect writes the body.
class EmbeddingReply : public Reply {
 public:
  explicit EmbeddingReply(size_t n_inputs) : embeddings_(n_inputs) {}

  Next on_event(http::Exchange& exchange, size_t choice, engine::Event&& event) final;
  void keep_alive(http::Exchange&) final {}  // never streamed

 protected:
  std::vector<std::vector<float>>& embeddings() { return embeddings_; }  // by input, as pooled
  uint64_t n_tokens() const { return n_tokens_; }

 private:
  std::vector<std::vector<float>> embeddings_;
  uint64_t n_tokens_ = 0;
};

}  // namespace tempo9::server
