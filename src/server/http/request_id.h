// The name of a request in logs, replies and the client's own books.
#pragma once

#include <string>
#include <string_view>

namespace tempo9::server::http {

// given, if it can stand in a header and a log line: 1 to 128 letters, digits, "-", "_", ".", ":".
// Else "req_" and 32 hexadecimal digits that nobody else has.
std::string request_id(std::string_view given);

}  // namespace tempo9::server::http
