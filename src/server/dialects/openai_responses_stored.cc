// What was stored of earlier responses: /v1/responses/{id} and what stands below it.
#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "base/percent.h"
#include "chat/exact_json.h"
#include "server/dialects/openai_responses.h"
#include "server/dialects/openai_responses_events.h"
#include "server/errors.h"
#include "server/http/url.h"
#include "server/json_body.h"

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

// The query's fields as a body has them: whole numbers and words that JSON has, else text. A list's
// name is taken with and without "[]".
Json query_json(const http::Exchange& exchange) {
  Json out = Json::object();
  for (auto& [name, value] : http::query_fields(exchange.request().query)) {
    const Json parsed = Json::parse(value, nullptr, false);
    const bool is_word = parsed.is_number_integer() || parsed.is_boolean();
    const bool is_list = name.ends_with("[]");
    if (is_list) name.resize(name.size() - 2);
    Json& field = out[name];
    if (is_list && !field.is_array()) {
      field = field.is_null() ? Json::array() : Json::array({std::move(field)});
    }
    if (field.is_array()) {
      field.push_back(value);
    } else {
      field = is_word ? parsed : Json(value);
    }
  }
  return out;
}

struct Page {
  int64_t limit = 20;
  bool newest_first = true;
  std::string after;
};
Result<Page> read_page(const Json& query) {
  Fields fields(query);
  Page page;
  std::string order = "desc";
  fields.read("limit", 1, 100, &page.limit);
  fields.read("order", &order);
  fields.read("after", &page.after);
  if (order != "asc" && order != "desc") fields.fail("order", "\"asc\" or \"desc\"");
  T9_TRY(fields.status());
  page.newest_first = order == "desc";
  return page;
}

Result<Json> input_items(const StoredResponse& stored, const Page& page) {
  Json items = *chat::parse_exactly(stored.items);
  if (page.newest_first) std::reverse(items.begin(), items.end());
  auto begin = items.begin();
  if (!page.after.empty()) {
    begin = std::find_if(items.begin(), items.end(),
                         [&](const Json& item) { return item["id"] == page.after; });
    if (begin == items.end()) {
      return make_error(ErrorCode::kInvalidArgument,
                        "after: found {}, expected the id of one of this response's input items",
                        dump(Json(page.after)));
    }
    ++begin;
  }
  const auto n_left = items.end() - begin;
  const auto n = std::min<std::ptrdiff_t>(n_left, page.limit);
  Json data = Json::array();
  data.get_ref<Json::array_t&>().assign(begin, begin + n);
  for (Json& item : data) {
    if (!item.contains("status")) item["status"] = "completed";
  }
  Json body{{"object", "list"}};
  body["first_id"] = data.empty() ? Json("") : data.front()["id"];
  body["last_id"] = data.empty() ? Json("") : data.back()["id"];
  body["has_more"] = n < n_left;
  body["data"] = std::move(data);
  return body;
}

void list_input_items(const Service& service, http::Exchange& exchange) {
  const std::string id = id_of(exchange, kInputItems);
  const auto stored = service.responses().get(id);
  if (stored == nullptr) return exchange.respond(openai_error(not_stored(id)));
  const auto page = read_page(query_json(exchange));
  if (!page) return exchange.respond(openai_error(page.error()));
  const auto body = input_items(*stored, *page);
  if (!body) return exchange.respond(openai_error(body.error()));
  exchange.respond({.body = dump(*body)});
}

struct Retrieval {
  bool stream = false;
  int64_t starting_after = -1;
};
Result<Retrieval> read_retrieval(const Json& query) {
  Fields fields(query);
  Retrieval out;
  fields.read("stream", &out.stream);
  fields.read("starting_after", 0, std::numeric_limits<int64_t>::max(), &out.starting_after);
  T9_TRY(fields.status());
  return out;
}

}  // namespace

void get_response(std::shared_ptr<const Service> service,
                  std::shared_ptr<http::Exchange> exchange) {
  if (std::string_view(exchange->request().path).ends_with(kInputItems))
    return list_input_items(*service, *exchange);
  const std::string id = id_of(*exchange);
  const auto stored = service->responses().get(id);
  if (stored == nullptr) return exchange->respond(openai_error(not_stored(id)));
  const auto retrieval = read_retrieval(query_json(*exchange));
  if (!retrieval) return exchange->respond(openai_error(retrieval.error()));
  if (!retrieval->stream) return exchange->respond({.body = stored->response});
  exchange->start_stream("text/event-stream; charset=utf-8");
  replay_response(*chat::parse_exactly(stored->response), *stored, retrieval->starting_after,
                  [&exchange](std::string_view bytes) { exchange->write(bytes); });
  exchange->finish();
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
