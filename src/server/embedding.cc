#include "server/embedding.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tempo9::server {

Status check_embeds(const Service& service) {
  const engine::ModelInfo& info = service.engine().info();
  if (info.pooling != engine::Pooling::kNone) return {};
  if (info.is_script) {
    return make_error(ErrorCode::kUnsupported, "a script gives no embeddings; serve a model");
  }
  return make_error(
      ErrorCode::kUnsupported,
      "{} gives no embeddings: its file declares no pooling; serve an embedding model, "
      "or start the server with --pooling mean, last or cls",
      service.name());
}

std::vector<TokenId> encode_for_embedding(const Service& service, const std::string& text) {
  std::vector<TokenId> ids;
  service.tokenizer().encode(text, {.add_special = true, .parse_control = false}, &ids);
  return ids;
}

void truncate_for_embedding(const Service& service, size_t limit, std::vector<TokenId>* ids) {
  if (ids->size() <= limit) return;
  const TokenId last = ids->back();
  ids->resize(limit);
  if (service.tokenizer().vocab().add_eos) ids->back() = last;
}

uint32_t read_dimensions(Fields& fields, const Service& service) {
  const int64_t width = service.engine().info().embedding_width;
  int64_t n = width;
  fields.read("dimensions", 1, width, &n);
  return static_cast<uint32_t>(n);
}

std::vector<float> unit_vector(std::vector<float> embedding, size_t n) {
  embedding.resize(std::min(n, embedding.size()));
  double squares = 0;
  for (const float x : embedding) squares += static_cast<double>(x) * static_cast<double>(x);
  const double length = std::sqrt(squares);
  if (length == 0) return embedding;
  for (float& x : embedding) x = static_cast<float>(static_cast<double>(x) / length);
  return embedding;
}

std::vector<engine::GenerateRequest> embedding_requests(const Service& service,
                                                        std::vector<std::vector<TokenId>> inputs) {
  const uint64_t session = service.draw() | 1;  // 0 is nobody's
  std::vector<engine::GenerateRequest> requests(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    requests[i].prompt = std::move(inputs[i]);
    requests[i].pooling = service.engine().info().pooling;
    requests[i].max_tokens = 0;
    requests[i].session = session;
  }
  return requests;
}

Reply::Next EmbeddingReply::on_event(http::Exchange&, size_t choice, engine::Event&& event) {
  if (event.finish) {
    embeddings_[choice] = std::move(event.embedding);
    n_tokens_ += event.usage.prompt_tokens;
  }
  return Next::kContinue;
}

}  // namespace tempo9::server
