#include "server/http/listener.h"

#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "server/http/connection.h"
#include "server/http/tls.h"
#include "server/http/unix_path.h"

namespace tempo9::server::http {
namespace asio = boost::asio;
using boost::system::error_code;
using Tcp = asio::ip::tcp;
using Endpoint = asio::generic::stream_protocol::endpoint;

namespace {

Result<std::vector<asio::ip::address>> resolve(const std::string& host) {
  std::string name = host;
  if (name.size() > 2 && name.front() == '[' && name.back() == ']')
    name = name.substr(1, name.size() - 2);
  asio::io_context context;
  error_code error;
  const auto found = Tcp::resolver(context).resolve(name, "0", Tcp::resolver::passive, error);
  if (error || found.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--host {}: does not resolve to an address of this machine ({})", host,
                      error.message());
  }
  std::vector<asio::ip::address> addresses;
  for (const auto& entry : found) addresses.push_back(entry.endpoint().address());
  return addresses;
}

uint16_t port_of(const Endpoint& endpoint) {
  const auto* address = static_cast<const sockaddr*>(endpoint.data());
  if (address->sa_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(address)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(address)->sin_port);
}

class AsioListener final : public Listener {
 public:
  explicit AsioListener(ListenerOptions options)
      : shared_(std::make_shared<Shared>()),
        strand_(asio::make_strand(context_.get_executor())),
        acceptor_(strand_),
        retry_(strand_) {
    shared_->options = std::move(options);
  }

  ~AsioListener() override { stop(); }

  Status bind() {
    const ListenerOptions& options = shared_->options;
    if (!options.tls_cert.empty()) {
      T9_TRY(shared_->tls, make_tls_context(options.tls_cert, options.tls_key));
    }
    return options.unix_socket.empty() ? bind_tcp() : bind_unix();
  }

  Status bind_unix() {
    const std::string& path = shared_->options.unix_socket;
    T9_TRY(clear_socket_path(path));
    const asio::local::stream_protocol::endpoint endpoint(path);
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    // Before bind, so that there is no moment in which others could connect.
    if (!error) ::fchmod(acceptor_.native_handle(), S_IRUSR | S_IWUSR);
    if (!error) acceptor_.bind(endpoint, error);
    if (error) {
      return make_error(ErrorCode::kIo, "--unix-socket: cannot listen at {}: {}", path,
                        error.message());
    }
    socket_path_ = path;
    acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return make_error(ErrorCode::kIo, "--unix-socket: {}", error.message());
    return {};
  }

  Status bind_tcp() {
    const ListenerOptions& options = shared_->options;
    T9_TRY(const auto addresses, resolve(options.host));
    const Tcp::endpoint endpoint(addresses.front(), options.port);
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error == asio::error::address_in_use) {
      return make_error(
          ErrorCode::kIo,
          "port {}: already in use on {}; stop the other server, or choose another with --port",
          options.port, options.host);
    }
    if (error) {
      return make_error(ErrorCode::kIo, "cannot listen on {} port {}: {}", options.host,
                        options.port, error.message());
    }
    port_ = port_of(acceptor_.local_endpoint(error));
    return {};
  }

  void start() {
    accept();
    for (size_t i = 0; i < shared_->options.n_threads; ++i) {
      threads_.emplace_back([this] { run(); });
    }
  }

  uint16_t port() const override { return port_; }
  size_t n_active() const override { return shared_->n_active; }

  void close() override {
    if (shared_->closing.exchange(true)) return;
    asio::post(strand_, [this] {
      for (const auto& weak : connections_) {
        if (const auto connection = weak.lock()) connection->close_when_idle();
      }
    });
  }

  void stop() override {
    shared_->closing = true;
    // While we still listen there: once we do not, it may be a successor's file.
    if (!socket_path_.empty()) ::unlink(std::exchange(socket_path_, {}).c_str());
    context_.stop();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    // Answers hold their connection and are held by it: whoever is left must be let go by name.
    for (const auto& weak : connections_) {
      if (const auto connection = weak.lock()) connection->close();
    }
    connections_.clear();
    error_code ignored;
    acceptor_.close(ignored);
  }

 private:
  // What a library throws (there is no memory, most likely) costs what it was about, and not the
  // server.
  void run() {
    while (!context_.stopped()) {
      try {
        // An accept that was thrown away with its handler is begun again.
        if (!accepting_) {
          asio::post(strand_, [this] {
            if (!accepting_) accept();
          });
        }
        context_.run();
      } catch (...) {
      }
    }
  }

  // Goes with the handler that holds it, whether that is called or not.
  struct Accepting {
    explicit Accepting(std::atomic<bool>* flag) : is_set(flag) { *flag = true; }
    Accepting(const Accepting&) = delete;
    Accepting& operator=(const Accepting&) = delete;
    ~Accepting() { *is_set = false; }
    std::atomic<bool>* is_set;
  };

  void accept() {
    acceptor_.async_accept(asio::make_strand(context_.get_executor()),
                           [this, token = std::make_shared<Accepting>(&accepting_)](
                               error_code error, StreamSocket socket) mutable {
                             token.reset();
                             on_accept(error, std::move(socket));
                           });
  }

  void on_accept(error_code error, StreamSocket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {
      // No file descriptor is left, most likely: newcomers wait in the kernel's queue for a moment.
      evict_idle();
      retry_.expires_after(std::chrono::milliseconds(50));
      retry_.async_wait(
          [this, token = std::make_shared<Accepting>(&accepting_)](error_code cancelled) mutable {
            token.reset();
            if (!cancelled) accept();
          });
      return;
    }
    try {
      admit(std::move(socket));
    } catch (...) {  // this one is not answered; others may be
    }
    accept();
  }

  void admit(StreamSocket socket) {
    const size_t max = shared_->options.limits.max_connections;
    const bool room = shared_->n_connections < max || evict_idle();
    if (!room && shared_->n_refused >= max) return;  // not even time to say so
    auto stream = shared_->tls != nullptr ? make_tls_stream(std::move(socket), *shared_->tls)
                                          : make_plain_stream(std::move(socket));
    const auto connection = std::make_shared<Connection>(
        std::move(stream), shared_,
        room ? Connection::Admission::kServed : Connection::Admission::kRefused);
    remember(connection);
    connection->start();
  }

  // Closes the connection that is idle for longest. False: all have a request in hand.
  bool evict_idle() {
    while (true) {
      std::shared_ptr<Connection> oldest;
      Connection::Instant since{};
      for (const auto& weak : connections_) {
        auto connection = weak.lock();
        const auto idle = connection ? connection->idle_since() : std::nullopt;
        if (!idle || (oldest && *idle >= since)) continue;
        oldest = std::move(connection);
        since = *idle;
      }
      if (!oldest) return false;
      if (oldest->close_if_idle_since(since)) return true;
    }
  }

  void remember(const std::shared_ptr<Connection>& connection) {
    if (connections_.size() >= 2 * (shared_->n_connections + shared_->n_refused) + 16) {
      std::erase_if(connections_, [](const auto& weak) { return weak.expired(); });
    }
    connections_.push_back(connection);
  }

  std::shared_ptr<Shared> shared_;
  std::atomic<bool> accepting_{false};  // or about to; its handlers outlive what stands below
  asio::io_context context_;
  StrandExecutor strand_;
  asio::basic_socket_acceptor<asio::generic::stream_protocol, StrandExecutor> acceptor_;
  asio::steady_timer retry_;
  std::vector<std::weak_ptr<Connection>> connections_;  // strand_ only
  std::vector<std::thread> threads_;
  uint16_t port_ = 0;
  std::string socket_path_;  // ours to remove
};

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(ListenerOptions options) {
  auto listener = std::make_unique<AsioListener>(std::move(options));
  T9_TRY(listener->bind());
  listener->start();
  return std::unique_ptr<Listener>(std::move(listener));
}

Result<bool> is_loopback(const std::string& host) {
  T9_TRY(const auto addresses, resolve(host));
  return std::all_of(addresses.begin(), addresses.end(),
                     [](const auto& address) { return address.is_loopback(); });
}

}  // namespace tempo9::server::http
