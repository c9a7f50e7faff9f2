#include "server/http/request_head.h"

#include "server/http/request_id.h"
#include "server/http/url.h"

namespace tempo9::server::http {
namespace {

// By which clients name their session: Codex, Claude Code, others.
constexpr const char* kSessionHeaders[] = {"session_id", "x-claude-code-session-id",
                                           "x-session-id"};

}  // namespace

Request read_head(const boost::beast::http::request_header<>& head) {
  const auto text = [](auto view) { return std::string(view.data(), view.size()); };
  const auto header = [&](const char* name) { return text(head[name]); };
  Request request;
  request.method = text(head.method_string());
  const std::string target = text(head.target());
  request.path = target_path(target);
  request.query = target_query(target);
  request.host = header("Host");
  request.origin = header("Origin");
  request.authorization = header("Authorization");
  request.x_api_key = header("x-api-key");
  request.accept = header("Accept");
  request.if_none_match = header("If-None-Match");
  request.explain = header("X-Tempo9-Explain");
  for (const char* name : kSessionHeaders) {
    if (request.session.empty()) request.session = header(name);
  }
  request.id = request_id(header("X-Request-Id"));
  return request;
}

}  // namespace tempo9::server::http
