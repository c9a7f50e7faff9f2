// What was stored of earlier responses: /v1/responses/{id} and what stands below it.
#include <string_view>
#include <utility>

#include "base/percent.h"
#include "server/dialects/openai_responses.h"
#include "server/errors.h"

namespace tempo9::server::openai {
namespace {

constexpr std::string_view kPrefix = "/v1/responses/";
constexpr std::string_view kInputItems = "/input_items";
constexpr std::string_view kCancel = "/cancel";

// The id of the path, which begins with kPrefix and may end in suffix.
std::string id_of(const http::Exchange& exchange, std::string_view suffix = {}) {
  std::string_view path = exchange.request().path;
  path.remove_prefix(kPrefix.size());
  if (path.ends_with('/')) path.remove_suffix(1);
  if (!suffix.empty() && path.ends_with(suffix)) path.remove_suffix(suffix.size());
  return percent_decode(path);
}

Error not_stored(const std::string& id) {
  return make_error(ErrorCode::kNotFound,
                    "Response with id {} not found: it may be too old, deleted, or made with "
                    "store: false",
                    dump(Json(id)));
}

void list_input_items(const Service& service, http::Exchange& exchange) {
  const std::string id = id_of(exchange, kInputItems);
  const auto stored = service.responses().get(id);
  if (stored == nullptr) return exchange.respond(openai_error(not_stored(id)));
  const Json items = Json::parse(stored->items);
  Json data = Json::array();  // newest first, as the API's default is
  for (auto item = items.rbegin(); item != items.rend(); ++item) {
    data.push_back(*item);
    if (!data.back().contains("status")) data.back()["status"] = "completed";
  }
  const auto id_at = [&data](size_t i) { return data.empty() ? Json("") : data[i]["id"]; };
  Json body{{"object", "list"}};
  body["first_id"] = id_at(0);
  body["last_id"] = id_at(data.empty() ? 0 : data.size() - 1);
  body["has_more"] = false;
  body["data"] = std::move(data);
  exchange.respond({.body = dump(body)});
}

}  // namespace

void get_response(std::shared_ptr<const Service> service,
                  std::shared_ptr<http::Exchange> exchange) {
  if (std::string_view(exchange->request().path).ends_with(kInputItems))
    return list_input_items(*service, *exchange);
  const std::string id = id_of(*exchange);
  const auto stored = service->responses().get(id);
  if (stored == nullptr) return exchange->respond(openai_error(not_stored(id)));
  exchange->respond({.body = stored->response});
}

void delete_response(std::shared_ptr<const Service> service,
                     std::shared_ptr<http::Exchange> exchange) {
  const std::string id = id_of(*exchange);
  if (!service->responses().erase(id)) return exchange->respond(openai_error(not_stored(id)));
  exchange->respond(
      {.body = dump(Json{{"id", id}, {"object", "response.deleted"}, {"deleted", true}})});
}

void cancel_response(std::shared_ptr<const Service> service,
                     std::shared_ptr<http::Exchange> exchange) {
  const std::string_view path = exchange->request().path;
  if (!path.ends_with(kCancel)) {
    return exchange->respond(openai_error(
        Error{ErrorCode::kNotFound, fmt::format("POST {}: no such route; POST /v1/responses makes "
                                                "a response",
                                                path)}));
  }
  const std::string id = id_of(*exchange, kCancel);
  if (service->responses().get(id) == nullptr)
    return exchange->respond(openai_error(not_stored(id)));
  exchange->respond(openai_error(
      Error{ErrorCode::kInvalidArgument,
            fmt::format("response {} has ended: only one that runs in the background can be "
                        "cancelled; close the connection to stop a stream",
                        id)}));
}

}  // namespace tempo9::server::openai
