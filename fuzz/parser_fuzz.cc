// Links: t9_chat
// Every output parser on any bytes: whole, by byte and cut as the input says, with the same events
// each time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "chat/parser.h"

namespace {

using namespace tempo9::chat;

// The first byte chooses the cuts.
ParsedReply parse(std::string_view format, std::string_view reply, size_t stride,
                  FinishReason reason) {
  ParserOptions options;
  options.tools = {
      {"f", "", {{"type", "object"}, {"properties", {{"a", {{"type", "integer"}}}}}}, {}}};
  auto parser = make_parser(format, options);
  T9_CHECK(parser.has_value());
  std::vector<Event> events;
  for (size_t at = 0; at < reply.size(); at += stride)
    (*parser)->feed(reply.substr(at, stride), false, &events);
  (*parser)->finish(reason, &events);
  return join_events(events);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view reply(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (std::string_view format : format_names()) {
    for (FinishReason reason : {FinishReason::kStop, FinishReason::kLength}) {
      ParsedReply whole = parse(format, reply, std::max<size_t>(reply.size(), 1), reason);
      T9_CHECK(parse(format, reply, 1, reason) == whole);
      T9_CHECK(parse(format, reply, 1 + data[0] % 16, reason) == whole);
      for (const ToolCall& call : whole.calls) {
        T9_CHECK(Json::parse(call.arguments.get<std::string>(), nullptr, false).is_object());
      }
    }
  }
  return 0;
}
