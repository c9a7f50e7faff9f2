// One HTTP exchange as the rest of the server sees it: no sockets, no parsing.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tempo9::server::http {

struct Request {
  std::string method = {};  // upper case, as sent
  std::string path = {};    // without the query, still percent-encoded
  std::string query = {};   // behind the "?", the same
  std::string body = {};
  std::string host = {};           // Host header; empty: none
  std::string origin = {};         // Origin header; empty: none
  std::string authorization = {};  // Authorization header
  std::string x_api_key = {};      // x-api-key header
  std::string explain = {};        // X-Tempo9-Explain header
  std::string session = {};        // the first of the headers that name a session; empty: none
  std::string id = {};             // X-Request-Id header, or one that was made up
  std::string accept = {};         // Accept header
  std::string if_none_match = {};  // If-None-Match header
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  Headers headers = {};  // further ones
};

// A request being answered: exactly one respond(), or start_stream() with finish() or reset()
// behind it. Threads: post() from any thread; everything else, and every callback, on the
// exchange's own strand (inside a posted task, the handler, or a callback). Calls after the client
// has gone do nothing.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const Request& request() const = 0;
  // Runs task later on the strand, in the order of the calls.
  virtual void post(std::function<void()> task) = 0;
  // Runs task on the strand after a delay, unless the exchange has ended by then. One at a time:
  // replaces the last.
  virtual void after(std::chrono::milliseconds delay, std::function<void()> task) = 0;

  virtual void respond(Response response) = 0;

  // Sends the head of a 200 at once; the body follows in pieces.
  virtual void start_stream(std::string_view content_type, const Headers& headers = {}) = 0;
  virtual void write(std::string_view bytes) = 0;
  virtual void finish() = 0;
  // Cuts the connection so that the client sees an error and not an end.
  virtual void reset() = 0;

  // Bytes that were given to write() and have not reached the socket: the writer should wait for
  // on_drain above a mark.
  virtual size_t n_pending() const = 0;
  virtual bool gone() const = 0;

  // A number for the log's line of this request: "prompt_tokens", 120.
  virtual void note(std::string_view, double) {}

  // on_gone: the client closed or broke the connection before the end. on_drain: n_pending() fell
  // to zero. Both are dropped when the exchange ends, so they may own what owns the exchange.
  virtual void on_gone(std::function<void()> callback) = 0;
  virtual void on_drain(std::function<void()> callback) = 0;
};

// Called on the exchange's strand. Must answer it, now or later.
using Handler = std::function<void(std::shared_ptr<Exchange>)>;

}  // namespace tempo9::server::http
