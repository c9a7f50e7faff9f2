#include "server/http/access.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/http/url.h"

namespace tempo9::server::http {
namespace {

bool contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool host_allowed(const AccessRules& rules, std::string_view header) {
  // Only HTTP/1.0 clients leave it out (the parser insists on it for 1.1), and browsers are none of
  // them.
  if (header.empty()) return true;
  const std::string name = host_name(header);
  if (name == "localhost" || name == "127.0.0.1" || name == "[::1]") return true;
  if (rules.any_address && is_ip_literal(name)) return true;
  for (const std::string& host : rules.hosts) {
    if (host == "*" || host_name(host) == name) return true;
  }
  return false;
}

// A client that is set up for two services may send a key in each header.
bool key_matches(const AccessRules& rules, const Request& request) {
  constexpr std::string_view kBearer = "bearer ";
  std::string_view bearer = request.authorization;
  if (bearer.size() >= kBearer.size() &&
      std::equal(kBearer.begin(), kBearer.end(), bearer.begin(),
                 [](char want, char got) { return want == (got | 0x20); })) {
    bearer.remove_prefix(kBearer.size());
  } else {
    bearer = {};
  }
  bool matches = false;
  for (const std::string& key : rules.api_keys) {  // all of them: the time tells nothing
    matches |= equal_in_constant_time(bearer, key);
    matches |= equal_in_constant_time(request.x_api_key, key);
  }
  return matches;
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  size_t difference = a.size() ^ b.size();
  for (size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    difference |= static_cast<size_t>(static_cast<unsigned char>(a[i] ^ other));
  }
  return difference == 0;
}

bool origin_allowed(const AccessRules& rules, const Request& request) {
  if (request.origin.empty()) return false;
  if (contains(rules.origins, "*")) return true;
  const std::string authority = origin_authority(request.origin);
  if (authority.empty())
    return contains(rules.origins, request.origin);  // "null", "vscode-webview://..."
  for (const std::string& origin : rules.origins) {
    // Schemes count: the https page of a host is not its http page.
    if (origin_authority(origin) == authority &&
        origin.starts_with("https:") == request.origin.starts_with("https:")) {
      return true;
    }
  }
  // The server's own pages: the origin's authority is the one that the request was sent to. Behind
  // a TLS proxy the scheme differs, so it is not compared.
  return origin_authority("http://" + request.host) == authority ||
         origin_authority("https://" + request.host) == authority;
}

std::optional<Refusal> check_access(const AccessRules& rules, const Request& request) {
  if (!host_allowed(rules, request.host)) {
    return Refusal{
        403,
        fmt::format(
            "Host header: found \"{}\", expected localhost, 127.0.0.1, [::1] or a name given with "
            "--allow-host",
            request.host),
        "host_not_allowed"};
  }
  const bool preflight = request.method == "OPTIONS";
  const bool reads_only = request.method == "GET" || request.method == "HEAD";
  if (!request.origin.empty() && !reads_only && !origin_allowed(rules, request)) {
    return Refusal{
        403,
        fmt::format("Origin header: found \"{}\", which is not this server's own; start it with "
                    "--allow-origin {} to let that page in",
                    request.origin, request.origin),
        "origin_not_allowed"};
  }
  const bool open =
      preflight || request.path == "/health" || (rules.without_key && rules.without_key(request));
  if (!rules.api_keys.empty() && !open && !key_matches(rules, request)) {
    return Refusal{401,
                   "API key: found none or a wrong one; send the server's key as \"Authorization: "
                   "Bearer KEY\" or "
                   "\"x-api-key: KEY\"",
                   "invalid_api_key"};
  }
  return std::nullopt;
}

}  // namespace tempo9::server::http
