// For tests: an exchange without a socket, whose strand is the test's own thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/message.h"
#include "server/json_body.h"

namespace tempo9::server::testing {

class FakeExchange final : public http::Exchange {
 public:
  explicit FakeExchange(http::Request request) : request_(std::move(request)) {}

  static std::shared_ptr<FakeExchange> post_json(std::string path, std::string body) {
    return std::make_shared<FakeExchange>(
        http::Request{.method = "POST", .path = std::move(path), .body = std::move(body)});
  }

  const http::Request& request() const override { return request_; }
  void post(std::function<void()> task) override {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }
  void after(std::chrono::milliseconds, std::function<void()> task) override {
    if (!ended_) timer = std::move(task);
  }
  void respond(http::Response answer) override {
    response = std::move(answer);
    end();
  }
  void start_stream(std::string_view type, const http::Headers& headers) override {
    content_type = type;
    stream_headers = headers;
  }
  void write(std::string_view bytes) override { stream += bytes; }
  void finish() override {
    finished = true;
    end();
  }
  void reset() override {
    was_reset = true;
    end();
  }
  size_t n_pending() const override { return pending; }
  bool gone() const override { return ended_; }
  void on_gone(std::function<void()> callback) override { gone_ = std::move(callback); }
  void on_drain(std::function<void()> callback) override { drain_ = std::move(callback); }

  // Runs posted tasks until the exchange has ended. False: it did not within ten seconds.
  bool run() {
    while (!ended_) {
      if (!run_one(std::chrono::seconds(10))) return false;
    }
    return true;
  }
  bool run_one(std::chrono::milliseconds timeout) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait_for(lock, timeout, [this] { return !tasks_.empty(); })) return false;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
    return true;
  }
  void leave() {
    const auto callback = std::exchange(gone_, nullptr);
    end();
    if (callback) callback();
  }
  // A test's last step: whoever answers holds the exchange until it ends.
  void hang_up() {
    if (!ended_) leave();
    while (run_one(std::chrono::milliseconds(0))) {
    }
  }
  void drained() {
    pending = 0;
    if (const auto callback = drain_) callback();
  }

  std::optional<http::Response> response;
  std::string content_type;
  http::Headers stream_headers;
  std::string stream;
  bool finished = false;
  bool was_reset = false;
  size_t pending = 0;
  std::function<void()> timer;

 private:
  void end() {
    ended_ = true;
    gone_ = nullptr;
    drain_ = nullptr;
    timer = nullptr;
  }

  http::Request request_;
  bool ended_ = false;
  std::function<void()> gone_;
  std::function<void()> drain_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
};

// What was answered as one JSON body.
inline Json body(const FakeExchange& exchange) {
  return Json::parse(exchange.response.value().body);
}

// The stream's events that carry JSON objects.
inline std::vector<Json> events(const FakeExchange& exchange) {
  std::vector<Json> out;
  std::istringstream lines(exchange.stream);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("data: {")) out.push_back(Json::parse(line.substr(6)));
  }
  return out;
}

}  // namespace tempo9::server::testing
