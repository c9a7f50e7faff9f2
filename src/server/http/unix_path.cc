#include "server/http/unix_path.h"

#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <filesystem>

namespace tempo9::server::http {

Status clear_socket_path(const std::string& path) {
  using Local = boost::asio::local::stream_protocol;
  constexpr size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty() || path.size() > kMaxPath || path.find('\0') != std::string::npos) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--unix-socket: found a path of {} bytes, expected 1 to {}", path.size(),
                      kMaxPath);
  }
  std::error_code status_error;
  const auto status = std::filesystem::symlink_status(path, status_error);
  if (!std::filesystem::exists(status)) return {};
  if (!std::filesystem::is_socket(status)) {
    return make_error(ErrorCode::kIo,
                      "--unix-socket: {} exists and is no socket; remove it or "
                      "choose another path",
                      path);
  }
  boost::asio::io_context context;
  Local::socket probe(context);
  boost::system::error_code error;
  probe.connect(Local::endpoint(path), error);
  if (error != boost::asio::error::connection_refused) {
    return make_error(ErrorCode::kIo,
                      "--unix-socket: {} is in use ({}); stop the other server, or choose another "
                      "path",
                      path, error ? error.message() : "somebody answers");
  }
  if (::unlink(path.c_str()) != 0) {
    return make_error(ErrorCode::kIo, "--unix-socket: cannot remove the old socket {}", path);
  }
  return {};
}

}  // namespace tempo9::server::http
