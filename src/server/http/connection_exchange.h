// The Exchange that a connection's handler gets.
#pragma once

#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "server/http/connection.h"
#include "server/http/message.h"

namespace tempo9::server::http {

class ConnectionExchange final : public Exchange {
 public:
  ConnectionExchange(std::shared_ptr<Connection> connection, uint64_t number, Request request)
      : connection_(std::move(connection)), number_(number), request_(std::move(request)) {}

  const Request& request() const override { return request_; }
  void post(std::function<void()> task) override {
    boost::asio::post(connection_->executor(), [connection = connection_, task = std::move(task)] {
      connection->run(task);
    });
  }
  void after(std::chrono::milliseconds delay, std::function<void()> task) override {
    if (!gone()) connection_->after(delay, std::move(task));
  }
  void respond(Response response) override {
    if (!gone()) connection_->send_response(response);
  }
  void start_stream(std::string_view content_type, const Headers& headers) override {
    if (!gone()) connection_->send_head(content_type, headers);
  }
  void write(std::string_view bytes) override {
    if (!gone()) connection_->send_chunk(bytes);
  }
  void finish() override {
    if (!gone()) connection_->send_end();
  }
  void reset() override {
    if (!gone()) connection_->reset();
  }
  size_t n_pending() const override { return gone() ? 0 : connection_->n_pending(); }
  bool gone() const override { return !connection_->is_current(number_); }
  void note(std::string_view name, double value) override {
    if (!gone()) connection_->note(name, value);
  }
  void on_gone(std::function<void()> callback) override {
    if (auto* callbacks = connection_->callbacks(number_)) callbacks->on_gone = std::move(callback);
  }
  void on_drain(std::function<void()> callback) override {
    if (auto* callbacks = connection_->callbacks(number_))
      callbacks->on_drain = std::move(callback);
  }

 private:
  std::shared_ptr<Connection> connection_;
  uint64_t number_;
  Request request_;
};

}  // namespace tempo9::server::http
