#include "server/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <iterator>

namespace tempo9::server {
namespace {

constexpr std::string_view kLevels[] = {"error", "warning", "info", "debug"};
constexpr std::string_view kFormats[] = {"text", "json"};

std::string utc_now() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto since_epoch =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     since_epoch.count() % 1000);
}

// A bare word where that is clear, else JSON's form.
std::string text_value(const Json& value) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/%{}";
  if (!value.is_string()) return dump(value);
  const auto& text = value.get_ref<const std::string&>();
  const bool plain = !text.empty() && text.find_first_not_of(kPlain) == std::string::npos;
  return plain ? text : dump(value);
}

// Line breaks in a message would let it forge a line.
std::string one_line(std::string_view message) {
  std::string line(message);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return line;
}

}  // namespace

std::optional<LogLevel> log_level_from(std::string_view name) {
  for (size_t i = 0; i < std::size(kLevels); ++i) {
    if (name == kLevels[i]) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

std::optional<LogFormat> log_format_from(std::string_view name) {
  for (size_t i = 0; i < std::size(kFormats); ++i) {
    if (name == kFormats[i]) return static_cast<LogFormat>(i);
  }
  return std::nullopt;
}

void Log::write(LogLevel level, std::string_view message, const Json& fields) const {
  if (!wants(level)) return;
  const std::string_view name = kLevels[static_cast<size_t>(level)];
  std::string line;
  if (format_ == LogFormat::kJson) {
    Json json = {{"time", utc_now()}, {"level", name}, {"message", message}};
    json.update(fields);
    line = dump(json);
  } else {
    line = fmt::format("{} tempo9 {}: {}", utc_now(), name, one_line(message));
    for (const auto& [key, value] : fields.items()) {
      line += fmt::format(" {}={}", key, text_value(value));
    }
  }
  line += '\n';
  sink_(line);
}

void Log::write(const http::AccessRecord& record) const {
  LogLevel level = LogLevel::kInfo;
  if (record.path == "/health" || record.path == "/metrics") level = LogLevel::kDebug;
  if (record.status >= 500 && record.status != 501 && record.status != 503) {
    level = LogLevel::kWarning;
  }
  if (!wants(level)) return;
  Json fields = {{"method", record.method}, {"path", record.path}, {"status", record.status}};
  if (record.gone) fields["client_left"] = true;
  fields["ms"] = std::round(record.seconds * 1e4) / 10;
  for (const auto& [key, value] : record.notes) {
    if (value == std::floor(value)) {
      fields[key] = static_cast<int64_t>(value);
    } else {
      fields[key] = value;
    }
  }
  fields["request_id"] = record.id;
  write(level, "request", fields);
}

void write_to_stderr(std::string_view line) {
  while (!line.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
    if (n <= 0) return;  // nobody listens: there is no place left to say so
    line.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace tempo9::server
