// Listens on one address and serves HTTP/1.1 on a small thread pool of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "server/http/access.h"
#include "server/http/message.h"

namespace tempo9::server::http {

// Everything that a client can make us hold or wait for is bounded.
struct Limits {
  uint32_t max_header_bytes = 64 << 10;  // at most 100 KB: the read-ahead must hold it
  uint64_t max_body_bytes = 64ull << 20;
  uint64_t max_bodies_bytes = 256ull << 20;  // of all requests that are being read or answered
  // A newcomer beyond them takes the place of the connection that is idle for longest; if all have
  // a request in hand, it gets a 503.
  size_t max_connections = 512;
  std::chrono::milliseconds header_timeout{
      60'000};                                      // also the idle time of a kept-alive connection
  std::chrono::milliseconds body_timeout{120'000};  // from the head to the last byte
  std::chrono::milliseconds write_timeout{60'000};  // without one byte taken by the client
};

// What went wrong before a handler was asked, to a response in the right dialect.
using ErrorResponse = std::function<Response(int status, std::string message, std::string code,
                                             const Request& request)>;

// What became of one request, for the log. No header, no query and no body is in it.
struct AccessRecord {
  std::string id;
  std::string method;
  std::string path;
  int status = 0;     // 0: the client left before the first byte of an answer
  bool gone = false;  // the client left, or was cut off, before the last byte
  double seconds = 0;
  std::vector<std::pair<std::string, double>> notes;  // Exchange::note
};
// From any of the listener's threads.
using AccessLog = std::function<void(const AccessRecord&)>;

struct ListenerOptions {
  std::string host = "127.0.0.1";  // an address, or a name that resolves to one
  uint16_t port = 0;               // 0: a free one
  std::string unix_socket;         // listens at this path in place of host and port
  std::string tls_cert, tls_key;   // PEM files; empty: no TLS
  size_t n_threads = 2;
  Limits limits;
  AccessRules access;
  Handler handler;
  ErrorResponse error_response;
  AccessLog access_log;  // null: none
};

// Threads: everything from any one thread. stop() before the handlers' own state dies.
class Listener {
 public:
  // Binds and starts to answer.
  // Errors: kIo (port or path in use or not allowed, named), kInvalidArgument (a host that does not
  // resolve), as make_tls_context.
  static Result<std::unique_ptr<Listener>> open(ListenerOptions options);
  virtual ~Listener() = default;  // stops

  virtual uint16_t port() const = 0;  // 0: a Unix socket
  // Each connection ends behind the request that it has; those that wait for one are closed.
  // Newcomers are answered once, so that they can be told.
  virtual void close() = 0;
  // Requests being read or answered.
  virtual size_t n_active() const = 0;
  // Drops what is left and joins the threads. Tasks that were posted and not run die with the
  // listener.
  virtual void stop() = 0;
};

// True if every address that host resolves to is a loopback one.
Result<bool> is_loopback(const std::string& host);

}  // namespace tempo9::server::http
