#include "server/session.h"

#include <functional>
#include <string>

namespace tempo9::server {
namespace {

uint64_t session_key(std::string_view name) {
  return name.empty() ? 0 : std::hash<std::string_view>{}(name) | 1;  // 0 is nobody's
}

}  // namespace

uint64_t session_of(const http::Request& request) { return session_key(request.session); }

void read_session(const Fields& fields, std::string_view key, engine::GenerateRequest* request) {
  const Json* name = fields.find(key);
  if (name != nullptr && name->is_string()) {
    request->session = session_key(name->get_ref<const std::string&>());
  }
}

}  // namespace tempo9::server
