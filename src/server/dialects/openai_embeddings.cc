// POST /v1/embeddings.
#include <bit>
#include <cstring>
#include <utility>

#include "base/base64.h"
#include "server/dialects/openai.h"
#include "server/embedding.h"
#include "server/errors.h"

namespace tempo9::server::openai {
namespace {

constexpr std::string_view kExpectedInput =
    "a string, an array of strings, of token ids, or of arrays of token ids";

struct EmbeddingJob {
  std::vector<std::vector<TokenId>> inputs;
  std::string model;
  uint32_t dimensions = 0;
  bool base64 = false;
};

// where: "input", or "input[i]" of several.
Result<std::vector<TokenId>> read_input(const Json& value, const std::string& where,
                                        const Service& service) {
  std::vector<TokenId> ids;
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    if (text.empty()) {
      return make_error(ErrorCode::kInvalidArgument, "{}: found an empty string, expected text",
                        where);
    }
    ids = encode_for_embedding(service, text);
  } else {
    const Json holder{{where, value}};
    Fields fields(holder);
    fields.read(where, 0, service.tokenizer().size() - 1, &ids);
    T9_TRY(fields.status());
  }
  if (ids.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "{}: found no tokens, expected at least one",
                      where);
  }
  const size_t limit = service.engine().info().max_length;
  if (ids.size() > limit) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}This model's maximum context length is {} tokens, however you requested "
                      "{} tokens ({} in your prompt; 0 for the completion). Please reduce your "
                      "prompt, or start the server with a larger --max-length.",
                      where == "input" ? "" : where + ": ", limit, ids.size(), ids.size());
  }
  return ids;
}

Result<std::vector<std::vector<TokenId>>> read_inputs(const Json* value, const Service& service) {
  std::vector<std::vector<TokenId>> inputs;
  const bool is_array = value != nullptr && value->is_array() && !value->empty();
  if (value == nullptr || !(is_array || value->is_string())) {
    return make_error(ErrorCode::kInvalidArgument, "input: found {}, expected {}",
                      value == nullptr ? "nothing" : describe(*value), kExpectedInput);
  }
  if (value->is_string() || value->front().is_number()) {
    T9_TRY(auto input, read_input(*value, "input", service));
    inputs.push_back(std::move(input));
    return inputs;
  }
  if (value->size() > kMaxEmbeddingInputs) {
    return make_error(ErrorCode::kInvalidArgument, "input: found {} inputs, expected at most {}",
                      value->size(), kMaxEmbeddingInputs);
  }
  for (size_t i = 0; i < value->size(); ++i) {
    const Json& element = (*value)[i];
    if (!element.is_string() && !element.is_array()) {
      return make_error(ErrorCode::kInvalidArgument, "input[{}]: found {}, expected input to be {}",
                        i, describe(element), kExpectedInput);
    }
    T9_TRY(auto input, read_input(element, fmt::format("input[{}]", i), service));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Result<EmbeddingJob> read_embedding_job(const Json& body, const Service& service) {
  T9_TRY(check_embeds(service));
  EmbeddingJob job;
  Fields fields(body);
  job.model = read_model(fields, service);
  std::string format = "float";
  fields.read("encoding_format", &format);
  if (format != "float" && format != "base64") {
    fields.fail("encoding_format", "\"float\" or \"base64\"");
  }
  job.base64 = format == "base64";
  job.dimensions = read_dimensions(fields, service);
  T9_TRY(fields.status());
  T9_TRY(job.inputs, read_inputs(fields.find("input"), service));
  return job;
}

std::string base64_of(const std::vector<float>& values) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return encode_base64(bytes);
}

class OpenAiEmbeddingReply final : public EmbeddingReply {
 public:
  OpenAiEmbeddingReply(size_t n_inputs, const EmbeddingJob& job)
      : EmbeddingReply(n_inputs),
        model_(job.model),
        dimensions_(job.dimensions),
        base64_(job.base64) {}

  void on_end(http::Exchange& exchange) override {
    Json data = Json::array();
    for (std::vector<float>& pooled : embeddings()) {
      const std::vector<float> vector = unit_vector(std::move(pooled), dimensions_);
      Json entry = Json::object();
      entry["object"] = "embedding";
      entry["index"] = data.size();
      if (base64_) {
        entry["embedding"] = base64_of(vector);
      } else {
        entry["embedding"] = vector;
      }
      data.push_back(std::move(entry));
    }
    Json body = Json::object();
    body["object"] = "list";
    body["data"] = std::move(data);
    body["model"] = model_;
    body["usage"] = {{"prompt_tokens", n_tokens()}, {"total_tokens", n_tokens()}};
    exchange.respond({.body = dump(body)});
  }

 private:
  std::string model_;
  uint32_t dimensions_;
  bool base64_;
};

}  // namespace

void embeddings(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  auto body = parse_body(exchange->request().body);
  if (!body) return exchange->respond(openai_error(body.error()));
  auto job = read_embedding_job(*body, *service);
  if (!job) return exchange->respond(openai_error(job.error()));
  auto reply = std::make_unique<OpenAiEmbeddingReply>(job->inputs.size(), *job);
  auto requests = embedding_requests(*service, std::move(job->inputs));
  generate(service, exchange, std::move(requests), std::move(reply));
}

}  // namespace tempo9::server::openai
