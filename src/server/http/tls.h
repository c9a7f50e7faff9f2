// The certificate and key that the server shows to its clients.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace boost::asio::ssl {
class context;
}

namespace tempo9::server::http {

// PEM files: the certificate with what is between it and its root, and its key. TLS 1.2 and newer.
// Errors: kIo (a file that cannot be read, named), kInvalidArgument (no PEM, a key with a pass
// phrase, a key that is not the certificate's).
Result<std::shared_ptr<boost::asio::ssl::context>> make_tls_context(const std::string& cert_file,
                                                                    const std::string& key_file);

}  // namespace tempo9::server::http
