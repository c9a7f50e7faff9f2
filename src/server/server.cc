#include "server/server.h"

#include <fmt/format.h>

#include "server/errors.h"
#include "server/http/url.h"

namespace tempo9::server {

Result<std::unique_ptr<Server>> Server::open(ServerOptions options) {
  T9_TRY(const bool loopback, http::is_loopback(options.host));
  if (!loopback && options.api_key.empty()) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "--host {}: other machines could connect, so an API key is needed; add --api-key KEY (or "
        "TEMPO9_API_KEY), or leave --host out to stay on 127.0.0.1",
        options.host);
  }
  std::unique_ptr<Server> server(new Server(std::move(options)));
  const ServerOptions& kept = server->options_;
  http::ListenerOptions listener;
  listener.host = kept.host;
  listener.port = kept.port;
  listener.limits = kept.limits;
  listener.access.hosts = kept.allow_hosts;
  listener.access.hosts.push_back(kept.host.find(':') == std::string::npos ||
                                          kept.host.starts_with('[')
                                      ? kept.host
                                      : "[" + kept.host + "]");
  listener.access.any_address = !loopback;
  listener.access.origins = kept.allow_origins;
  listener.access.api_key = kept.api_key;
  listener.handler = [router = &server->router_](const std::shared_ptr<http::Exchange>& exchange) {
    router->handle(exchange);
  };
  listener.error_response = [](int status, const std::string& message, const std::string& code,
                               const http::Request& request) {
    return error_for_path(request.path, status, message, code);
  };
  T9_TRY(server->listener_, http::Listener::open(std::move(listener)));
  return server;
}

Server::~Server() = default;

std::string Server::url() const {
  const bool bare_v6 =
      options_.host.find(':') != std::string::npos && !options_.host.starts_with('[');
  return fmt::format("http://{}:{}", bare_v6 ? "[" + options_.host + "]" : options_.host, port());
}

void Server::begin_drain() {
  router_.set_draining();
  listener_->close();
}

}  // namespace tempo9::server
