#include "server/http/tls.h"

#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <exception>
#include <fstream>

namespace tempo9::server::http {
namespace ssl = boost::asio::ssl;
using boost::system::error_code;

namespace {

Status check_readable(const char* flag, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char first = 0;
  if (file.get(first)) return {};
  return make_error(ErrorCode::kIo, "{}: cannot read {}", flag, path);
}

Error pem_error(const char* flag, const std::string& path, const char* expected,
                const error_code& error) {
  return Error{ErrorCode::kInvalidArgument, fmt::format("{}: found {} in {}, expected {}", flag,
                                                        error.message(), path, expected)};
}

Status load(ssl::context* context, const std::string& cert_file, const std::string& key_file) {
  error_code error;
  context->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 |
                       ssl::context::no_sslv3 | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 |
                       SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // A key with a pass phrase would make OpenSSL ask on the terminal.
  context->set_password_callback(
      [](size_t, ssl::context::password_purpose) { return std::string(); }, error);
  context->use_certificate_chain_file(cert_file, error);
  if (error) return pem_error("--tls-cert", cert_file, "certificates in PEM form", error);
  context->use_private_key_file(key_file, ssl::context::pem, error);
  if (error) {
    return pem_error("--tls-key", key_file,
                     "the certificate's key in PEM form, without a pass phrase", error);
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<ssl::context>> make_tls_context(const std::string& cert_file,
                                                       const std::string& key_file) {
  T9_TRY(check_readable("--tls-cert", cert_file));
  T9_TRY(check_readable("--tls-key", key_file));
  try {
    auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
    T9_TRY(load(context.get(), cert_file, key_file));
    return context;
  } catch (const std::exception& error) {
    return make_error(ErrorCode::kInternal, "TLS: {}", error.what());
  }
}

}  // namespace tempo9::server::http
