// The file that a Unix socket is known by.
#pragma once

#include <string>

#include "base/result.h"

namespace tempo9::server::http {

// Makes place for a new socket at path: one that nobody listens on any more is removed.
// Errors: kIo (somebody listens, or it is no socket), kInvalidArgument (longer than the system
// takes).
Status clear_socket_path(const std::string& path);

}  // namespace tempo9::server::http
