// A request's line and headers as the rest of the server sees them.
#pragma once

#include <boost/beast/http/message.hpp>

#include "server/http/message.h"

namespace tempo9::server::http {

// Without the body. A request without an id is given one.
Request read_head(const boost::beast::http::request_header<>& head);

}  // namespace tempo9::server::http
