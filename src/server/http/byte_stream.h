// The bytes of one connection, whatever carries them: TCP, a Unix socket, or TLS over TCP.
#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>
#include <memory>

namespace boost::asio::ssl {
class context;
}

namespace tempo9::server::http {

using StrandExecutor = boost::asio::strand<boost::asio::io_context::executor_type>;
using StreamSocket =
    boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, StrandExecutor>;

// At most one read and one write are pending. Handlers run on the executor, never inside the call,
// and must keep the owner of the stream alive.
// Threads: the socket's strand.
class ByteStream {
 public:
  using error_code = boost::system::error_code;
  using Done = std::function<void(error_code)>;
  using Transferred = std::function<void(error_code, size_t)>;

  virtual ~ByteStream() = default;

  // Before anything else is read or written.
  virtual void handshake(Done done) = 0;
  // The other side's end of sending, in whatever way it comes, is error::eof.
  virtual void read_some(boost::asio::mutable_buffer into, Transferred transferred) = 0;
  virtual void write_some(boost::asio::const_buffer from, Transferred transferred) = 0;
  // No more is written. The other side learns it; done comes when it has been told.
  virtual void end_sending(Done done) = 0;
  // The other side sees an error and not an end.
  void close_with_reset();
  void close();

  virtual StreamSocket& socket() = 0;
};

std::unique_ptr<ByteStream> make_plain_stream(StreamSocket socket);
// context must outlive the stream.
std::unique_ptr<ByteStream> make_tls_stream(StreamSocket socket,
                                            boost::asio::ssl::context& context);

}  // namespace tempo9::server::http
