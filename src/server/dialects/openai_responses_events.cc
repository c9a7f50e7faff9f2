#include "server/dialects/openai_responses_events.h"

#include <algorithm>
#include <utility>

namespace tempo9::server::openai {
namespace {

// What is streamed of an item: the event's name, and the key that holds the whole.
struct Streamed {
  std::string_view type, event, key;
};
constexpr Streamed kStreamed[] = {
    {"message", "response.output_text", "text"},
    {"reasoning", "response.reasoning_summary_text", "text"},
    {"function_call", "response.function_call_arguments", "arguments"},
    {"custom_tool_call", "response.custom_tool_call_input", "input"},
};
const Streamed* streamed_of(std::string_view type) {
  const auto found = std::ranges::find(kStreamed, type, &Streamed::type);
  return found == std::end(kStreamed) ? nullptr : found;
}

// The event's form of logprobs: without bytes.
Json without_bytes(const Json& logprobs) {
  Json out = logprobs;
  for (Json& entry : out) {
    entry.erase("bytes");
    for (Json& other : entry["top_logprobs"]) other.erase("bytes");
  }
  return out;
}

const Json& part_of(const Json& item) {
  return item["type"] == "message" ? item["content"][0] : item["summary"][0];
}

std::string text_of(const Json& item) {
  const Streamed* streamed = streamed_of(item["type"].get<std::string>());
  if (streamed == nullptr) return {};
  const bool has_part = streamed->key == "text";
  return (has_part ? part_of(item)["text"] : item[std::string(streamed->key)]).get<std::string>();
}

}  // namespace

void ResponseEvents::emit(const char* type, const Json& fields) {
  Json event = Json::object();
  event["type"] = type;
  event["sequence_number"] = sequence_++;
  event.update(fields);
  write_(fmt::format("event: {}\ndata: {}\n\n", type, dump(event)));
}

void ResponseEvents::emit_of_item(const char* type, const Json& fields) {
  Json all{{"item_id", id_}, {"output_index", index_}};
  all.update(fields);
  emit(type, all);
}

void ResponseEvents::created(const Json& response) {
  if (!write_) return;
  emit("response.created", {{"response", response}});
}
void ResponseEvents::in_progress(const Json& response) {
  if (!write_) return;
  emit("response.in_progress", {{"response", response}});
}
void ResponseEvents::ended(const Json& response) {
  if (!write_) return;
  const bool whole = response["status"] == "completed";
  emit(whole ? "response.completed" : "response.incomplete", {{"response", response}});
}

void ResponseEvents::begin(const Json& item) {
  if (!write_) return;
  id_ = item["id"].get<std::string>();
  type_ = item["type"].get<std::string>();
  emit("response.output_item.added", {{"output_index", index_}, {"item", item}});
  if (type_ == "message") {
    emit_of_item("response.content_part.added", {{"content_index", 0},
                                                 {"part",
                                                  {{"type", "output_text"},
                                                   {"annotations", Json::array()},
                                                   {"logprobs", Json::array()},
                                                   {"text", ""}}}});
  } else if (type_ == "reasoning") {
    emit_of_item("response.reasoning_summary_part.added",
                 {{"summary_index", 0}, {"part", {{"type", "summary_text"}, {"text", ""}}}});
  }
}

void ResponseEvents::delta(std::string_view text, const Json& logprobs) {
  if (!write_) return;
  const Streamed* streamed = streamed_of(type_);
  if (streamed == nullptr) return;
  Json fields = Json::object();
  if (type_ == "message") fields["content_index"] = 0;
  if (type_ == "reasoning") fields["summary_index"] = 0;
  fields["delta"] = text;
  if (type_ == "message") fields["logprobs"] = without_bytes(logprobs);
  emit_of_item(fmt::format("{}.delta", streamed->event).c_str(), fields);
}

void ResponseEvents::end(const Json& item) {
  if (!write_) return;
  if (const Streamed* streamed = streamed_of(type_)) {
    Json fields = Json::object();
    if (type_ == "message") fields["content_index"] = 0;
    if (type_ == "reasoning") fields["summary_index"] = 0;
    fields[std::string(streamed->key)] = text_of(item);
    if (type_ == "message") fields["logprobs"] = without_bytes(part_of(item)["logprobs"]);
    if (type_ == "function_call") fields["name"] = item["name"];
    emit_of_item(fmt::format("{}.done", streamed->event).c_str(), fields);
  }
  if (type_ == "message") {
    emit_of_item("response.content_part.done", {{"content_index", 0}, {"part", part_of(item)}});
  } else if (type_ == "reasoning") {
    emit_of_item("response.reasoning_summary_part.done",
                 {{"summary_index", 0}, {"part", part_of(item)}});
  }
  emit("response.output_item.done", {{"output_index", index_++}, {"item", item}});
}

Json opened_item(const Json& item) {
  Json out = item;
  out["status"] = "in_progress";
  for (const char* list : {"content", "summary"}) {
    if (out.contains(list)) out[list] = Json::array();
  }
  for (const char* text : {"arguments", "input"}) {
    if (out.contains(text))
      out[text] = out["type"] == "tool_search_call" ? Json::object() : Json("");
  }
  out.erase("encrypted_content");
  return out;
}

void replay_response(const Json& response, const StoredResponse& stored, int64_t starting_after,
                     const ResponseEvents::Write& write) {
  uint64_t n = 0;
  ResponseEvents events([&](std::string_view bytes) {
    if (static_cast<int64_t>(n++) > starting_after) write(bytes);
  });
  Json running = response;
  running["status"] = "in_progress";
  running["output"] = Json::array();
  for (const char* later : {"completed_at", "incomplete_details", "usage"})
    running[later] = nullptr;
  auto sign = stored.keep_alives.begin();
  const auto keep_alive = [&] {
    for (; sign != stored.keep_alives.end() && *sign == events.n_events(); ++sign)
      events.in_progress(running);
  };
  events.created(running);
  events.in_progress(running);
  size_t index = 0;
  for (const Json& item : response["output"]) {
    keep_alive();
    events.begin(opened_item(item));
    const std::string text = text_of(item);
    const bool has_logprobs = item["type"] == "message";
    const std::vector<uint32_t>& sizes = stored.deltas.at(index++);
    size_t begin = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      keep_alive();
      // Which delta had which tokens is not kept: the last has them all.
      const bool is_last = i + 1 == sizes.size();
      events.delta(std::string_view(text).substr(begin, sizes[i]),
                   has_logprobs && is_last ? part_of(item)["logprobs"] : Json::array());
      begin += sizes[i];
    }
    keep_alive();
    events.end(item);
  }
  keep_alive();
  events.ended(response);
}

}  // namespace tempo9::server::openai
