#include "engine/validate.h"

#include <span>
#include <string_view>

namespace tempo9::engine {
namespace {

Status check_ids(std::string_view field, std::span<const TokenId> ids, uint32_t n_ids) {
  for (const TokenId id : ids) {
    if (id < 0 || static_cast<uint32_t>(id) >= n_ids) {
      return make_error(ErrorCode::kInvalidArgument,
                        "{}: found token id {}, expected 0 to {} (this model's vocabulary)", field,
                        id, n_ids - 1);
    }
  }
  return {};
}

}  // namespace

Status validate_request(const GenerateRequest& request, uint32_t max_length, uint32_t n_ids) {
  if (request.prompt.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "prompt: found no tokens, expected at least one");
  }
  if (request.prompt.size() > max_length) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "This model's maximum context length is {} tokens. However, your prompt has {} tokens. "
        "Please shorten it, or start the server with a larger --max-length.",
        max_length, request.prompt.size());
  }
  T9_TRY(check_ids("prompt", request.prompt, n_ids));
  T9_TRY(check_ids("stop_token_ids", request.stop_token_ids, n_ids));
  T9_TRY(sampling::validate(request.sampling));
  for (const auto& [id, bias] : request.sampling.logit_bias) {
    T9_TRY(check_ids("logit_bias", std::span(&id, 1), n_ids));
  }
  for (const std::string& stop : request.stop) {
    if (stop.empty()) {
      return make_error(ErrorCode::kInvalidArgument,
                        "stop: found an empty string, expected text to stop at");
    }
  }
  if (request.n_logprobs.value_or(0) > kMaxLogprobs) {
    return make_error(ErrorCode::kInvalidArgument, "logprobs: found {}, expected 0 to {}",
                      *request.n_logprobs, kMaxLogprobs);
  }
  return {};
}

Status validate_request(const GenerateRequest& request, const ModelInfo& info, uint32_t n_ids) {
  if (request.pooling == Pooling::kNone && !info.writes_text) {
    return make_error(ErrorCode::kUnsupported, "{} is an embedding model and writes no text",
                      info.name);
  }
  return validate_request(request, info.max_length, n_ids);
}

}  // namespace tempo9::engine
