// Links: t9_server
// Any bytes on a connection: every answer is HTTP, and the connection ends. Behind it stand the
// real routes, over an engine that says one word to everything it accepts; so bodies are fuzzed,
// too.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "engine/engine.h"
#include "server/server.h"

namespace {

using namespace tempo9;  // NOLINT(google-build-using-namespace): one file, one purpose
namespace asio = boost::asio;

class OneWordEngine final : public engine::Engine {
 public:
  OneWordEngine() : tokenizer_(tokenizer::make_byte_tokenizer()) {
    info_.name = "fuzz";
    info_.max_length = 4096;
    info_.is_script = true;
    info_.chat_template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";
  }
  Result<engine::RequestId> submit(engine::GenerateRequest request,
                                   engine::EventSink sink) override {
    T9_CHECK(!request.prompt.empty());
    for (const engine::TokenId id : request.prompt) T9_CHECK(id >= 0 && id < tokenizer_->size());
    engine::Event event;
    event.text = "word";
    event.finish = engine::Event::Finish{.reason = engine::FinishReason::kStop};
    sink(std::move(event));
    return 1;
  }
  void cancel(engine::RequestId) override {}
  const engine::ModelInfo& info() const override { return info_; }
  const tokenizer::Tokenizer& tokenizer() const override { return *tokenizer_; }
  engine::Stats stats() const override { return {}; }

 private:
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
  engine::ModelInfo info_;
};

// In this order: the server stops before the engine goes.
struct Harness {
  OneWordEngine engine;
  std::unique_ptr<server::Server> server;

  Harness() {
    server::ServerOptions options;
    options.port = 0;
    options.limits.max_body_bytes = 1 << 20;
    auto opened = server::Server::open(std::move(options));
    T9_CHECK(opened.has_value());
    server = std::move(*opened);
    server->set_ready(server::Service::create(engine, {}).value());
  }
  ~Harness() { server->stop(); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Harness harness;
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  boost::system::error_code error;
  socket.connect({asio::ip::address_v4::loopback(), harness.server->port()}, error);
  if (error) return 0;
  // The server may have answered and closed before all is sent.
  asio::write(socket, asio::buffer(data, size), error);
  socket.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  std::string answer;
  asio::read(socket, asio::dynamic_buffer(answer), error);
  T9_CHECK(answer.empty() || answer.starts_with("HTTP/1.1 "));
  return 0;
}
