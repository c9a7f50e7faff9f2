// For tests: a listener over a handler, and a client of it, over real sockets on loopback.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "server/http/listener.h"

namespace tempo9::server::http::testing {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

// Set once, waited for with a bound.
class Signal {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    is_set_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [this] { return is_set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

class Client {
 public:
  explicit Client(const Listener& listener) : socket_(context_) {
    socket_.connect({asio::ip::address_v4::loopback(), listener.port()});
  }
  void send(std::string_view bytes) { asio::write(socket_, asio::buffer(bytes)); }
  // Until the server closes; the error tells a reset from an end.
  std::string read_all(boost::system::error_code* error = nullptr) {
    std::string text;
    boost::system::error_code end;
    asio::read(socket_, asio::dynamic_buffer(text), end);
    if (error != nullptr) *error = end;
    return text;
  }
  std::string ask(std::string_view bytes) {
    send(bytes);
    return read_all();
  }
  void close() { socket_.close(); }
  Tcp::socket& socket() { return socket_; }

 private:
  asio::io_context context_;
  Tcp::socket socket_;
};

inline ListenerOptions options(Handler handler) {
  ListenerOptions options;
  options.handler = std::move(handler);
  options.error_response = [](int status, const std::string& message, const std::string& code,
                              const Request&) {
    return Response{.status = status, .content_type = "text/plain", .body = code + ": " + message};
  };
  return options;
}

}  // namespace tempo9::server::http::testing
