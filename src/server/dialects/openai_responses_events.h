// The events of a /v1/responses stream, as a reply is written or read again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "server/dialects/openai_responses.h"

namespace tempo9::server::openai {

// Numbers what is written; without a write nothing is made at all. Not thread-safe.
class ResponseEvents {
 public:
  using Write = std::function<void(std::string_view bytes)>;
  explicit ResponseEvents(Write write) : write_(std::move(write)) {}

  void created(const Json& response);
  void in_progress(const Json& response);
  void ended(const Json& response);  // the terminal event of its status

  // One item at a time, in the order of the output. begin: as opened_item() has it; end: whole.
  void begin(const Json& item);
  void delta(std::string_view text, const Json& logprobs);  // of its text, arguments or input
  void end(const Json& item);

  uint64_t n_events() const { return sequence_; }

 private:
  void emit(const char* type, const Json& fields);
  void emit_of_item(const char* type, const Json& fields);  // with the item's id and index

  Write write_;
  uint64_t sequence_ = 0;
  uint64_t index_ = 0;     // of the item that is open, or comes next
  std::string id_, type_;  // of the open item
};

// An item of the output as it is before anything is in it.
Json opened_item(const Json& item);

// All events of a response that has ended, in the numbers that they had; those up to starting_after
// (-1: none) are left out.
void replay_response(const Json& response, const StoredResponse& stored, int64_t starting_after,
                     const ResponseEvents::Write& write);

}  // namespace tempo9::server::openai
