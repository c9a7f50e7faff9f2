#include "cli/server_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/options.h"
#include "server/log.h"

namespace tempo9::cli {
namespace {

constexpr size_t kMaxKeyFileBytes = 1 << 20;

// As browsers send it: a scheme and a host, no path.
Status check_origin(const std::string& origin) {
  const size_t colon = origin.find("://");
  const bool ok = colon != std::string::npos && colon > 0 && colon + 3 < origin.size() &&
                  origin.find_first_of("/?# \t", colon + 3) == std::string::npos;
  if (ok || origin == "*" || origin == "null") return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "--allow-origin: found \"{}\", expected scheme://host or scheme://host:port, "
                    "like http://localhost:3000",
                    origin);
}

// What a header can hold.
bool can_be_sent(const std::string& key) {
  for (const char c : key) {
    if (c <= ' ' || c > '~') return false;
  }
  return !key.empty();
}

// One key a line; empty lines are none.
Status read_key_file(const std::string& path, std::vector<std::string>* keys) {
  std::error_code size_error;
  const auto size = std::filesystem::file_size(path, size_error);
  if (size_error || size > kMaxKeyFileBytes) {
    return make_error(ErrorCode::kIo, "--api-key-file: cannot read {}: {}", path,
                      size_error ? size_error.message() : "it is too large to be one");
  }
  std::ifstream file(path);
  size_t n_keys = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    if (!can_be_sent(line)) {
      return make_error(ErrorCode::kInvalidArgument,
                        "--api-key-file: found spaces or letters beyond ASCII in key {} of {}, "
                        "expected what an HTTP header can hold",
                        n_keys + 1, path);
    }
    keys->push_back(line);
    ++n_keys;
  }
  if (n_keys > 0) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "--api-key-file: found no key in {}, expected one a line", path);
}

// A secret that every user of the machine can read is none. Groups are left alone: a service's
// certificate is often shared by one.
void warn_of_readers(const char* flag, const std::string& path, const server::Log& log) {
  std::error_code error;
  const auto permissions = std::filesystem::status(path, error).permissions();
  if (error || (permissions & std::filesystem::perms::others_read) == std::filesystem::perms::none)
    return;
  log.write(server::LogLevel::kWarning,
            fmt::format("{}: every user of this machine can read {}; chmod o-r takes that away",
                        flag, path));
}

}  // namespace

void ServerFlags::add_to(CLI::App* app) {
  app->add_option("--port", port_, "TCP port; 0 takes a free one (default 11435)")->type_name("N");
  app->add_option("--host", host_,
                  "address to listen on (default 127.0.0.1); others need an API key")
      ->type_name("NAME");
  app->add_option("--unix-socket", unix_socket_,
                  "listen at this path, which only its owner may open, and on no port")
      ->type_name("PATH");
  app->add_option("--api-key", api_key_,
                  "ask clients for this key; other users of this machine can see it in the list of "
                  "processes, unlike one in --api-key-file")
      ->type_name("KEY");
  app->add_option("--api-key-file", api_key_file_, "ask clients for one of these keys, one a line")
      ->type_name("F");
  app->add_option("--tls-cert", tls_cert_, "serve HTTPS with this certificate chain (PEM)")
      ->type_name("F");
  app->add_option("--tls-key", tls_key_, "the certificate's key (PEM)")->type_name("F");
  app->add_option("--allow-origin", allow_origins_,
                  "web origin that may call, like http://localhost:3000")
      ->type_name("ORIGIN")
      ->expected(1)
      ->take_all();
  app->add_option("--allow-host", allow_hosts_, "further name in the Host header that is let in")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  app->add_option("--log-level", log_level_, "info: a line for each request (default warning)")
      ->type_name("error|warning|info|debug");
  app->add_option("--log-format", log_format_, "on standard error (default text)")
      ->type_name("text|json");
}

Status ServerFlags::read_keys(const Environment& environment,
                              std::vector<std::string>* keys) const {
  if (api_key_file_) T9_TRY(read_key_file(*api_key_file_, keys));
  if (api_key_) {
    keys->push_back(*api_key_);
  } else if (environment.api_key && !api_key_file_) {
    keys->push_back(*environment.api_key);
  }
  if (!keys->empty() && !can_be_sent(keys->back())) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "--api-key: found an empty key, spaces or letters beyond ASCII, expected what "
        "an HTTP header can hold");
  }
  return {};
}

Result<server::ServerOptions> ServerFlags::read(const Environment& environment) const {
  server::ServerOptions options;
  if (port_) {
    T9_TRY(const uint32_t number, whole_number("--port", *port_, 0, 65535));
    options.port = static_cast<uint16_t>(number);
  }
  if (host_) options.host = *host_;
  if (unix_socket_) {
    if (host_ || port_) {
      return make_error(ErrorCode::kInvalidArgument,
                        "--unix-socket: found --{} beside it, expected one or the other",
                        host_ ? "host" : "port");
    }
    if (unix_socket_->empty()) {
      return make_error(ErrorCode::kInvalidArgument, "--unix-socket: found an empty path");
    }
    options.unix_socket = *unix_socket_;
  }
  if (tls_cert_.empty() != tls_key_.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "--tls-{}: found no --tls-{}, expected both",
                      tls_cert_.empty() ? "key" : "cert", tls_cert_.empty() ? "cert" : "key");
  }
  options.tls_cert = tls_cert_;
  options.tls_key = tls_key_;
  for (const std::string& origin : allow_origins_) T9_TRY(check_origin(origin));
  options.allow_origins = allow_origins_;
  options.allow_hosts = allow_hosts_;
  T9_TRY(read_keys(environment, &options.api_keys));
  const auto level = server::log_level_from(log_level_);
  if (!level) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--log-level: found \"{}\", expected error, warning, info or debug",
                      log_level_);
  }
  const auto format = server::log_format_from(log_format_);
  if (!format) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--log-format: found \"{}\", expected text or json", log_format_);
  }
  options.log = std::make_shared<const server::Log>(*level, *format, server::write_to_stderr);
  if (api_key_file_) warn_of_readers("--api-key-file", *api_key_file_, *options.log);
  if (!tls_key_.empty()) warn_of_readers("--tls-key", tls_key_, *options.log);
  return options;
}

}  // namespace tempo9::cli
