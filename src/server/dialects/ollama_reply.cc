#include <utility>
#include <variant>

#include "chat/exact_json.h"
#include "server/dialects/ollama.h"
#include "server/dialects/openai.h"

namespace tempo9::server::ollama {
namespace {

using std::chrono::steady_clock;

int64_t nanoseconds(steady_clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

// Streamed: an object a line, each with what is new; the last has done: true and the counts. Whole:
// the last one, with everything.
class OllamaReply final : public Reply {
 public:
  OllamaReply(std::shared_ptr<const Service> service, ReplyOptions options)
      : service_(std::move(service)),
        options_(std::move(options)),
        parser_(*service_, options_.parser) {
    streamed = options_.streamed;
    stream_type = "application/x-ndjson";
  }

  Next on_event(http::Exchange& exchange, size_t, engine::Event&& event) override {
    usage_ = event.usage;
    if (!event.tokens.empty() && n_tokens_ == 0) first_token_ = steady_clock::now();
    n_tokens_ += event.tokens.size();
    if (!closed_) {
      collect_tokens(event);
      std::vector<chat::Event> events;
      if (!options_.raw) {
        parser_.feed(event, &events);
      } else if (!event.text.empty()) {
        events.emplace_back(chat::TextDelta{std::move(event.text)});
      }
      for (chat::Event& part : events) {
        if (closed_) break;
        std::visit([&](auto& delta) { add(delta); }, part);
      }
    }
    if (event.finish) {
      done_reason_ = event.finish->reason == engine::FinishReason::kLength ? "length" : "stop";
    } else if (streamed && (!text_.empty() || !thinking_.empty() || !calls_.empty())) {
      write(exchange, take());
    }
    return closed_ ? Next::kStopChoice : Next::kContinue;
  }

  void keep_alive(http::Exchange& exchange) override { write(exchange, take()); }

  void on_end(http::Exchange& exchange) override {
    if (streamed && (!text_.empty() || !thinking_.empty() || !calls_.empty() || !logprobs_.empty()))
      write(exchange, take());
    Json last = take();
    const auto now = steady_clock::now();
    const auto first = n_tokens_ > 0 ? first_token_ : now;
    last["done"] = true;
    last["done_reason"] = done_reason_;
    if (!options_.prompt.empty()) last["context"] = context();
    last["total_duration"] = nanoseconds(now - options_.start);
    last["load_duration"] = 0;
    last["prompt_eval_count"] = usage_.prompt_tokens;
    last["prompt_eval_duration"] = nanoseconds(first - options_.start);
    last["eval_count"] = usage_.completion_tokens;
    last["eval_duration"] = nanoseconds(now - first);
    if (!streamed) return exchange.respond({.body = dump(last)});
    write(exchange, last);
    exchange.finish();
  }

  http::Response error(const Error& error) const override { return ollama_error(error); }

 private:
  void add(chat::TextDelta& delta) { text_ += delta.text; }
  void add(chat::ReasoningDelta& delta) { thinking_ += delta.text; }
  void add(chat::ToolCallBegin& begin) {
    call_ = begin;
    arguments_.clear();
  }
  void add(chat::ToolCallArgsDelta& delta) { arguments_ += delta.json; }
  void add(chat::ToolCallEnd&) {
    // Whole and valid, as the parser promises.
    Json arguments = chat::parse_exactly(arguments_).value_or(Json::object());
    Json call = Json::object();
    call["id"] = call_.id;
    call["function"] = {
        {"index", call_.index}, {"name", call_.name}, {"arguments", std::move(arguments)}};
    calls_.push_back(std::move(call));
    closed_ = options_.one_call;
  }

  Json logprob_json(TokenId id, float logprob) const {
    const std::string_view bytes = openai::token_bytes(*service_, id);
    Json json = Json::object();
    json["token"] = bytes;
    json["logprob"] = openai::finite_logprob(logprob);
    json["bytes"] = Json::array();
    for (const char c : bytes) json["bytes"].push_back(static_cast<unsigned char>(c));
    return json;
  }

  void collect_tokens(const engine::Event& event) {
    for (size_t i = 0; i < event.tokens.size(); ++i) {
      const engine::TokenInfo& token = event.tokens[i];
      if (!options_.prompt.empty()) generated_.push_back(token.id);
      const bool ends = event.finish && i + 1 == event.tokens.size() &&
                        openai::is_end_token(*service_, token.id, options_.ignore_eos);
      if (!options_.logprobs || !token.logprob || ends) continue;
      Json entry = logprob_json(token.id, *token.logprob);
      entry["top_logprobs"] = Json::array();
      for (const engine::TokenLogprob& other : token.top)
        entry["top_logprobs"].push_back(logprob_json(other.id, other.logprob));
      logprobs_.push_back(std::move(entry));
    }
  }

  // What is new since the last object.
  Json take() {
    Json json = envelope(options_.model);
    std::string text = std::exchange(text_, {});
    std::string thinking = std::exchange(thinking_, {});
    if (options_.shape == ReplyOptions::Shape::kChat) {
      Json message = Json::object();
      message["role"] = "assistant";
      message["content"] = std::move(text);
      if (!thinking.empty()) message["thinking"] = std::move(thinking);
      if (!calls_.empty()) message["tool_calls"] = std::exchange(calls_, Json::array());
      json["message"] = std::move(message);
    } else {
      json["response"] = std::move(text);
      if (!thinking.empty()) json["thinking"] = std::move(thinking);
    }
    if (!logprobs_.empty()) json["logprobs"] = std::exchange(logprobs_, Json::array());
    json["done"] = false;
    return json;
  }

  Json context() const {
    Json ids = options_.prompt;
    for (const TokenId id : generated_) ids.push_back(id);
    return ids;
  }

  void write(http::Exchange& exchange, const Json& object) {
    exchange.write(fmt::format("{}\n", dump(object)));
    wrote = true;
  }

  std::shared_ptr<const Service> service_;
  ReplyOptions options_;
  ReplyParser parser_;
  bool closed_ = false;  // no more output is wanted
  std::string text_;     // streamed: since the last object
  std::string thinking_;
  Json calls_ = Json::array();
  Json logprobs_ = Json::array();
  chat::ToolCallBegin call_;  // the one that comes in
  std::string arguments_;
  std::vector<TokenId> generated_;  // with options_.prompt
  std::string done_reason_;
  engine::Usage usage_;
  size_t n_tokens_ = 0;
  steady_clock::time_point first_token_;
};

}  // namespace

std::unique_ptr<Reply> make_reply(std::shared_ptr<const Service> service, ReplyOptions options) {
  return std::make_unique<OllamaReply>(std::move(service), std::move(options));
}

}  // namespace tempo9::server::ollama
