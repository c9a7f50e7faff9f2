// The head of an answer, as bytes.
#pragma once

#include <string>
#include <string_view>

#include "server/http/listener.h"
#include "server/http/message.h"

namespace tempo9::server::http {

// Status line and headers, each with its line end; what frames the body and the empty line are the
// caller's. allow_origin: of the page that asked; empty: none.
std::string response_head(const Response& response, const AccessRecord& record, bool keep_alive,
                          std::string_view allow_origin);

}  // namespace tempo9::server::http
