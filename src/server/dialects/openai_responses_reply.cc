// The reply of /v1/responses: items, each with its own events, or one body.
#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "server/cache_report.h"
#include "server/custom_tool.h"
#include "server/dialects/openai_responses.h"
#include "server/dialects/openai_responses_input.h"

namespace tempo9::server::openai {
namespace {

constexpr const char* kInProgress = "in_progress";
constexpr const char* kCompleted = "completed";
constexpr const char* kIncomplete = "incomplete";

// The event's form of logprobs: without bytes.
Json without_bytes(const Json& logprobs) {
  Json out = logprobs;
  for (Json& entry : out) {
    entry.erase("bytes");
    for (Json& other : entry["top_logprobs"]) other.erase("bytes");
  }
  return out;
}

class ResponseReply final : public Reply {
 public:
  ResponseReply(std::shared_ptr<const Service> service, ResponseReplyOptions options)
      : service_(std::move(service)),
        options_(std::move(options)),
        parser_(*service_, options_.parser) {
    streamed = options_.streamed;
  }

  void started(http::Exchange& exchange) override {
    emit(exchange, "response.created", {{"response", options_.response}});
    emit(exchange, "response.in_progress", {{"response", options_.response}});
  }

  Next on_event(http::Exchange& exchange, size_t, engine::Event&& event) override {
    if (!closed_) {
      collect_logprobs(event);
      std::vector<chat::Event> events;
      parser_.feed(event, &events);
      for (chat::Event& part : events) {
        if (!closed_) std::visit([&](auto& delta) { add(exchange, delta); }, part);
      }
    }
    if (event.finish) {
      usage_ = event.usage;
      cut_ = event.finish->reason == engine::FinishReason::kLength;
      close_item(exchange, cut_ ? kIncomplete : kCompleted);
    }
    return closed_ ? Next::kStopChoice : Next::kContinue;
  }

  // Codex counts events, not comments.
  void keep_alive(http::Exchange& exchange) override {
    emit(exchange, "response.in_progress", {{"response", options_.response}});
  }

  void on_end(http::Exchange& exchange) override {
    Json& response = options_.response;
    response["status"] = cut_ ? kIncomplete : kCompleted;
    if (cut_) {
      response["incomplete_details"] = {{"reason", "max_output_tokens"}};
    } else {
      response["completed_at"] = unix_seconds();
    }
    response["output"] = std::move(output_);
    response["usage"] = usage();
    store();
    if (!streamed) return exchange.respond({.body = dump(response)});
    emit(exchange, cut_ ? "response.incomplete" : "response.completed", {{"response", response}});
    exchange.finish();
  }

 private:
  enum class Open { kNothing, kMessage, kReasoning };

  struct Call {
    std::string id;
    ToolOrigin origin;
    std::string arguments;
  };

  void emit(http::Exchange& exchange, const char* type, const Json& fields) {
    if (!streamed) return;
    Json event;
    event["type"] = type;
    event["sequence_number"] = sequence_++;
    event.update(fields);
    exchange.write(fmt::format("event: {}\ndata: {}\n\n", type, dump(event)));
    wrote = true;
  }

  // An event of the item that is open, or is being added.
  void emit_of_item(http::Exchange& exchange, const char* type, Json fields) {
    if (!streamed) return;
    Json all{{"item_id", item_["id"]}, {"output_index", output_.size()}};
    all.update(fields);
    emit(exchange, type, all);
  }

  void emit_item(http::Exchange& exchange, const char* type, const Json& item) {
    if (!streamed) return;
    emit(exchange, type, {{"output_index", output_.size()}, {"item", item}});
  }

  void add(http::Exchange& exchange, chat::TextDelta& delta) {
    if (open_ != Open::kMessage) open_message(exchange);
    text_ += delta.text;
    Json logprobs = std::exchange(logprobs_, Json::array());
    emit_of_item(exchange, "response.output_text.delta",
                 {{"content_index", 0},
                  {"delta", std::move(delta.text)},
                  {"logprobs", without_bytes(logprobs)}});
    for (Json& entry : logprobs) item_logprobs_.push_back(std::move(entry));
  }

  void add(http::Exchange& exchange, chat::ReasoningDelta& delta) {
    logprobs_ = Json::array();
    if (open_ != Open::kReasoning) open_reasoning(exchange);
    text_ += delta.text;
    emit_of_item(exchange, "response.reasoning_summary_text.delta",
                 {{"summary_index", 0}, {"delta", std::move(delta.text)}});
  }

  void add(http::Exchange& exchange, chat::ToolCallBegin& begin) {
    logprobs_ = Json::array();
    close_item(exchange, kCompleted);
    call_ = {begin.id, options_.tools.origin(begin.name), {}};
  }
  void add(http::Exchange&, chat::ToolCallArgsDelta& delta) { call_.arguments += delta.json; }
  void add(http::Exchange& exchange, chat::ToolCallEnd&) {
    write_call(exchange);
    if (options_.one_call) closed_ = true;
  }

  void open_message(http::Exchange& exchange) {
    close_item(exchange, kCompleted);
    open_ = Open::kMessage;
    item_ = {{"id", service_->make_id("msg_")},
             {"type", "message"},
             {"status", kInProgress},
             {"role", "assistant"},
             {"content", Json::array()}};
    emit_item(exchange, "response.output_item.added", item_);
    emit_of_item(exchange, "response.content_part.added",
                 {{"content_index", 0}, {"part", text_part("", Json::array())}});
  }

  void open_reasoning(http::Exchange& exchange) {
    close_item(exchange, kCompleted);
    open_ = Open::kReasoning;
    item_ = {{"id", service_->make_id("rs_")},
             {"type", "reasoning"},
             {"status", kInProgress},
             {"summary", Json::array()}};
    emit_item(exchange, "response.output_item.added", item_);
    emit_of_item(exchange, "response.reasoning_summary_part.added",
                 {{"summary_index", 0}, {"part", {{"type", "summary_text"}, {"text", ""}}}});
  }

  static Json text_part(std::string text, Json logprobs) {
    return {{"type", "output_text"},
            {"annotations", Json::array()},
            {"logprobs", std::move(logprobs)},
            {"text", std::move(text)}};
  }

  void close_item(http::Exchange& exchange, const char* status) {
    const Open open = std::exchange(open_, Open::kNothing);
    if (open == Open::kNothing) return;
    const std::string text = std::exchange(text_, {});
    if (open == Open::kMessage) {
      Json logprobs = std::exchange(item_logprobs_, Json::array());
      emit_of_item(exchange, "response.output_text.done",
                   {{"content_index", 0}, {"text", text}, {"logprobs", without_bytes(logprobs)}});
      const Json part = text_part(text, std::move(logprobs));
      emit_of_item(exchange, "response.content_part.done", {{"content_index", 0}, {"part", part}});
      item_["content"].push_back(part);
    } else {
      const Json part{{"type", "summary_text"}, {"text", text}};
      emit_of_item(exchange, "response.reasoning_summary_text.done",
                   {{"summary_index", 0}, {"text", text}});
      emit_of_item(exchange, "response.reasoning_summary_part.done",
                   {{"summary_index", 0}, {"part", part}});
      item_["summary"].push_back(part);
      if (options_.encrypted_reasoning) item_["encrypted_content"] = encode_reasoning(text);
    }
    item_["status"] = status;
    emit_item(exchange, "response.output_item.done", item_);
    output_.push_back(std::move(item_));
  }

  void write_call(http::Exchange& exchange) {
    switch (call_.origin.kind) {
      case ToolOrigin::Kind::kFunction:
        write_call_of(exchange, "fc_", "function_call", "arguments", call_.arguments,
                      "response.function_call_arguments.delta",
                      "response.function_call_arguments.done");
        break;
      case ToolOrigin::Kind::kCustom:
        write_call_of(exchange, "ctc_", "custom_tool_call", "input", custom_input(call_.arguments),
                      "response.custom_tool_call_input.delta",
                      "response.custom_tool_call_input.done");
        break;
      case ToolOrigin::Kind::kToolSearch:
        write_tool_search(exchange);
        break;
    }
  }

  void write_call_of(http::Exchange& exchange, const char* id_prefix, const char* type,
                     const char* key, const std::string& value, const char* delta_type,
                     const char* done_type) {
    item_ = {{"id", service_->make_id(id_prefix)},
             {"type", type},
             {"status", kInProgress},
             {key, ""},
             {"call_id", call_.id},
             {"name", call_.origin.name}};
    // A call into a namespace is not known to Codex without it.
    if (!call_.origin.name_space.empty()) item_["namespace"] = call_.origin.name_space;
    emit_item(exchange, "response.output_item.added", item_);
    emit_of_item(exchange, delta_type, {{"delta", value}});
    Json done{{key, value}};
    if (call_.origin.kind == ToolOrigin::Kind::kFunction) done["name"] = call_.origin.name;
    emit_of_item(exchange, done_type, std::move(done));
    item_[key] = value;
    item_["status"] = kCompleted;
    emit_item(exchange, "response.output_item.done", item_);
    output_.push_back(std::move(item_));
  }

  void write_tool_search(http::Exchange& exchange) {
    item_ = {{"id", service_->make_id("tsc_")}, {"type", "tool_search_call"},
             {"status", kInProgress},           {"call_id", call_.id},
             {"execution", "client"},           {"arguments", Json::object()}};
    emit_item(exchange, "response.output_item.added", item_);
    Json arguments = Json::parse(call_.arguments, nullptr, false);
    item_["arguments"] = arguments.is_discarded() ? Json(call_.arguments) : std::move(arguments);
    item_["status"] = kCompleted;
    emit_item(exchange, "response.output_item.done", item_);
    output_.push_back(std::move(item_));
  }

  void collect_logprobs(const engine::Event& event) {
    if (!options_.logprobs) return;
    for (const engine::TokenInfo& token : event.tokens) {
      const bool is_text = service_->tokenizer().type(token.id) != tokenizer::TokenType::kControl &&
                           !is_end_token(*service_, token.id, options_.ignore_eos);
      if (is_text && token.logprob) logprobs_.push_back(logprob_entry(*service_, token));
    }
  }

  Json usage() const {
    Json json = {
        {"input_tokens", usage_.prompt_tokens},
        {"input_tokens_details",
         {{"cached_tokens", usage_.cached_tokens},
          // The prefix cache takes all that it did not have.
          {"cache_write_tokens", usage_.prompt_tokens - usage_.cached_tokens}}},
        {"output_tokens", usage_.completion_tokens},
        {"output_tokens_details",
         {{"reasoning_tokens", std::min(parser_.n_reasoning_tokens(), usage_.completion_tokens)}}},
        {"total_tokens", usage_.prompt_tokens + usage_.completion_tokens}};
    if (usage_.tells_timing) json["timing"] = timing_json(usage_);
    return json;
  }

  void store() {
    if (!options_.store) return;
    StoredResponse stored;
    for (const Json* items : {&options_.items, &options_.response["output"]}) {
      for (const Json& item : *items) {
        if (const auto id = item.find("id"); id != item.end() && id->is_string())
          stored.item_ids.push_back(id->get<std::string>());
      }
    }
    stored.response = dump(options_.response);
    stored.items = dump(options_.items);
    service_->responses().put(options_.response["id"].get<std::string>(), std::move(stored));
  }

  std::shared_ptr<const Service> service_;
  ResponseReplyOptions options_;
  ReplyParser parser_;
  uint64_t sequence_ = 0;
  Json output_ = Json::array();
  Open open_ = Open::kNothing;
  Json item_;                           // the open item, or the call being written
  std::string text_;                    // of the open item
  Json logprobs_ = Json::array();       // of tokens whose text has not come out yet
  Json item_logprobs_ = Json::array();  // of the open message
  Call call_;
  bool closed_ = false;  // no more output is wanted
  bool cut_ = false;     // a limit ended the reply
  engine::Usage usage_;
};

}  // namespace

std::unique_ptr<Reply> make_response_reply(std::shared_ptr<const Service> service,
                                           ResponseReplyOptions options) {
  return std::make_unique<ResponseReply>(std::move(service), std::move(options));
}

}  // namespace tempo9::server::openai
