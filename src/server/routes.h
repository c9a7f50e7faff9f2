// Which handler answers which request. A new dialect is one file and its lines in routes.cc.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "server/http/message.h"
#include "server/service.h"

namespace tempo9::server {

// From any thread.
class Router {
 public:
  // Until now every route but /health and the console says 503; from here on requests are served.
  void set_ready(std::shared_ptr<const Service> service);
  // New requests get 503 from here on.
  void set_draining() { draining_ = true; }

  void handle(const std::shared_ptr<http::Exchange>& exchange) const;

 private:
  std::shared_ptr<const Service> service() const;

  mutable std::mutex mutex_;
  std::shared_ptr<const Service> service_;  // mutex_
  std::atomic<bool> draining_{false};
};

}  // namespace tempo9::server
