// Links: t9_server
// Any body on any route: one answer, of JSON where it says so. The first line of the input is the
// route ("POST /v1/messages"), the rest its body. Behind it stands an engine that plays thinking,
// text and two calls, cut where the body's length says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "server/json_body.h"
#include "server/routes.h"
#include "server/testing/fake_engine.h"
#include "server/testing/fake_exchange.h"

namespace {

using namespace tempo9;  // NOLINT(google-build-using-namespace): one file, one purpose
using server::testing::FakeEngine;
using server::testing::FakeExchange;

constexpr std::string_view kReply =
    "<think>hm</think>I look.\n<tool_call>{\"name\": \"ls\", \"arguments\": {\"d\": [1, "
    "\"\xC3\xA4\"]}}"
    "</tool_call>\n<tool_call>{\"name\": \"ls\"}</tool_call>";

struct Harness {
  FakeEngine engine;
  server::Router router;

  Harness() {
    engine.info_.max_length = 1 << 16;
    router.set_ready(server::Service::create(engine, {}).value());
  }
};

// Server-sent events and NDJSON: each line that holds JSON holds it whole.
void check_stream(const std::string& stream) {
  std::istringstream lines(stream);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("data: ")) line.erase(0, 6);
    if (line.starts_with('{')) T9_CHECK(server::Json::accept(line));
  }
}

void play(FakeEngine& engine, size_t cut) {
  for (FakeEngine::Submitted& submitted : engine.submitted) {
    engine::Event first;
    first.text = kReply.substr(0, cut);
    first.format = "hermes";
    submitted.sink(std::move(first));
    engine::Event last;
    last.text = kReply.substr(cut);
    last.format = "hermes";
    last.finish = engine::Event::Finish{.reason = engine::FinishReason::kStop};
    submitted.sink(std::move(last));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Harness harness;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view head = input.substr(0, input.find('\n'));
  const size_t space = head.find(' ');
  server::http::Request request;
  request.method = head.substr(0, space);
  request.path = space == std::string_view::npos ? "/" : head.substr(space + 1);
  request.body = input.substr(std::min(size, head.size() + 1));
  const auto exchange = std::make_shared<FakeExchange>(std::move(request));
  harness.router.handle(exchange);
  if (!harness.engine.submitted.empty()) {
    play(harness.engine, size % kReply.size());
    T9_CHECK(exchange->run());
    harness.engine.submitted.clear();
  }
  T9_CHECK(exchange->response.has_value() || exchange->finished);
  if (exchange->response && exchange->response->content_type == "application/json")
    T9_CHECK(server::Json::accept(exchange->response->body));
  check_stream(exchange->stream);
  return 0;
}
