#include "server/http/url.h"

#include <algorithm>

#include "base/lower.h"
#include "base/percent.h"

namespace tempo9::server::http {
namespace {

std::string_view without_authority(std::string_view target) {
  const size_t scheme = target.find("://");
  if (scheme == std::string_view::npos || target[0] == '/') return target;
  const size_t slash = target.find('/', scheme + 3);
  return slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
}

}  // namespace

std::string target_path(std::string_view target) {
  target = without_authority(target);
  return std::string(target.substr(0, target.find_first_of("?#")));
}

std::string target_query(std::string_view target) {
  target = without_authority(target);
  target = target.substr(0, target.find('#'));
  const size_t mark = target.find('?');
  return std::string(mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1));
}

std::vector<std::pair<std::string, std::string>> query_fields(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> fields;
  while (!query.empty()) {
    const std::string_view field = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), field.size() + 1));
    if (field.empty()) continue;
    const auto decoded = [](std::string_view text) {
      std::string spaced(text);
      std::replace(spaced.begin(), spaced.end(), '+', ' ');
      return percent_decode(spaced);
    };
    const size_t equals = std::min(field.find('='), field.size());
    fields.emplace_back(decoded(field.substr(0, equals)),
                        decoded(field.substr(std::min(field.size(), equals + 1))));
  }
  return fields;
}

std::string host_name(std::string_view authority) {
  if (!authority.empty() && authority.front() == '[') {
    return lower(authority.substr(0, authority.find(']') + 1));
  }
  std::string name = lower(authority.substr(0, authority.find(':')));
  if (name.size() > 1 && name.back() == '.') name.pop_back();  // the root's dot names the same host
  return name;
}

std::string origin_authority(std::string_view origin) {
  const std::string text = lower(origin);
  std::string_view rest = text;
  std::string_view own_port;
  if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    own_port = ":80";
  } else if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
    own_port = ":443";
  } else {
    return {};
  }
  rest = rest.substr(0, rest.find('/'));
  if (rest.ends_with(own_port)) rest.remove_suffix(own_port.size());
  return std::string(rest);
}

bool is_ip_literal(std::string_view host) {
  if (host.starts_with('[')) return true;
  return !host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace tempo9::server::http
