#include "server/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "server/errors.h"

namespace tempo9::server {
namespace {

constexpr std::string_view kFolder = "/console/";

// What a model writes is shown as text, and could reach nothing if it were not: no code but ours
// runs, nothing is loaded from or sent to elsewhere, and nobody shows the page inside another.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "
    "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

bool wants_html(const http::Request& request) {
  return request.accept.find("text/html") != std::string::npos;
}

const ConsoleFile* find_file(std::string_view path) {
  if (!path.starts_with(kFolder) || path == kFolder) path = "/console/index.html";
  const auto files = console_files();
  const auto found = std::find_if(files.begin(), files.end(),
                                  [path](const ConsoleFile& file) { return file.path == path; });
  return found == files.end() ? nullptr : &*found;
}

// If-None-Match: "*", or a list of tags, weak ones too.
bool names_etag(std::string_view header, std::string_view etag) {
  return header == "*" || header.find(etag) != std::string_view::npos;
}

}  // namespace

bool is_console(const http::Request& request) {
  return request.path.starts_with(kFolder) || request.path == "/console" ||
         (request.path == "/" && wants_html(request));
}

http::Response console_response(const http::Request& request) {
  const ConsoleFile* file = find_file(request.path);
  if (file == nullptr) {
    return error_for_path(request.path, 404,
                          fmt::format("{}: the console has no such file", request.path),
                          "unknown_route");
  }
  http::Response response;
  // Asked for again each time, and not sent again: a new binary is seen at once.
  response.headers = {{"ETag", std::string(file->etag)},
                      {"Cache-Control", "no-cache"},
                      {"Vary", "Accept"},
                      {"Content-Security-Policy", std::string(kPolicy)},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cross-Origin-Opener-Policy", "same-origin"},
                      {"Cross-Origin-Resource-Policy", "same-origin"}};
  if (names_etag(request.if_none_match, file->etag)) {
    response.status = 304;
    response.content_type.clear();
    return response;
  }
  response.content_type = file->type;
  response.body = file->body;
  return response;
}

}  // namespace tempo9::server
