// POST /api/embed, and the older /api/embeddings: one prompt, and its vector as pooled, not scaled.
#include <utility>

#include "server/dialects/ollama.h"
#include "server/embedding.h"
#include "server/errors.h"

namespace tempo9::server::ollama {
namespace {

using std::chrono::steady_clock;

struct EmbedJob {
  bool is_old = false;
  std::vector<std::vector<TokenId>> inputs;
  std::string model;
  uint32_t dimensions = 0;
  steady_clock::time_point start = {};
};

// Too long: the end is cut off, unless the client forbids that.
Status add_input(const Service& service, const std::string& text, const std::string& where,
                 bool truncate, EmbedJob* job) {
  std::vector<TokenId> ids = encode_for_embedding(service, text);
  const size_t limit = service.engine().info().max_length;
  if (ids.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "{}: found no tokens, expected at least one",
                      where);
  }
  if (ids.size() > limit && !truncate) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}: the input length exceeds the context length: found {} tokens, expected "
                      "at most {}; leave truncate on, or start the server with a larger "
                      "--max-length",
                      where, ids.size(), limit);
  }
  truncate_for_embedding(service, limit, &ids);
  job->inputs.push_back(std::move(ids));
  return {};
}

Status read_embed_inputs(const Json* value, const Service& service, bool truncate, EmbedJob* job) {
  if (value == nullptr) return {};
  if (value->is_string()) {
    const auto text = value->get<std::string>();
    return text.empty() ? Status() : add_input(service, text, "input", truncate, job);
  }
  if (!value->is_array() || value->size() > kMaxEmbeddingInputs) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "input: found {}, expected a string or an array of at most {} strings",
        value->is_array() ? fmt::format("{} entries", value->size()) : describe(*value),
        kMaxEmbeddingInputs);
  }
  for (size_t i = 0; i < value->size(); ++i) {
    const Json& element = (*value)[i];
    const std::string where = fmt::format("input[{}]", i);
    if (!element.is_string()) {
      return make_error(ErrorCode::kInvalidArgument, "{}: found {}, expected a string", where,
                        describe(element));
    }
    T9_TRY(add_input(service, element.get<std::string>(), where, truncate, job));
  }
  return {};
}

Result<EmbedJob> read_embed_job(const Json& body, const Service& service, bool is_old) {
  T9_TRY(check_embeds(service));
  EmbedJob job;
  job.is_old = is_old;
  job.start = steady_clock::now();
  Fields fields(body);
  job.model = service.name();
  fields.read("model", &job.model);
  job.dimensions = service.engine().info().embedding_width;
  if (is_old) {
    std::string prompt;
    fields.read("prompt", &prompt);
    T9_TRY(fields.status());
    if (!prompt.empty()) T9_TRY(add_input(service, prompt, "prompt", /*truncate=*/true, &job));
    return job;
  }
  bool truncate = true;
  fields.read("truncate", &truncate);
  const Json* dimensions = fields.find("dimensions");
  if (dimensions == nullptr || *dimensions != 0) job.dimensions = read_dimensions(fields, service);
  T9_TRY(fields.status());
  T9_TRY(read_embed_inputs(fields.find("input"), service, truncate, &job));
  return job;
}

class OllamaEmbedReply final : public EmbeddingReply {
 public:
  explicit OllamaEmbedReply(EmbedJob job)
      : EmbeddingReply(job.inputs.size()), job_(std::move(job)) {}

  void on_end(http::Exchange& exchange) override {
    Json body = Json::object();
    if (job_.is_old) {
      body["embedding"] = embeddings().empty() ? std::vector<float>() : embeddings().front();
    } else {
      body["model"] = job_.model;
      Json list = Json::array();
      for (std::vector<float>& pooled : embeddings()) {
        list.push_back(unit_vector(std::move(pooled), job_.dimensions));
      }
      body["embeddings"] = std::move(list);
      const auto duration = steady_clock::now() - job_.start;
      body["total_duration"] =
          std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
      body["load_duration"] = 0;
      body["prompt_eval_count"] = n_tokens();
    }
    exchange.respond({.body = dump(body)});
  }

  http::Response error(const Error& error) const override { return ollama_error(error); }

 private:
  EmbedJob job_;
};

void run_embed(const std::shared_ptr<const Service>& service,
               const std::shared_ptr<http::Exchange>& exchange, bool is_old) {
  auto body = parse_body(exchange->request().body);
  if (!body) return exchange->respond(ollama_error(body.error()));
  auto job = read_embed_job(*body, *service, is_old);
  if (!job) return exchange->respond(ollama_error(job.error()));
  auto requests = embedding_requests(*service, job->inputs);
  auto reply = std::make_unique<OllamaEmbedReply>(*std::move(job));
  // Nothing to embed: a client that only wants the model loaded.
  if (requests.empty()) return reply->on_end(*exchange);
  server::generate(service, exchange, std::move(requests), std::move(reply));
}

}  // namespace

void embed(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  run_embed(service, exchange, /*is_old=*/false);
}

void embeddings(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  run_embed(service, exchange, /*is_old=*/true);
}

}  // namespace tempo9::server::ollama
