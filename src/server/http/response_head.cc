#include "server/http/response_head.h"

#include <fmt/format.h>

#include <boost/beast/http/status.hpp>

namespace tempo9::server::http {

std::string response_head(const Response& response, const AccessRecord& record, bool keep_alive,
                          std::string_view allow_origin) {
  const auto reason =
      boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(response.status));
  std::string out = fmt::format("HTTP/1.1 {} {}\r\n", response.status,
                                std::string_view(reason.data(), reason.size()));
  if (!response.content_type.empty())
    out += fmt::format("Content-Type: {}\r\n", response.content_type);
  for (const auto& [name, value] : response.headers) out += fmt::format("{}: {}\r\n", name, value);
  out += fmt::format("X-Request-Id: {}\r\n", record.id);
  if (record.path.starts_with("/v1/messages")) {
    out += fmt::format("Request-Id: {}\r\n", record.id);  // Anthropic's name
  }
  if (!allow_origin.empty()) {
    out += fmt::format(
        "Access-Control-Allow-Origin: {}\r\nAccess-Control-Expose-Headers: *\r\nVary: Origin\r\n",
        allow_origin);
  }
  out += keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  return out;
}

}  // namespace tempo9::server::http
