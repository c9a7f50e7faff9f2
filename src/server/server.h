// The HTTP server: a listener and the routes behind it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/http/listener.h"
#include "server/log.h"
#include "server/routes.h"
#include "server/service.h"

namespace tempo9::server {

struct ServerOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 11435;
  std::string unix_socket;                 // a path, in place of host and port
  std::string tls_cert, tls_key;           // PEM files, both or none
  std::vector<std::string> api_keys;       // any will do; needed when host is no loopback address
  std::vector<std::string> allow_origins;  // beside the server's own
  std::vector<std::string> allow_hosts;    // beside the loopback names and host
  http::Limits limits;
  std::shared_ptr<const Log> log;  // null: none
};

// Life: open() answers /health with 503; set_ready() serves; drain() ends. The engine dies after
// stop() and before the server: tasks that it still posts are kept, and dropped with the server.
class Server {
 public:
  // Errors: kInvalidArgument (a host beyond loopback without a key), and as http::Listener::open.
  static Result<std::unique_ptr<Server>> open(ServerOptions options);
  ~Server();

  uint16_t port() const { return listener_->port(); }
  std::string url() const;  // "http://127.0.0.1:11435", "unix:/run/tempo9.sock"

  void set_ready(std::shared_ptr<const Service> service) { router_.set_ready(std::move(service)); }
  // Refuses new work from here on; what runs goes on, and /health says so.
  void begin_drain();
  bool idle() const { return listener_->n_active() == 0; }
  // Cuts what still runs and joins the threads.
  void stop() { listener_->stop(); }

 private:
  explicit Server(ServerOptions options) : options_(std::move(options)) {}

  ServerOptions options_;
  Router router_;
  std::unique_ptr<http::Listener> listener_;
};

}  // namespace tempo9::server
