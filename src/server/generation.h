// One HTTP request's work in the engine: its choices, from submission to the last event, cancelled
// when the client goes.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "server/call_list.h"
#include "server/errors.h"
#include "server/http/message.h"
#include "server/service.h"

namespace tempo9::server {

// What a dialect makes of the events. All calls on the exchange's strand.
class Reply {
 public:
  virtual ~Reply() = default;

  bool streamed = false;
  std::string_view stream_type = "text/event-stream; charset=utf-8";
  http::Headers headers;  // of a streamed reply, beside the usual ones
  bool wrote =
      false;  // set by the dialect when it writes; cleared by the one who watches for silence

  enum class Next {
    kContinue,
    kStopChoice
  };  // kStopChoice: this choice needs no more tokens; ended() still comes

  // Streamed replies: the head has been sent; nothing else.
  virtual void started(http::Exchange&) {}
  // In order for each choice; event.finish is set on the choice's last one (kStop after a
  // kStopChoice).
  virtual Next on_event(http::Exchange& exchange, size_t choice, engine::Event&& event) = 0;
  // Nothing was written for a while: say something that means nothing (streamed replies).
  virtual void keep_alive(http::Exchange& exchange) = 0;
  // All choices have ended well: the whole body, or the end of the stream.
  virtual void on_end(http::Exchange& exchange) = 0;
  // A failure before the first byte, in the dialect's shape.
  virtual http::Response error(const Error& error) const { return openai_error(error); }
};

inline constexpr std::chrono::milliseconds kKeepAlive{
    8'000};  // clients need a sign of life every 10 s

// Submits all requests, or answers with the first error and submits none for good. Failures before
// the first byte are a status; behind it the connection is reset, which clients retry (an error
// event in the stream makes some of them give up). Call on the exchange's strand.
// call_list: may be null; a reply that begins with one call alone is begun again as a list.
void generate(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange,
              std::vector<engine::GenerateRequest> requests, std::unique_ptr<Reply> reply,
              std::shared_ptr<const CallList> call_list = nullptr);

}  // namespace tempo9::server
