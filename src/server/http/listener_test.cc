// The listener and its connections, over real sockets on loopback.
#include "server/http/listener.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/testing/temp_folder.h"
#include "server/http/testing/client.h"

namespace tempo9::server::http {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using testing::Client;
using testing::options;
using testing::Signal;

void echo(const std::shared_ptr<Exchange>& exchange) {
  const Request& request = exchange->request();
  exchange->respond(
      {.body = request.method + " " + request.path + " " + std::to_string(request.body.size())});
}

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Listener, KeepsAliveAndPipelines) {
  auto listener = Listener::open(options(echo));
  ASSERT_TRUE(listener) << listener.error().message;
  const std::string text =
      Client(**listener)
          .ask(
              "GET /1?x HTTP/1.1\r\nHost: localhost\r\n\r\n"
              "POST /2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
              "HEAD /3 HTTP/1.1\r\nHost: localhost\r\n\r\n"
              "POST /4 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: "
              "close\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n");
  EXPECT_EQ(count(text, "HTTP/1.1 200 OK\r\n"), 4u) << text;
  EXPECT_NE(text.find("GET /1 0"), std::string::npos);
  EXPECT_NE(text.find("POST /2 3"), std::string::npos);
  EXPECT_EQ(text.find("HEAD /3 0"), std::string::npos) << "a HEAD has no body";
  EXPECT_TRUE(text.ends_with("POST /4 5")) << text;
}

// The second request is parsed while a read is pending; the third must still be read from its
// start.
TEST(Listener, RequestAfterAPipelinedOne) {
  auto listener = Listener::open(options(echo));
  ASSERT_TRUE(listener);
  Client client(**listener);
  client.send(
      "GET /one HTTP/1.1\r\nHost: localhost\r\n\r\nGET /two HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::string text;
  boost::system::error_code error;
  asio::read_until(client.socket(), asio::dynamic_buffer(text), "GET /two 0", error);
  ASSERT_FALSE(error) << text;
  text = client.ask(
      "POST /three HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: "
      "2\r\n\r\nab");
  EXPECT_TRUE(text.ends_with("POST /three 2")) << text;
}

TEST(Listener, RefusesWhatIsTooLargeOrWrong) {
  ListenerOptions with = options(echo);
  with.limits.max_body_bytes = 1000;
  with.limits.max_header_bytes = 2000;
  auto listener = Listener::open(std::move(with));
  ASSERT_TRUE(listener);
  const auto first_line = [&](const std::string& request) {
    const std::string text = Client(**listener).ask(request);
    return text.substr(0, text.find("\r\n"));
  };
  EXPECT_EQ(first_line("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n"),
            "HTTP/1.1 413 Payload Too Large");
  EXPECT_EQ(first_line("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n" +
                       std::string(1001, 'x')),
            "HTTP/1.1 413 Payload Too Large");
  EXPECT_EQ(
      first_line(
          "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n"),
      "HTTP/1.1 400 Bad Request");
  EXPECT_EQ(
      first_line("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n500\r\n" +
                 std::string(0x500, 'x') + "\r\n0\r\n\r\n"),
      "HTTP/1.1 413 Payload Too Large");
  EXPECT_EQ(
      first_line("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(3000, 'x') + "\r\n\r\n"),
      "HTTP/1.1 431 Request Header Fields Too Large");
  EXPECT_EQ(first_line("hello\r\n\r\n"), "HTTP/1.1 400 Bad Request");
  EXPECT_EQ(first_line("GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 400 Bad Request");
  EXPECT_EQ(first_line("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), "HTTP/1.1 403 Forbidden");
  EXPECT_EQ(first_line("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: "
                       "gzip\r\nContent-Length: 1\r\n\r\nx"),
            "HTTP/1.1 415 Unsupported Media Type");
  EXPECT_EQ(first_line("GET / HTTP/1.0\r\n\r\n"), "HTTP/1.1 200 OK");
  EXPECT_EQ(first_line("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"),
            "HTTP/1.1 400 Bad Request");
  const std::string chunked_body = "1\r\nx\r\n0\r\n\r\n";
  for (const char* coding : {"gzip, chunked", "chunked, chunked", "identity, chunked"}) {
    EXPECT_EQ(first_line(fmt::format(
                  "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: {}\r\n\r\n{}", coding,
                  chunked_body)),
              "HTTP/1.1 501 Not Implemented")
        << coding;
  }
  EXPECT_EQ(first_line("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n" +
                       chunked_body),
            "HTTP/1.1 400 Bad Request");
  EXPECT_EQ(first_line(fmt::format("POST / HTTP/1.1\r\nHost: localhost\r\nConnection: "
                                   "close\r\nTransfer-Encoding: CHUNKED\r\n\r\n{}",
                                   chunked_body)),
            "HTTP/1.1 200 OK");
  EXPECT_EQ(first_line("POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: "
                       "100-continue\r\nContent-Length: 1\r\n\r\nx"),
            "HTTP/1.1 100 Continue");
}

// The status line that a newcomer with a chunked body gets while four others are being answered,
// each of which has sent a body of n_bytes.
std::string newcomer_beside_four(size_t n_bytes) {
  std::mutex mutex;
  std::vector<std::shared_ptr<Exchange>> held;
  Signal all;
  ListenerOptions with = options([&](std::shared_ptr<Exchange> exchange) {
    if (exchange->request().path == "/now") return echo(exchange);
    const std::lock_guard lock(mutex);
    held.push_back(std::move(exchange));
    if (held.size() == 4) all.set();
  });
  with.limits.max_body_bytes = 1000;
  with.limits.max_bodies_bytes = 4000;
  auto listener = Listener::open(std::move(with));
  if (!listener) return listener.error().message;
  const auto chunked = [](const char* path, size_t n) {
    return fmt::format(
        "POST {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: "
        "chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
        path, n, std::string(n, 'x'));
  };
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<Client>(**listener));
    clients.back()->send(chunked("/held", n_bytes));
  }
  if (!all.wait()) return "the four were not asked";
  const std::string text = Client(**listener).ask(chunked("/now", 3));
  (*listener)->stop();
  held.clear();
  return text.substr(0, text.find("\r\n"));
}

TEST(Listener, AChunkedBodyTakesTheRoomOfWhatCame) {
  EXPECT_EQ(newcomer_beside_four(3), "HTTP/1.1 200 OK");
  EXPECT_EQ(newcomer_beside_four(900), "HTTP/1.1 503 Service Unavailable");
}

TEST(Listener, SilentClientsAreDropped) {
  ListenerOptions with = options(echo);
  with.limits.header_timeout = std::chrono::milliseconds(50);
  with.limits.body_timeout = std::chrono::milliseconds(50);
  auto listener = Listener::open(std::move(with));
  ASSERT_TRUE(listener);
  EXPECT_EQ(Client(**listener).ask("GET / HT"), "");
  EXPECT_EQ(
      Client(**listener).ask("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx"),
      "");
}

TEST(Listener, StreamsInChunks) {
  auto listener = Listener::open(options([](std::shared_ptr<Exchange> exchange) {
    exchange->start_stream("text/event-stream");
    exchange->write("one");
    exchange->post([exchange] {
      exchange->write("two");
      exchange->finish();
      exchange->write("never");
      EXPECT_TRUE(exchange->gone() || exchange->n_pending() > 0);
    });
  }));
  ASSERT_TRUE(listener);
  const std::string text =
      Client(**listener).ask("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_NE(text.find("Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"),
            std::string::npos)
      << text;
}

TEST(Listener, AHeadOfAStreamIsItsHeadAlone) {
  auto listener = Listener::open(options([](std::shared_ptr<Exchange> exchange) {
    exchange->start_stream("text/event-stream");
    exchange->write("one");
    exchange->post([exchange] {
      exchange->write("two");
      exchange->finish();
    });
  }));
  ASSERT_TRUE(listener);
  const std::string text = Client(**listener)
                               .ask(
                                   "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n"
                                   "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: "
                                   "close\r\n\r\n");
  EXPECT_NE(text.find("Transfer-Encoding: chunked\r\n\r\nHTTP/1.1 200 OK\r\n"), std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")) << text;
}

TEST(Listener, ClientThatLeavesIsNoticed) {
  Signal asked;
  Signal gone;
  auto listener = Listener::open(options([&](const std::shared_ptr<Exchange>& exchange) {
    exchange->on_gone([&gone, weak = std::weak_ptr(exchange)] { gone.set(); });
    asked.set();
  }));
  ASSERT_TRUE(listener);
  Client client(**listener);
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(asked.wait());
  EXPECT_EQ((*listener)->n_active(), 1u);
  client.close();
  EXPECT_TRUE(gone.wait());
  EXPECT_EQ((*listener)->n_active(), 0u);
}

TEST(Listener, ResetIsNoCleanEnd) {
  auto listener = Listener::open(options([](std::shared_ptr<Exchange> exchange) {
    exchange->start_stream("text/event-stream");
    exchange->write("half");
    exchange->on_drain([weak = std::weak_ptr(exchange)] {
      if (const auto locked = weak.lock()) locked->reset();
    });
    exchange->after(std::chrono::seconds(10), [exchange] {});  // owns it
  }));
  ASSERT_TRUE(listener);
  Client client(**listener);
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  boost::system::error_code error;
  client.read_all(&error);
  EXPECT_EQ(error, asio::error::connection_reset);
}

TEST(Listener, ClosingAnswersWhatRuns) {
  Signal asked;
  std::shared_ptr<Exchange> held;
  auto listener = Listener::open(options([&](std::shared_ptr<Exchange> exchange) {
    held = std::move(exchange);
    asked.set();
  }));
  ASSERT_TRUE(listener);
  Client idle(**listener);
  Client busy(**listener);
  busy.send("GET /busy HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(asked.wait());
  (*listener)->close();
  EXPECT_EQ(idle.read_all(), "");
  held->post([&held] { echo(std::exchange(held, nullptr)); });
  const std::string text = busy.read_all();
  EXPECT_NE(text.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(text.ends_with("GET /busy 0")) << text;
}

// Once the socket is closed, a successor may listen at that path.
TEST(Listener, TheSocketsFileGoesBeforeTheSocket) {
  const TempFolder folder;
  const std::string path = folder.file("socket");
  Signal asked;
  std::atomic<bool> there_when_gone = true;
  ListenerOptions with = options([&](const std::shared_ptr<Exchange>& exchange) {
    exchange->on_gone([&] { there_when_gone = std::filesystem::exists(path); });
    asked.set();
  });
  with.unix_socket = path;
  auto listener = Listener::open(std::move(with));
  ASSERT_TRUE(listener) << listener.error().message;
  asio::io_context context;
  asio::local::stream_protocol::socket client(context);
  client.connect({path});
  asio::write(client, asio::buffer(std::string_view("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")));
  ASSERT_TRUE(asked.wait());
  EXPECT_TRUE(std::filesystem::exists(path));
  (*listener)->stop();
  EXPECT_FALSE(there_when_gone);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Listener, PortInUseIsNamed) {
  auto first = Listener::open(options(echo));
  ASSERT_TRUE(first);
  ListenerOptions with = options(echo);
  with.port = (*first)->port();
  const auto second = Listener::open(std::move(with));
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("already in use"), std::string::npos)
      << second.error().message;
}

TEST(Listener, LoopbackAddresses) {
  EXPECT_TRUE(is_loopback("127.0.0.1").value());
  EXPECT_TRUE(is_loopback("::1").value());
  EXPECT_FALSE(is_loopback("0.0.0.0").value());
  EXPECT_FALSE(is_loopback("no such host").has_value());
}

std::string keep_alive_ask(Client* client) {
  client->send("GET /kept HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::string text;
  boost::system::error_code error;
  asio::read_until(client->socket(), asio::dynamic_buffer(text), "GET /kept 0", error);
  return error ? error.message() : text.substr(0, text.find("\r\n"));
}

TEST(Listener, ANewcomerTakesThePlaceOfTheConnectionIdleForLongest) {
  ListenerOptions with = options(echo);
  with.limits.max_connections = 3;
  auto listener = Listener::open(std::move(with));
  ASSERT_TRUE(listener);
  Client first(**listener), second(**listener), third(**listener);
  for (Client* client : {&first, &second, &third, &first}) {
    ASSERT_EQ(keep_alive_ask(client), "HTTP/1.1 200 OK");
    while ((*listener)->n_active() > 0) std::this_thread::yield();  // not yet idle for the server
  }
  Client newcomer(**listener);
  EXPECT_EQ(keep_alive_ask(&newcomer), "HTTP/1.1 200 OK");
  EXPECT_EQ(second.read_all(), "") << "it was idle for longest";
  for (Client* client : {&first, &third, &newcomer}) {
    EXPECT_EQ(keep_alive_ask(client), "HTTP/1.1 200 OK");
  }
}

TEST(Listener, SilentConnectionsDoNotKeepNewcomersOut) {
  ListenerOptions with = options(echo);
  with.limits.max_connections = 4;
  auto listener = Listener::open(std::move(with));
  ASSERT_TRUE(listener);
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(std::make_unique<Client>(**listener));
    if (i % 2 == 0) silent.back()->send("GET / HT");
  }
  EXPECT_TRUE(Client(**listener)
                  .ask("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                  .starts_with("HTTP/1.1 200 OK"));
}

TEST(Listener, WhenAllAreBusyANewcomerIsToldSo) {
  std::mutex mutex;
  std::vector<std::shared_ptr<Exchange>> held;
  Signal both;
  ListenerOptions with = options([&](std::shared_ptr<Exchange> exchange) {
    const std::lock_guard lock(mutex);
    held.push_back(std::move(exchange));
    if (held.size() == 2) both.set();
  });
  with.limits.max_connections = 2;
  auto listener = Listener::open(std::move(with));
  ASSERT_TRUE(listener);
  Client first(**listener), second(**listener);
  for (Client* client : {&first, &second}) {
    client->send("GET /busy HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  }
  ASSERT_TRUE(both.wait());
  const std::string text = Client(**listener).read_all();
  EXPECT_TRUE(text.starts_with("HTTP/1.1 503 Service Unavailable\r\n")) << text;
  EXPECT_NE(text.find("Retry-After: 1\r\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Connection: close\r\n"), std::string::npos) << text;
  {
    const std::lock_guard lock(mutex);
    for (auto& exchange : held) {
      Exchange& e = *exchange;
      e.post([owned = std::move(exchange)] { echo(owned); });
    }
  }
  for (Client* client : {&first, &second}) {
    EXPECT_TRUE(client->read_all().ends_with("GET /busy 0"));
  }
}

TEST(Listener, MoreConnectionsThanTheLimitComeOneAfterTheOther) {
  ListenerOptions with = options(echo);
  with.limits.max_connections = 2;
  auto listener = Listener::open(std::move(with));
  ASSERT_TRUE(listener);
  for (int i = 0; i < 8; ++i) {
    EXPECT_NE(Client(**listener)
                  .ask("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                  .find("200 OK"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace tempo9::server::http
