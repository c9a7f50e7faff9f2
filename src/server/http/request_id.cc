#include "server/http/request_id.h"

#include <fmt/format.h>

#include "engine/random_bits.h"

namespace tempo9::server::http {

std::string request_id(std::string_view given) {
  constexpr size_t kMaxLength = 128;
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:";
  if (!given.empty() && given.size() <= kMaxLength &&
      given.find_first_not_of(kLetters) == std::string_view::npos) {
    return std::string(given);
  }
  return fmt::format("req_{:016x}{:016x}", engine::random_bits(), engine::random_bits());
}

}  // namespace tempo9::server::http
