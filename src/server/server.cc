#include "server/server.h"

#include <fmt/format.h>

#include "server/console.h"
#include "server/errors.h"
#include "server/http/url.h"

namespace tempo9::server {

Result<std::unique_ptr<Server>> Server::open(ServerOptions options) {
  // Who may open a socket's file is up to the file system.
  bool loopback = !options.unix_socket.empty();
  if (!loopback) {
    T9_TRY(loopback, http::is_loopback(options.host));
  }
  if (!loopback && options.api_keys.empty()) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "--host {}: other machines could connect, so an API key is needed; add --api-key-file F "
        "(or --api-key KEY, or TEMPO9_API_KEY), or leave --host out to stay on 127.0.0.1",
        options.host);
  }
  std::unique_ptr<Server> server(new Server(std::move(options)));
  const ServerOptions& kept = server->options_;
  http::ListenerOptions listener;
  listener.host = kept.host;
  listener.port = kept.port;
  listener.unix_socket = kept.unix_socket;
  listener.tls_cert = kept.tls_cert;
  listener.tls_key = kept.tls_key;
  listener.limits = kept.limits;
  listener.access.hosts = kept.allow_hosts;
  listener.access.hosts.push_back(kept.host.find(':') == std::string::npos ||
                                          kept.host.starts_with('[')
                                      ? kept.host
                                      : "[" + kept.host + "]");
  listener.access.any_address = !loopback;
  listener.access.origins = kept.allow_origins;
  listener.access.api_keys = kept.api_keys;
  listener.access.without_key = is_console;
  listener.handler = [router = &server->router_](const std::shared_ptr<http::Exchange>& exchange) {
    router->handle(exchange);
  };
  listener.error_response = [](int status, const std::string& message, const std::string& code,
                               const http::Request& request) {
    return error_for_path(request.path, status, message, code);
  };
  if (kept.log != nullptr) {
    listener.access_log = [log = kept.log](const http::AccessRecord& record) {
      log->write(record);
    };
  }
  T9_TRY(server->listener_, http::Listener::open(std::move(listener)));
  return server;
}

Server::~Server() = default;

std::string Server::url() const {
  if (!options_.unix_socket.empty()) return "unix:" + options_.unix_socket;
  const bool bare_v6 =
      options_.host.find(':') != std::string::npos && !options_.host.starts_with('[');
  return fmt::format("{}://{}:{}", options_.tls_cert.empty() ? "http" : "https",
                     bare_v6 ? "[" + options_.host + "]" : options_.host, port());
}

void Server::begin_drain() {
  router_.set_draining();
  listener_->close();
}

}  // namespace tempo9::server
