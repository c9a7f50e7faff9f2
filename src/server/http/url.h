// Request targets.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tempo9::server::http {

// "/v1/models/a%2Fb?limit=1#x" to "/v1/models/a%2Fb"; the absolute form "http://host/path" to its
// path.
std::string target_path(std::string_view target);

// The same to "limit=1", its query; empty: it has none.
std::string target_query(std::string_view target);
// "a=1&b[]=x+y&c" to its fields in order, decoded: {"a", "1"}, {"b[]", "x y"}, {"c", ""}.
std::vector<std::pair<std::string, std::string>> query_fields(std::string_view query);

// "Localhost:80" to "localhost", "[::1]:80" to "[::1]". Lower case.
std::string host_name(std::string_view authority);

// "http://Localhost:80/" to "localhost:80": what can be compared with a Host header. Empty: not an
// http(s) origin. The scheme's own port is left out.
std::string origin_authority(std::string_view origin);

// Is it written as an IPv4 address or a bracketed IPv6 one?
bool is_ip_literal(std::string_view host);

}  // namespace tempo9::server::http
