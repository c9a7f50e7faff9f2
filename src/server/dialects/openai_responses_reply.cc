// The reply of /v1/responses: items, each with its own events, or one body.
#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "chat/exact_json.h"
#include "server/cache_report.h"
#include "server/custom_tool.h"
#include "server/dialects/openai_responses.h"
#include "server/dialects/openai_responses_events.h"
#include "server/dialects/openai_responses_input.h"

namespace tempo9::server::openai {
namespace {

constexpr const char* kInProgress = "in_progress";
constexpr const char* kCompleted = "completed";
constexpr const char* kIncomplete = "incomplete";

class ResponseReply final : public Reply {
 public:
  ResponseReply(std::shared_ptr<const Service> service, ResponseReplyOptions options)
      : service_(std::move(service)),
        options_(std::move(options)),
        parser_(*service_, options_.parser),
        events_(options_.streamed ? ResponseEvents::Write([this](std::string_view bytes) {
          exchange_->write(bytes);
          wrote = true;
        })
                                  : nullptr) {
    streamed = options_.streamed;
  }

  void started(http::Exchange& exchange) override {
    exchange_ = &exchange;
    events_.created(options_.response);
    events_.in_progress(options_.response);
  }

  Next on_event(http::Exchange& exchange, size_t, engine::Event&& event) override {
    exchange_ = &exchange;
    if (!closed_) {
      collect_logprobs(event);
      std::vector<chat::Event> events;
      parser_.feed(event, &events);
      for (chat::Event& part : events) {
        if (!closed_) std::visit([&](auto& delta) { add(delta); }, part);
      }
    }
    if (event.finish) {
      usage_ = event.usage;
      cut_ = event.finish->reason == engine::FinishReason::kLength;
      close_item(cut_ ? kIncomplete : kCompleted);
    }
    return closed_ ? Next::kStopChoice : Next::kContinue;
  }

  // Codex counts events, not comments.
  void keep_alive(http::Exchange& exchange) override {
    exchange_ = &exchange;
    keep_alives_.push_back(events_.n_events());
    events_.in_progress(options_.response);
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
    exchange_ = &exchange;
    events_.ended(response);
    exchange.finish();
  }

 private:
  enum class Open { kNothing, kMessage, kReasoning };

  struct Call {
    std::string id;
    ToolOrigin origin;
    std::string arguments;
  };

  void add(chat::TextDelta& delta) {
    if (open_ != Open::kMessage) open_message();
    const Json logprobs = std::exchange(logprobs_, Json::array());
    write_delta(delta.text, logprobs);
    for (const Json& entry : logprobs) item_logprobs_.push_back(entry);
  }

  void add(chat::ReasoningDelta& delta) {
    logprobs_ = Json::array();
    if (open_ != Open::kReasoning) open_reasoning();
    write_delta(delta.text, Json::array());
  }

  void write_delta(const std::string& delta, const Json& logprobs) {
    text_ += delta;
    deltas_.back().push_back(static_cast<uint32_t>(delta.size()));
    events_.delta(delta, logprobs);
  }

  void add(chat::ToolCallBegin& begin) {
    logprobs_ = Json::array();
    close_item(kCompleted);
    call_ = {begin.id, options_.tools.origin(begin.name), {}};
  }
  void add(chat::ToolCallArgsDelta& delta) { call_.arguments += delta.json; }
  void add(chat::ToolCallEnd&) {
    write_call();
    if (options_.one_call) closed_ = true;
  }

  void open_item(Json item) {
    item_ = std::move(item);
    deltas_.emplace_back();
    events_.begin(item_);
  }

  void open_message() {
    close_item(kCompleted);
    open_ = Open::kMessage;
    open_item({{"id", service_->make_id("msg_")},
               {"type", "message"},
               {"status", kInProgress},
               {"role", "assistant"},
               {"content", Json::array()}});
  }

  void open_reasoning() {
    close_item(kCompleted);
    open_ = Open::kReasoning;
    open_item({{"id", service_->make_id("rs_")},
               {"type", "reasoning"},
               {"status", kInProgress},
               {"summary", Json::array()}});
  }

  void close_item(const char* status) {
    const Open open = std::exchange(open_, Open::kNothing);
    if (open == Open::kNothing) return;
    const std::string text = std::exchange(text_, {});
    if (open == Open::kMessage) {
      item_["content"].push_back({{"type", "output_text"},
                                  {"annotations", Json::array()},
                                  {"logprobs", std::exchange(item_logprobs_, Json::array())},
                                  {"text", text}});
    } else {
      item_["summary"].push_back({{"type", "summary_text"}, {"text", text}});
      if (options_.encrypted_reasoning) item_["encrypted_content"] = encode_reasoning(text);
    }
    finish_item(status);
  }

  void finish_item(const char* status) {
    item_["status"] = status;
    events_.end(item_);
    output_.push_back(std::move(item_));
  }

  void write_call() {
    switch (call_.origin.kind) {
      case ToolOrigin::Kind::kFunction:
        return write_call_of("fc_", "function_call", "arguments", call_.arguments);
      case ToolOrigin::Kind::kCustom:
        return write_call_of("ctc_", "custom_tool_call", "input", custom_input(call_.arguments));
      case ToolOrigin::Kind::kToolSearch:
        return write_tool_search();
    }
  }

  void write_call_of(const char* id_prefix, const char* type, const char* key,
                     const std::string& value) {
    Json item = {{"id", service_->make_id(id_prefix)},
                 {"type", type},
                 {"status", kInProgress},
                 {key, ""},
                 {"call_id", call_.id},
                 {"name", call_.origin.name}};
    // A call into a namespace is not known to Codex without it.
    if (!call_.origin.name_space.empty()) item["namespace"] = call_.origin.name_space;
    open_item(std::move(item));
    deltas_.back().push_back(static_cast<uint32_t>(value.size()));
    events_.delta(value, Json::array());
    item_[key] = value;
    finish_item(kCompleted);
  }

  void write_tool_search() {
    open_item({{"id", service_->make_id("tsc_")},
               {"type", "tool_search_call"},
               {"status", kInProgress},
               {"call_id", call_.id},
               {"execution", "client"},
               {"arguments", Json::object()}});
    item_["arguments"] = chat::parse_exactly(call_.arguments).value_or(Json(call_.arguments));
    finish_item(kCompleted);
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
    stored.deltas = std::move(deltas_);
    stored.keep_alives = std::move(keep_alives_);
    service_->responses().put(options_.response["id"].get<std::string>(), std::move(stored));
  }

  std::shared_ptr<const Service> service_;
  ResponseReplyOptions options_;
  ReplyParser parser_;
  http::Exchange* exchange_ = nullptr;  // of the call that is being made
  ResponseEvents events_;
  std::vector<std::vector<uint32_t>> deltas_;  // as StoredResponse has them
  std::vector<uint64_t> keep_alives_;
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
