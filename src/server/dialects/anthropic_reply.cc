#include <utility>
#include <variant>

#include "chat/exact_json.h"
#include "server/cache_report.h"
#include "server/dialects/anthropic.h"

namespace tempo9::server::anthropic {
namespace {

// The API's types have fields for what this server does not do; typed clients count on them, so
// they are there and null.

// Three numbers without overlap; their sum is the prompt. Of a message_delta.
Json usage_json(const engine::Usage& usage, uint32_t n_thinking) {
  Json json = Json::object();
  json["input_tokens"] = usage.prompt_tokens - usage.cached_tokens;
  json["cache_creation_input_tokens"] = 0;
  json["cache_read_input_tokens"] = usage.cached_tokens;
  json["output_tokens"] = usage.completion_tokens;
  json["output_tokens_details"] = {{"thinking_tokens", n_thinking}};
  json["server_tool_use"] = nullptr;
  if (usage.tells_timing) json["timing"] = timing_json(usage);
  return json;
}

Json message_usage_json(const engine::Usage& usage, uint32_t n_thinking) {
  Json json = usage_json(usage, n_thinking);
  json["cache_creation"] = nullptr;
  json["inference_geo"] = nullptr;
  json["service_tier"] = "standard";
  json["speed"] = nullptr;
  return json;
}

// The reply is a row of blocks: text, thinking, calls. Streamed, each is begun, filled and ended on
// the wire; whole, it is collected in content_.
class MessageReply final : public Reply {
 public:
  MessageReply(std::shared_ptr<const Service> service, MessageReplyOptions options)
      : service_(std::move(service)),
        options_(std::move(options)),
        parser_(*service_, options_.parser),
        id_(service_->make_id("msg_")) {
    streamed = options_.streamed;
    headers = warning_headers(options_.warnings);
    usage_.prompt_tokens = static_cast<uint32_t>(options_.n_prompt_tokens);
  }

  Next on_event(http::Exchange& exchange, size_t, engine::Event&& event) override {
    usage_ = event.usage;
    if (streamed) begin_message(exchange);
    if (!closed_) {
      std::vector<chat::Event> events;
      parser_.feed(event, &events);
      for (chat::Event& part : events) {
        if (!closed_) std::visit([&](auto& delta) { add(exchange, delta); }, part);
      }
    }
    if (event.finish) {
      close_block(exchange);
      set_stop_reason(*event.finish);
    }
    return closed_ ? Next::kStopChoice : Next::kContinue;
  }

  void keep_alive(http::Exchange& exchange) override {
    begin_message(exchange);
    write(exchange, {{"type", "ping"}});
  }

  void on_end(http::Exchange& exchange) override {
    if (streamed) {
      write(exchange, {{"type", "message_delta"},
                       {"delta",
                        {{"stop_reason", stop_reason_},
                         {"stop_sequence", stop_sequence_},
                         {"stop_details", nullptr},
                         {"container", nullptr}}},
                       {"usage", usage_json(usage_, parser_.n_reasoning_tokens())}});
      write(exchange, {{"type", "message_stop"}});
      exchange.finish();
      return;
    }
    http::Response response{.body = dump(message_json())};
    response.headers = warning_headers(options_.warnings);
    exchange.respond(std::move(response));
  }

  http::Response error(const Error& error) const override { return anthropic_error(error); }

 private:
  enum class Block { kNone, kText, kThinking, kCall };

  Json message_json() {
    Json json = Json::object();
    json["id"] = id_;
    json["type"] = "message";
    json["role"] = "assistant";
    json["model"] = options_.model;
    json["content"] = std::move(content_);
    json["stop_reason"] = stop_reason_;
    json["stop_sequence"] = stop_sequence_;
    json["stop_details"] = nullptr;
    json["container"] = nullptr;
    json["diagnostics"] = nullptr;
    json["usage"] = message_usage_json(usage_, parser_.n_reasoning_tokens());
    return json;
  }

  // Waits for the engine's first event, which knows how much of the prompt was cached; a ping that
  // is due before it does not.
  void begin_message(http::Exchange& exchange) {
    if (std::exchange(begun_, true)) return;
    engine::Usage usage = usage_;
    usage.completion_tokens = 0;
    std::swap(usage, usage_);
    write(exchange, {{"type", "message_start"}, {"message", message_json()}});
    std::swap(usage, usage_);
    content_ = Json::array();
    write(exchange, {{"type", "ping"}});
  }

  void add(http::Exchange& exchange, chat::TextDelta& delta) {
    if (open_ != Block::kText) {
      open(exchange, Block::kText, {{"type", "text"}, {"text", ""}, {"citations", nullptr}});
    }
    fill(exchange, "text", "text_delta", delta.text);
  }
  void add(http::Exchange& exchange, chat::ReasoningDelta& delta) {
    if (open_ != Block::kThinking) {
      open(exchange, Block::kThinking, {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
    }
    filled_ += delta.text;
    if (!options_.omit_thinking) fill(exchange, "thinking", "thinking_delta", delta.text);
  }
  void add(http::Exchange& exchange, chat::ToolCallBegin& begin) {
    // The vendor's own ids begin so, and some clients look at it.
    std::string id = begin.id.starts_with("call_") ? begin.id.substr(5) : begin.id;
    open(exchange, Block::kCall,
         {{"type", "tool_use"},
          {"id", "toolu_" + id},
          {"name", begin.name},
          {"input", Json::object()},
          {"caller", {{"type", "direct"}}}});
    has_calls_ = true;
  }
  void add(http::Exchange& exchange, chat::ToolCallArgsDelta& delta) {
    filled_ += delta.json;
    if (!streamed) return;
    write_delta(exchange, {{"type", "input_json_delta"}, {"partial_json", delta.json}});
  }
  void add(http::Exchange& exchange, chat::ToolCallEnd&) {
    close_block(exchange);
    closed_ = options_.one_call;
  }

  void open(http::Exchange& exchange, Block block, Json json) {
    close_block(exchange);
    open_ = block;
    filled_.clear();
    if (streamed) {
      write(exchange,
            {{"type", "content_block_start"}, {"index", n_blocks_}, {"content_block", json}});
    } else {
      content_.push_back(std::move(json));
    }
  }

  void fill(http::Exchange& exchange, const char* key, const char* type, std::string& text) {
    if (streamed) {
      write_delta(exchange, {{"type", type}, {key, std::move(text)}});
    } else {
      content_.back()[key].get_ref<std::string&>() += text;
    }
  }

  void close_block(http::Exchange& exchange) {
    const Block block = std::exchange(open_, Block::kNone);
    if (block == Block::kNone) return;
    if (block == Block::kThinking) {
      const std::string signature = sign_thinking(filled_, options_.omit_thinking);
      if (streamed) {
        write_delta(exchange, {{"type", "signature_delta"}, {"signature", signature}});
      } else {
        content_.back()["signature"] = signature;
      }
    }
    if (block == Block::kCall && !streamed) {
      // Whole and valid, as the parser promises.
      auto input = chat::parse_exactly(filled_);
      if (input && input->is_object()) content_.back()["input"] = std::move(*input);
    }
    if (streamed) write(exchange, {{"type", "content_block_stop"}, {"index", n_blocks_}});
    ++n_blocks_;
  }

  void set_stop_reason(const engine::Event::Finish& finish) {
    if (finish.reason == engine::FinishReason::kLength) {
      stop_reason_ = "max_tokens";
    } else if (has_calls_) {
      stop_reason_ = "tool_use";
    } else if (finish.stop_string) {
      stop_reason_ = "stop_sequence";
      stop_sequence_ = *finish.stop_string;
    } else {
      stop_reason_ = "end_turn";
    }
  }

  void write_delta(http::Exchange& exchange, Json delta) {
    write(exchange,
          {{"type", "content_block_delta"}, {"index", n_blocks_}, {"delta", std::move(delta)}});
  }

  void write(http::Exchange& exchange, const Json& event) {
    exchange.write(fmt::format("event: {}\ndata: {}\n\n",
                               event["type"].get_ref<const std::string&>(), dump(event)));
    wrote = true;
  }

  std::shared_ptr<const Service> service_;
  MessageReplyOptions options_;
  ReplyParser parser_;
  std::string id_;
  bool begun_ = false;
  bool closed_ = false;  // no more output is wanted
  bool has_calls_ = false;
  Block open_ = Block::kNone;
  size_t n_blocks_ = 0;           // ended
  std::string filled_;            // of the open block: its thinking or arguments so far
  Json content_ = Json::array();  // not streamed
  Json stop_reason_ = nullptr;
  Json stop_sequence_ = nullptr;
  engine::Usage usage_;
};

}  // namespace

std::unique_ptr<Reply> make_message_reply(std::shared_ptr<const Service> service,
                                          MessageReplyOptions options) {
  return std::make_unique<MessageReply>(std::move(service), std::move(options));
}

http::Headers warning_headers(const std::vector<std::string>& warnings) {
  if (warnings.empty()) return {};
  return {{"X-Tempo9-Warning", fmt::format("{}", fmt::join(warnings, "; "))}};
}

}  // namespace tempo9::server::anthropic
