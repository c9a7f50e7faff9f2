// One connection: requests read one after the other, each answered before the next is looked
// at.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/byte_stream.h"
#include "server/http/listener.h"

namespace tempo9::server::http {

// What the connections of one listener share.
struct Shared {
  ListenerOptions options;
  std::shared_ptr<boost::asio::ssl::context> tls;  // null: plain
  std::atomic<size_t> n_connections{0};            // admitted ones
  std::atomic<size_t> n_refused{0};  // connections that are told that there is no room
  std::atomic<size_t> n_active{0};
  std::atomic<uint64_t> body_bytes{0};  // reserved for bodies
  std::atomic<bool> closing{false};
};

// Invariants
//   - one read is pending whenever the buffer has room: also while a request is answered, so that a
//     client that leaves is noticed at once;
//   - at most one write is pending; what comes meanwhile waits in pending_;
//   - all members belong to the strand. An Exchange keeps the connection alive, never the other way
//   round.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  enum class Admission { kServed, kRefused };  // kRefused: gets a 503, whatever it asks
  Connection(std::unique_ptr<ByteStream> stream, std::shared_ptr<Shared> shared,
             Admission admission);
  ~Connection();

  void start();
  // From any thread. Since when there is no request in hand (none: there is one), and: closes, if
  // it is idle since just then. A head of which a part has come is no request yet.
  using Instant = std::chrono::steady_clock::time_point;
  std::optional<Instant> idle_since() const;
  bool close_if_idle_since(Instant since);
  // From any thread: close now if no request is being answered, else behind it.
  void close_when_idle();
  // When no thread runs the strand any more: what is being answered ends here, as if the client had
  // gone.
  void close();

  // --- for the exchange, on the strand
  StrandExecutor executor() { return stream_->socket().get_executor(); }
  void send_response(const Response& response);
  void send_head(std::string_view content_type, const Headers& headers);
  void send_chunk(std::string_view bytes);
  void send_end();
  void reset();
  size_t n_pending() const { return pending_.size() + (writing_.size() - n_written_); }
  void after(std::chrono::milliseconds delay, std::function<void()> task);
  void note(std::string_view name, double value) {
    record_.notes.emplace_back(std::string(name), value);
  }

  void run(const std::function<void()>& task);

  struct Callbacks {
    std::function<void()> on_gone;
    std::function<void()> on_drain;
  };
  // Empty once the exchange with this number has ended.
  Callbacks* callbacks(uint64_t exchange);
  bool is_current(uint64_t exchange) const {
    return answering_ && exchange == exchange_ && !closed_;
  }

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void begin();  // behind the handshake
  void read();
  void on_read(boost::system::error_code error, size_t n_bytes);
  void probe();
  bool skip_empty_line();
  void advance();  // parse what the buffer holds
  void on_parse_error(boost::system::error_code error);
  bool on_header();  // false: refused
  void dispatch();
  Request make_request(bool with_body);
  void refuse(int status, std::string message, std::string code);
  void begin_exchange(const Request& request);
  void end_exchange();
  bool is_admitted() const { return &counter_ == &shared_->n_connections; }
  void become_idle();
  bool become_busy();                  // false: close_if_idle_since() came first
  void shrink_body(uint64_t n_bytes);  // what is reserved for it

  void write();
  void write_rest();
  void on_written(boost::system::error_code error, size_t n_bytes);
  void after_last_byte();
  void arm_deadline(std::chrono::milliseconds delay);
  void linger();  // wait until the client has read the last answer

  std::shared_ptr<Shared> shared_;
  std::unique_ptr<ByteStream> stream_;
  std::atomic<size_t>& counter_;  // of the shared ones
  // steady_clock ticks; or one of the two:
  static constexpr int64_t kBusy = -1, kEvicted = -2;
  std::atomic<int64_t> idle_since_{kBusy};
  std::array<char, 16 << 10> incoming_;  // of the pending read only: buffer_ moves while it waits
  boost::beast::flat_buffer buffer_;     // read and not yet parsed
  std::optional<Parser> parser_;
  bool header_seen_ = false;
  bool line_skipped_ = false;  // before this head, or there is none to skip
  bool half_closed_ = false;   // by the client: nothing comes any more
  bool reading_ = false;
  bool lingering_ = false;
  bool closed_ = false;

  // The exchange in progress.
  uint64_t exchange_ = 0;
  bool answering_ = false;
  bool head_only_ = false;  // HEAD
  bool keep_alive_ = false;
  bool head_begun_ = false;  // its first byte was sent
  bool streaming_ = false;   // the head of a stream has been sent
  bool chunked_ = false;     // its framing; HTTP/1.0 has none
  bool ended_ = false;       // the last byte is in pending_ or behind
  uint64_t body_reserved_ = 0;
  std::string allow_origin_;
  AccessRecord record_;
  Instant began_;
  Callbacks callbacks_;

  std::string pending_;
  std::string writing_;
  size_t n_written_ = 0;
  bool write_pending_ = false;

  boost::asio::steady_timer deadline_;    // of the read or write that must make progress
  boost::asio::steady_timer task_timer_;  // after()
};

}  // namespace tempo9::server::http
