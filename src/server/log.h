// What the server says of itself: one line an event, for people or for machines.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "server/http/listener.h"
#include "server/json_body.h"

namespace tempo9::server {

enum class LogLevel { kError, kWarning, kInfo, kDebug };
enum class LogFormat { kText, kJson };
std::optional<LogLevel> log_level_from(std::string_view name);
std::optional<LogFormat> log_format_from(std::string_view name);

// Immutable; any thread, if the sink is.
class Log {
 public:
  using Sink = std::function<void(std::string_view line)>;  // with its newline

  Log(LogLevel level, LogFormat format, Sink sink)
      : level_(level), format_(format), sink_(std::move(sink)) {}

  bool wants(LogLevel level) const { return level <= level_; }
  // fields: an object; what strangers chose in it cannot begin a line of its own.
  void write(LogLevel level, std::string_view message, const Json& fields = Json::object()) const;
  // Answered requests at kInfo, those that only look (/health, /metrics) at kDebug, faults of the
  // server at kWarning. Never a body, a key, or a query.
  void write(const http::AccessRecord& record) const;

 private:
  LogLevel level_;
  LogFormat format_;
  Sink sink_;
};

// Each line in one write() to standard error.
void write_to_stderr(std::string_view line);

}  // namespace tempo9::server
