#include "server/http/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "server/http/connection_exchange.h"
#include "server/http/request_head.h"
#include "server/http/response_head.h"

namespace tempo9::server::http {
namespace asio = boost::asio;
namespace beast_http = boost::beast::http;
using boost::system::error_code;

namespace {

// Bytes of a next request that are read while this one is answered; more waits in the kernel. More
// than a head may have, or one of just that size would wait for bytes that nobody reads.
constexpr size_t kReadAhead = 128 << 10;
constexpr std::chrono::milliseconds kLingerTimeout{2'000};

}  // namespace

Connection::Connection(std::unique_ptr<ByteStream> stream, std::shared_ptr<Shared> shared,
                       Admission admission)
    : shared_(std::move(shared)),
      stream_(std::move(stream)),
      counter_(admission == Admission::kServed ? shared_->n_connections : shared_->n_refused),
      deadline_(executor()),
      task_timer_(executor()) {
  ++counter_;
}

Connection::~Connection() {
  if (answering_) --shared_->n_active;
  shrink_body(0);
  if (!closed_) --counter_;
}

void Connection::start() {
  asio::post(executor(), [self = shared_from_this()] {
    error_code ignored;  // a Unix socket has no such option
    self->stream_->socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    self->become_idle();
    self->arm_deadline(self->shared_->options.limits.header_timeout);
    self->stream_->handshake([self](error_code error) {
      if (self->closed_) return;
      if (error) {
        self->close();
      } else {
        self->begin();
      }
    });
  });
}

void Connection::begin() {
  parser_.emplace();
  parser_->header_limit(shared_->options.limits.max_header_bytes);
  parser_->body_limit(shared_->options.limits.max_body_bytes);
  if (!is_admitted()) {
    refuse(503, "too many connections, and all have a request in hand; try again", "overloaded");
    return;
  }
  read();
}

std::optional<Connection::Instant> Connection::idle_since() const {
  const int64_t since = idle_since_;
  if (since < 0) return std::nullopt;
  return Instant(Instant::duration(since));
}

bool Connection::close_if_idle_since(Instant since) {
  int64_t expected = since.time_since_epoch().count();
  if (!idle_since_.compare_exchange_strong(expected, kEvicted)) return false;
  asio::post(executor(), [self = shared_from_this()] { self->close(); });
  return true;
}

void Connection::become_idle() {
  if (!is_admitted()) return;  // to close it makes no room
  idle_since_ = std::chrono::steady_clock::now().time_since_epoch().count();
}

bool Connection::become_busy() { return idle_since_.exchange(kBusy) != kEvicted; }

void Connection::close_when_idle() {
  asio::post(executor(), [self = shared_from_this()] {
    if (!self->answering_ && self->buffer_.size() == 0 && !self->header_seen_) self->close();
  });
}

// ---------------------------------------------------------------- reading

void Connection::read() {
  if (reading_ || closed_ || half_closed_ || buffer_.size() >= kReadAhead) return;
  reading_ = true;
  stream_->read_some(asio::buffer(incoming_),
                     [self = shared_from_this()](error_code error, size_t n_bytes) {
                       self->on_read(error, n_bytes);
                     });
}

void Connection::on_read(error_code error, size_t n_bytes) {
  reading_ = false;
  if (closed_) return;
  if (error == asio::error::eof && answering_) {
    half_closed_ = true;
    probe();
    return;
  }
  if (error) {
    close();
    return;
  }
  if (lingering_) {
    read();
    return;
  }
  buffer_.commit(asio::buffer_copy(buffer_.prepare(n_bytes), asio::buffer(incoming_, n_bytes)));
  if (!answering_) advance();
  read();
}

// A client that has closed its sending half waits for its answer, one that has closed its socket is
// gone, and what comes from either is the same end. Whatever is sent to a closed socket is answered
// by a reset. So what is sent is due anyway or says nothing: the answer's first byte, or a zero
// before the size of the next chunk (RFC 9112 7.1). In a stream of HTTP/1.0 the next event finds
// out.
void Connection::probe() {
  stream_->socket().async_wait(StreamSocket::wait_error,
                               [self = shared_from_this()](error_code error) {
                                 if (!error) self->close();
                               });
  if (ended_ || (streaming_ && (head_only_ || !chunked_))) return;
  head_begun_ = !streaming_;
  pending_ += streaming_ ? '0' : 'H';  // "HTTP/1.1 ..."
  write();
}

// Some clients send a line end behind a body; one is passed over (RFC 9112 2.2). False: its second
// half is to come.
bool Connection::skip_empty_line() {
  if (header_seen_ || std::exchange(line_skipped_, true)) return true;
  const std::string_view text(static_cast<const char*>(buffer_.cdata().data()), buffer_.size());
  line_skipped_ = text != "\r";
  buffer_.consume(text.starts_with("\r\n") ? 2 : text.starts_with('\n') ? 1 : 0);
  return line_skipped_;
}

void Connection::advance() {
  while (!closed_ && !answering_ && buffer_.size() > 0) {
    if (!skip_empty_line() || buffer_.size() == 0) break;
    error_code error;
    parser_->eager(header_seen_);
    const size_t n_used = parser_->put(buffer_.data(), error);
    buffer_.consume(n_used);
    if (error && error != beast_http::error::need_more) {
      on_parse_error(error);
      return;
    }
    if (!header_seen_ && parser_->is_header_done()) {
      header_seen_ = true;
      if (!become_busy()) {
        close();
        return;
      }
      if (!on_header()) return;
    }
    if (parser_->is_done()) {
      dispatch();
      return;
    }
    if (error == beast_http::error::need_more && n_used == 0) break;
  }
  if (half_closed_ && !answering_) close();
}

void Connection::on_parse_error(error_code error) {
  const Limits& limits = shared_->options.limits;
  if (error == beast_http::error::body_limit) {
    refuse(413,
           fmt::format("request body: found more than {} bytes, expected at most that",
                       limits.max_body_bytes),
           "request_too_large");
  } else if (error == beast_http::error::header_limit) {
    refuse(431,
           fmt::format("request head: found more than {} bytes, expected at most that",
                       limits.max_header_bytes),
           "headers_too_large");
  } else {
    refuse(400, fmt::format("HTTP request: found bytes that are none ({})", error.message()),
           "bad_request");
  }
}

bool Connection::on_header() {
  const auto& message = parser_->get();
  const Limits& limits = shared_->options.limits;
  const size_t n_hosts = message.count(beast_http::field::host);
  if (n_hosts > 1 || (n_hosts == 0 && message.version() >= 11)) {
    refuse(400, fmt::format("Host header: found {}, expected one", n_hosts), "bad_request");
    return false;
  }
  // Who reads a coding or a second header differently sees another end of the body.
  const auto codings = message.equal_range(beast_http::field::transfer_encoding);
  for (auto field = codings.first; field != codings.second; ++field) {
    if (field == codings.first && boost::beast::iequals(field->value(), "chunked")) continue;
    refuse(501, "Transfer-Encoding header: found another coding, expected chunked alone",
           "unsupported_encoding");
    return false;
  }
  const Request request = make_request(/*with_body=*/false);
  if (auto refusal = check_access(shared_->options.access, request)) {
    refuse(refusal->status, std::move(refusal->message), std::move(refusal->code));
    return false;
  }
  if (const auto encoding = message[beast_http::field::content_encoding];
      !encoding.empty() && encoding != "identity") {
    refuse(415, "Content-Encoding header: found a compressed body, expected none (identity)",
           "unsupported_encoding");
    return false;
  }
  if (parser_->is_done()) return true;

  const auto length = parser_->content_length();
  body_reserved_ = length ? *length : limits.max_body_bytes;
  if (shared_->body_bytes.fetch_add(body_reserved_) + body_reserved_ > limits.max_bodies_bytes) {
    refuse(503, "too many large requests at once; try again", "overloaded");
    return false;
  }
  arm_deadline(limits.body_timeout);
  if (boost::beast::iequals(message[beast_http::field::expect], "100-continue")) {
    pending_ += "HTTP/1.1 100 Continue\r\n\r\n";
    write();
  }
  return true;
}

Request Connection::make_request(bool with_body) {
  auto& message = parser_->get();
  Request request = read_head(message);
  if (with_body) request.body = std::move(message.body());
  return request;
}

void Connection::begin_exchange(const Request& request) {
  deadline_.cancel();
  idle_since_ = kBusy;
  ++exchange_;
  answering_ = true;
  ended_ = false;
  streaming_ = head_begun_ = false;
  callbacks_ = {};
  // A head that was refused half read leaves no place to go on from.
  keep_alive_ = parser_->is_header_done() && parser_->keep_alive();
  head_only_ = request.method == "HEAD";
  chunked_ = parser_->get().version() >= 11;
  record_ = {};
  record_.id = request.id;
  record_.method = request.method;
  record_.path = request.path;
  began_ = std::chrono::steady_clock::now();
  allow_origin_ = origin_allowed(shared_->options.access, request) ? request.origin : "";
  ++shared_->n_active;
}

void Connection::dispatch() {
  Request request = make_request(/*with_body=*/true);
  shrink_body(request.body.capacity());
  begin_exchange(request);
  parser_.reset();
  run([this, &request] {
    shared_->options.handler(
        std::make_shared<ConnectionExchange>(shared_from_this(), exchange_, std::move(request)));
  });
}

// Our code does not throw; what a library throws (memory) costs one connection, not the server.
void Connection::run(const std::function<void()>& task) {
  try {
    task();
  } catch (...) {
    if (!closed_) reset();
  }
}

// Answers without the handler, and closes: what follows on this connection cannot be trusted or is
// not wanted.
void Connection::refuse(int status, std::string message, std::string code) {
  const Request request = make_request(/*with_body=*/false);
  begin_exchange(request);
  keep_alive_ = false;
  parser_.reset();
  Response response =
      shared_->options.error_response(status, std::move(message), std::move(code), request);
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  send_response(response);
}

// What was read may be far less than what a chunked body could have been.
void Connection::shrink_body(uint64_t n_bytes) {
  if (n_bytes >= body_reserved_) return;
  shared_->body_bytes -= body_reserved_ - n_bytes;
  body_reserved_ = n_bytes;
}

// ---------------------------------------------------------------- answering

void Connection::send_response(const Response& response) {
  if (ended_ || streaming_) return;
  if (shared_->closing) keep_alive_ = false;
  record_.status = response.status;
  pending_.append(response_head(response, record_, keep_alive_, allow_origin_),
                  head_begun_ ? 1 : 0);
  if (response.status != 204 && response.status != 304)  // of what it would have been
    pending_ += fmt::format("Content-Length: {}\r\n", response.body.size());
  pending_ += "\r\n";
  if (!head_only_) pending_ += response.body;
  ended_ = true;
  write();
}

void Connection::send_head(std::string_view content_type, const Headers& headers) {
  if (ended_ || streaming_) return;
  // HTTP/1.0 knows no chunks: there the body ends with the connection.
  if (shared_->closing || !chunked_) keep_alive_ = false;
  Response response;
  response.content_type = content_type;
  response.headers = headers;
  response.headers.insert(response.headers.end(),
                          {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}});
  record_.status = response.status;
  pending_.append(response_head(response, record_, keep_alive_, allow_origin_),
                  head_begun_ ? 1 : 0);
  pending_ += chunked_ ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n";
  streaming_ = true;
  write();
}

void Connection::send_chunk(std::string_view bytes) {
  if (ended_ || !streaming_ || head_only_ || bytes.empty()) return;
  if (chunked_) pending_ += fmt::format("{:x}\r\n", bytes.size());
  pending_ += bytes;
  if (chunked_) pending_ += "\r\n";
  write();
}

void Connection::send_end() {
  if (ended_ || !streaming_) return;
  if (chunked_ && !head_only_) pending_ += "0\r\n\r\n";
  ended_ = true;
  if (n_pending() > 0) {
    write();
  } else {
    after_last_byte();
  }
}

void Connection::reset() {
  if (!closed_) stream_->close_with_reset();
  close();
}

void Connection::write() {
  if (write_pending_ || pending_.empty() || closed_) return;
  if (n_written_ == writing_.size()) {
    writing_.swap(pending_);
    pending_.clear();
    n_written_ = 0;
  }
  write_rest();
}

void Connection::write_rest() {
  write_pending_ = true;
  if (answering_) arm_deadline(shared_->options.limits.write_timeout);
  stream_->write_some(asio::buffer(writing_) + n_written_,
                      [self = shared_from_this()](error_code error, size_t n_bytes) {
                        self->on_written(error, n_bytes);
                      });
}

void Connection::on_written(error_code error, size_t n_bytes) {
  write_pending_ = false;
  if (closed_) return;
  if (error) {
    close();
    return;
  }
  n_written_ += n_bytes;
  if (n_written_ < writing_.size()) {
    write_rest();
    return;
  }
  if (!pending_.empty()) {
    write();
    return;
  }
  if (!answering_) return;  // 100 Continue
  deadline_.cancel();
  if (ended_) {
    after_last_byte();
  } else if (const auto on_drain = callbacks_.on_drain) {  // it may drop the callbacks
    run(on_drain);
  }
}

void Connection::after_last_byte() {
  become_idle();
  end_exchange();
  if (!keep_alive_ || shared_->closing) {
    linger();
    return;
  }
  parser_.emplace();
  parser_->header_limit(shared_->options.limits.max_header_bytes);
  parser_->body_limit(shared_->options.limits.max_body_bytes);
  header_seen_ = line_skipped_ = false;
  arm_deadline(shared_->options.limits.header_timeout);
  // Behind this handler: a pipelined next request must not recurse.
  asio::post(executor(), [self = shared_from_this()] {
    if (self->closed_) return;
    self->advance();
    self->read();
  });
}

void Connection::end_exchange() {
  if (!answering_) return;
  answering_ = false;
  --shared_->n_active;
  shrink_body(0);
  task_timer_.cancel();
  callbacks_ = {};
  if (const AccessLog& log = shared_->options.access_log) {
    record_.gone = !ended_;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began_;
    record_.seconds = taken.count();
    log(record_);
  }
}

Connection::Callbacks* Connection::callbacks(uint64_t exchange) {
  return is_current(exchange) ? &callbacks_ : nullptr;
}

void Connection::after(std::chrono::milliseconds delay, std::function<void()> task) {
  task_timer_.expires_after(delay);
  task_timer_.async_wait(
      [self = shared_from_this(), number = exchange_, task = std::move(task)](error_code error) {
        if (!error && self->is_current(number)) self->run(task);
      });
}

// ---------------------------------------------------------------- ending

void Connection::arm_deadline(std::chrono::milliseconds delay) {
  deadline_.expires_after(delay);
  deadline_.async_wait([weak = weak_from_this()](error_code error) {
    const auto self = weak.lock();
    // A wait that ended in the same moment as it was replaced has no error, but a new expiry.
    if (!error && self && self->deadline_.expiry() <= asio::steady_timer::clock_type::now())
      self->close();
  });
}

// Closing with unread bytes in the kernel resets the connection, and the client may lose the answer
// that it has not read yet. So: end our side, and swallow what still comes for a moment.
void Connection::linger() {
  lingering_ = true;
  buffer_.consume(buffer_.size());
  arm_deadline(kLingerTimeout);
  stream_->end_sending([self = shared_from_this()](error_code error) {
    if (error) self->close();
  });
  read();
}

void Connection::close() {
  if (closed_) return;
  // The callback sees an exchange that is gone.
  closed_ = true;
  const std::function<void()> on_gone = answering_ ? callbacks_.on_gone : nullptr;
  end_exchange();
  idle_since_ = kBusy;
  --counter_;
  deadline_.cancel();
  stream_->close();
  if (on_gone) run(on_gone);
}

}  // namespace tempo9::server::http
