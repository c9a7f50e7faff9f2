// GET /v1/models and /v1/models/{id}. One body for both SDKs: OpenAI's keys and Anthropic's beside
// each other.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/percent.h"
#include "server/dialects/openai.h"

namespace tempo9::server::openai {
namespace {

Json model_json(const Service& service, const std::string& id) {
  const engine::ModelInfo& info = service.engine().info();
  Json model = Json::object();
  model["id"] = id;
  model["object"] = "model";
  model["created"] = service.created();
  model["owned_by"] = "tempo9";
  model["type"] = "model";
  model["display_name"] = service.name();
  model["created_at"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                                    fmt::gmtime(static_cast<std::time_t>(service.created())));
  model["lifecycle"] = "active";
  model["max_input_tokens"] = info.max_length;
  model["max_tokens"] = info.max_length;
  model["max_model_len"] = info.max_length;
  // `capabilities` is an object of Anthropic's.
  if (info.pooling != engine::Pooling::kNone) {
    model["supports_embeddings"] = true;
    model["embedding_length"] = info.embedding_width;
  }
  return model;
}

}  // namespace

void list_models(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  Json body = Json::object();
  body["object"] = "list";
  body["data"] = Json::array({model_json(*service, service->name())});
  body["has_more"] = false;
  body["first_id"] = service->name();
  body["last_id"] = service->name();
  exchange->respond({.body = dump(body)});
}

// Any name is answered: clients ask for the one in their own settings, and it is served.
void get_model(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  constexpr std::string_view kPrefix = "/v1/models/";
  const std::string id =
      percent_decode(std::string_view(exchange->request().path).substr(kPrefix.size()));
  exchange->respond({.body = dump(model_json(*service, id))});
}

}  // namespace tempo9::server::openai
