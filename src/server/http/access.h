// Who may ask: the Host header against DNS rebinding, the Origin header against other web sites,
// the API key.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"

namespace tempo9::server::http {

struct AccessRules {
  std::vector<std::string>
      hosts;  // names that this server answers to, beside the loopback ones; "*": any
  bool any_address = false;  // bound to all addresses: any IP literal is ours
  std::vector<std::string>
      origins;  // web origins let in beside the server's own ("http://localhost:3000"); "*": any
  std::vector<std::string> api_keys;  // any of them will do; empty: none is needed
  // What needs none all the same, beside /health and preflights; null: nothing.
  std::function<bool(const Request&)> without_key = {};
};

struct Refusal {
  int status = 403;
  std::string message;
  std::string code;  // OpenAI-style: "invalid_api_key"...
};

// None: go on. GET and HEAD from a foreign
// origin are answered, without the header that would let the page read the answer.
std::optional<Refusal> check_access(const AccessRules& rules, const Request& request);

// May pages of this origin read our answers? False without an origin.
bool origin_allowed(const AccessRules& rules, const Request& request);

// Takes time that depends on the lengths only.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace tempo9::server::http
