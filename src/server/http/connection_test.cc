// What stands around a connection's requests: an end of sending before the answer, an empty line.
#include "server/http/connection.h"

#include <gtest/gtest.h>

#include <boost/asio/read_until.hpp>
#include <memory>
#include <string>
#include <utility>

#include "server/http/testing/client.h"

namespace tempo9::server::http {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using testing::Client;
using testing::options;
using testing::Signal;

// Before the answer's head, and between two pieces of a stream.
TEST(Connection, ClientThatClosesItsSendingHalfGetsItsAnswers) {
  for (const bool streams : {false, true}) {
    Signal asked;
    std::shared_ptr<Exchange> waiting;
    bool gone = false;
    auto listener = Listener::open(options([&](const std::shared_ptr<Exchange>& exchange) {
      if (exchange->request().path == "/next") return exchange->respond({.body = "next"});
      exchange->on_gone([&gone] { gone = true; });
      if (streams) exchange->start_stream("text/event-stream");
      if (streams) exchange->write("first");
      waiting = exchange;
      asked.set();
    }));
    ASSERT_TRUE(listener);
    Client client(**listener);
    client.send(
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET /next HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.socket().shutdown(Tcp::socket::shutdown_send);
    ASSERT_TRUE(asked.wait());
    // The probe has come; then the answer.
    std::string text;
    const std::string_view probe = streams ? "first\r\n0" : "H";
    asio::read_until(client.socket(), asio::dynamic_buffer(text), probe);
    waiting->post([&] {
      EXPECT_FALSE(gone);
      if (!streams) return std::exchange(waiting, nullptr)->respond({.body = "whole"});
      waiting->write("second");
      std::exchange(waiting, nullptr)->finish();
    });
    text += client.read_all();
    const size_t next = text.find("next");
    ASSERT_NE(next, std::string::npos) << text;
    if (streams) {
      EXPECT_NE(text.find("\r\n\r\n5\r\nfirst\r\n06\r\nsecond\r\n0\r\n\r\n"), std::string::npos)
          << text;
    } else {
      EXPECT_LT(text.find("\r\n\r\nwhole"), next) << text;
    }
  }
}

TEST(Connection, ClientThatLeavesAStreamIsNoticedWithoutAWord) {
  Signal asked;
  Signal gone;
  auto listener = Listener::open(options([&](const std::shared_ptr<Exchange>& exchange) {
    exchange->on_gone([&gone] { gone.set(); });
    exchange->start_stream("text/event-stream");
    asked.set();
  }));
  ASSERT_TRUE(listener);
  Client client(**listener);
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(asked.wait());
  std::string head;
  asio::read_until(client.socket(), asio::dynamic_buffer(head), "\r\n\r\n");
  client.close();  // nothing is unread: it says no more than an end
  EXPECT_TRUE(gone.wait());
}

TEST(Connection, AnEmptyLineBeforeARequestIsPassedOver) {
  auto listener = Listener::open(options([](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = exchange->request().path});
  }));
  ASSERT_TRUE(listener);
  for (const std::string line : {"\r\n", "\n"}) {
    Client client(**listener);
    client.send(line + "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n" + line.substr(0, 1));
    std::string first;
    asio::read_until(client.socket(), asio::dynamic_buffer(first), "/a");
    const std::string rest = client.ask(
        line.substr(1) + "GET /b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(rest.ends_with("/b")) << rest;
  }
  EXPECT_NE(
      Client(**listener).ask("\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n").find(" 400 "),
      std::string::npos);
}

}  // namespace
}  // namespace tempo9::server::http
