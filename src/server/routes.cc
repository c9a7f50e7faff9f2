#include "server/routes.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "server/cache_report.h"
#include "server/console.h"
#include "server/dialects/anthropic.h"
#include "server/dialects/ollama.h"
#include "server/dialects/openai.h"
#include "server/dialects/openai_responses.h"
#include "server/errors.h"
#include "server/json_body.h"
#include "server/operations.h"

namespace tempo9::server {
namespace {

using RouteHandler = void (*)(std::shared_ptr<const Service>, std::shared_ptr<http::Exchange>);

struct Route {
  std::string_view method;
  std::string_view path;  // one that ends in "/" takes what begins with it
  RouteHandler handler;
  bool writes_text = false;  // the model does
};

constexpr std::string_view kHealth = "/health";

constexpr Route kRoutes[] = {
    {"POST", "/v1/chat/completions", openai::chat_completions, true},
    {"POST", "/v1/completions", openai::completions, true},
    {"POST", "/v1/embeddings", openai::embeddings},
    {"POST", "/v1/responses", openai::create_response, true},
    {"POST", "/v1/responses/input_tokens", openai::count_response_tokens},
    {"POST", "/v1/responses/", openai::cancel_response},
    {"GET", "/v1/responses/", openai::get_response},
    {"DELETE", "/v1/responses/", openai::delete_response},
    {"GET", "/v1/models", openai::list_models},
    {"GET", "/v1/models/", openai::get_model},
    {"POST", "/v1/messages", anthropic::messages, true},
    {"POST", "/v1/messages/count_tokens", anthropic::count_tokens},
    {"GET", "/", ollama::root},
    {"GET", "/api/version", ollama::version},
    {"GET", "/api/tags", ollama::tags},
    {"GET", "/api/ps", ollama::ps},
    {"POST", "/api/show", ollama::show},
    {"POST", "/api/pull", ollama::pull},
    {"POST", "/api/chat", ollama::chat, true},
    {"POST", "/api/generate", ollama::generate, true},
    {"POST", "/api/embed", ollama::embed},
    {"POST", "/api/embeddings", ollama::embeddings},
    {"GET", "/metrics", metrics},
    {"GET", "/debug/cache", debug_cache},
    {"POST", "/tokenize", tokenize},
    {"POST", "/detokenize", detokenize},
    {"POST", "/apply-template", apply_template},
};

bool takes_more(const Route& route) { return route.path.size() > 1 && route.path.ends_with('/'); }

bool path_matches(const Route& route, std::string_view path) {
  if (takes_more(route)) return path.size() > route.path.size() && path.starts_with(route.path);
  // "/v1/models/" is the list, too.
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path == route.path;
}

bool method_matches(std::string_view wanted, std::string_view found) {
  return wanted == found || (wanted == "GET" && found == "HEAD");
}

void answer_health(http::Exchange& exchange, const Service* service, bool draining) {
  const engine::Stats stats = service != nullptr ? service->engine().stats() : engine::Stats{};
  const bool ok = service != nullptr && !draining && !stats.has_failed;
  http::Response response;
  response.status = ok ? 200 : 503;
  const char* trouble = stats.has_failed ? "failed" : draining ? "draining" : "loading";
  Json body = {{"status", ok ? "ok" : trouble}};
  // Ready all the same: a request loads it.
  if (ok && !stats.is_loaded) body["model"] = "unloaded";
  response.body = dump(body);
  if (!ok) response.headers.emplace_back("Retry-After", "1");
  exchange.respond(std::move(response));
}

void answer_preflight(http::Exchange& exchange) {
  http::Response response;
  response.status = 204;
  response.content_type.clear();
  response.headers = {{"Allow", "GET, HEAD, POST, DELETE, OPTIONS"}};
  if (!exchange.request().origin.empty()) {
    // "*" does not stand for Authorization.
    response.headers.insert(response.headers.end(),
                            {{"Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE, OPTIONS"},
                             {"Access-Control-Allow-Headers", "Authorization, *"},
                             {"Access-Control-Allow-Private-Network", "true"},
                             {"Access-Control-Max-Age", "600"}});
  }
  exchange.respond(std::move(response));
}

void refuse_method(http::Exchange& exchange, const std::string& allowed) {
  http::Response response =
      error_for_path(exchange.request().path, 405,
                     fmt::format("{} {}: this path takes {}", exchange.request().method,
                                 exchange.request().path, allowed),
                     "method_not_allowed");
  response.headers.emplace_back("Allow", allowed);
  exchange.respond(std::move(response));
}

// A wrong base URL makes a path that has a piece too many in front, or too few.
std::string likely_route(std::string_view path) {
  for (const Route& route : kRoutes) {
    if (route.path.size() > 1 && path.size() > 1 &&
        (path.ends_with(route.path) || route.path.ends_with(path)))
      return std::string(route.path);
  }
  return {};
}

std::string all_routes() {
  std::string known = fmt::format("{}, /console", kHealth);
  std::string_view before;
  for (const Route& route : kRoutes) {
    if (route.path != before)
      known += fmt::format(", {}{}", route.path, takes_more(route) ? "{id}" : "");
    before = route.path;
  }
  return known;
}

void refuse_path(http::Exchange& exchange) {
  const std::string& path = exchange.request().path;
  const std::string likely = likely_route(path);
  exchange.respond(
      error_for_path(path, 404,
                     fmt::format("{} {}: no such route; {}", exchange.request().method, path,
                                 likely.empty() ? fmt::format("there are {}", all_routes())
                                                : fmt::format("did you mean {}?", likely)),
                     "unknown_route"));
}

}  // namespace

void Router::set_ready(std::shared_ptr<const Service> service) {
  const std::lock_guard lock(mutex_);
  service_ = std::move(service);
}

std::shared_ptr<const Service> Router::service() const {
  const std::lock_guard lock(mutex_);
  return service_;
}

void Router::handle(const std::shared_ptr<http::Exchange>& exchange) const {
  const http::Request& request = exchange->request();
  const std::shared_ptr<const Service> model = service();
  if (request.method == "OPTIONS") return answer_preflight(*exchange);
  if (request.path == kHealth) {
    if (!method_matches("GET", request.method)) return refuse_method(*exchange, "GET, HEAD");
    return answer_health(*exchange, model.get(), draining_);
  }
  if (is_console(request)) {
    if (!method_matches("GET", request.method)) return refuse_method(*exchange, "GET, HEAD");
    return exchange->respond(console_response(request));
  }
  std::string allowed;
  for (const Route& route : kRoutes) {
    if (!path_matches(route, request.path)) continue;
    if (!method_matches(route.method, request.method)) {
      const std::string_view methods = route.method == "GET" ? "GET, HEAD" : route.method;
      if (allowed.find(methods) == std::string::npos) {
        allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", methods);
      }
      continue;
    }
    if (model == nullptr || draining_) {
      return exchange->respond(error_for_path(
          request.path, Error{ErrorCode::kResourceExhausted,
                              model == nullptr ? "the model is being loaded; try again in a moment"
                                               : "the server is shutting down"}));
    }
    if (route.writes_text && !model->engine().info().writes_text) {
      return exchange->respond(error_for_path(
          request.path, Error{ErrorCode::kUnsupported,
                              fmt::format("{} is an embedding model and writes no text; it answers "
                                          "POST /v1/embeddings and /api/embed",
                                          model->name())}));
    }
    return route.handler(model, exchange);
  }
  if (!allowed.empty()) return refuse_method(*exchange, allowed);
  refuse_path(*exchange);
}

}  // namespace tempo9::server
