#include "server/http/byte_stream.h"

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <utility>

namespace tempo9::server::http {
namespace asio = boost::asio;

namespace {

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(StreamSocket socket) : socket_(std::move(socket)) {}

  void handshake(Done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}); });
  }
  void read_some(asio::mutable_buffer into, Transferred transferred) override {
    socket_.async_read_some(into, std::move(transferred));
  }
  void write_some(asio::const_buffer from, Transferred transferred) override {
    socket_.async_write_some(from, std::move(transferred));
  }
  void end_sending(Done done) override {
    error_code error;
    socket_.shutdown(asio::socket_base::shutdown_send, error);
    asio::post(socket_.get_executor(), [done = std::move(done), error] { done(error); });
  }
  StreamSocket& socket() override { return socket_; }

 private:
  StreamSocket socket_;
};

class TlsStream final : public ByteStream {
 public:
  TlsStream(StreamSocket socket, asio::ssl::context& context)
      : stream_(std::move(socket), context) {}

  void handshake(Done done) override {
    stream_.async_handshake(asio::ssl::stream_base::server, std::move(done));
  }
  void read_some(asio::mutable_buffer into, Transferred transferred) override {
    stream_.async_read_some(into, [transferred = std::move(transferred)](error_code e, size_t n) {
      // Without TLS's own end somebody else may have cut what came. A request says by itself how
      // long it is, so that nothing is taken for whole that is not.
      transferred(e == asio::ssl::error::stream_truncated ? asio::error::eof : e, n);
    });
  }
  void write_some(asio::const_buffer from, Transferred transferred) override {
    stream_.async_write_some(from, std::move(transferred));
  }
  void end_sending(Done done) override { stream_.async_shutdown(std::move(done)); }
  StreamSocket& socket() override { return stream_.next_layer(); }

 private:
  asio::ssl::stream<StreamSocket> stream_;
};

}  // namespace

void ByteStream::close() {
  error_code ignored;
  socket().close(ignored);
}

void ByteStream::close_with_reset() {
  error_code ignored;
  socket().set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

std::unique_ptr<ByteStream> make_plain_stream(StreamSocket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

std::unique_ptr<ByteStream> make_tls_stream(StreamSocket socket, asio::ssl::context& context) {
  return std::make_unique<TlsStream>(std::move(socket), context);
}

}  // namespace tempo9::server::http
