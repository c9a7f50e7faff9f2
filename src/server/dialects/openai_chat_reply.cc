#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "server/custom_tool.h"
#include "server/dialects/openai_chat.h"

namespace tempo9::server::openai {
namespace {

Json call_json(const chat::ToolCallBegin& begin) {
  return {{"id", begin.id},
          {"type", "function"},
          {"function", {{"name", begin.name}, {"arguments", ""}}}};
}

class ChatReply final : public Reply {
 public:
  ChatReply(std::shared_ptr<const Service> service, ChatReplyOptions options)
      : service_(std::move(service)), options_(std::move(options)), choices_(options_.n_choices) {
    streamed = options_.streamed;
    for (Choice& choice : choices_) choice.parser.emplace(*service_, options_.parser);
    id_ = service_->make_id("chatcmpl-");
    created_ = unix_seconds();
  }

  Next on_event(http::Exchange& exchange, size_t index, engine::Event&& event) override {
    Choice& choice = choices_[index];
    if (!choice.closed) {
      collect_tokens(choice, event);
      std::vector<chat::Event> events;
      choice.parser->feed(event, &events);
      for (chat::Event& part : events) {
        if (!choice.closed) std::visit([&](auto& delta) { add(exchange, index, delta); }, part);
      }
    }
    if (event.finish) {
      add_usage(event.usage, index == 0, &usage_);
      n_reasoning_tokens_ += choice.parser->n_reasoning_tokens();
      finish(exchange, index, event.finish->reason);
    }
    return choice.closed ? Next::kStopChoice : Next::kContinue;
  }

  void keep_alive(http::Exchange& exchange) override {
    for (size_t i = 0; i < choices_.size(); ++i) {
      if (choices_[i].finish_reason.empty()) return send_delta(exchange, i, Json::object());
    }
  }

  void on_end(http::Exchange& exchange) override {
    if (streamed) {
      if (options_.include_usage) {
        Json chunk = envelope("chat.completion.chunk");
        chunk["choices"] = Json::array();
        chunk["usage"] = usage();
        write_event(exchange, *this, chunk);
      }
      write_done(exchange);
      return;
    }
    Json body = envelope("chat.completion");
    body["choices"] = Json::array();
    for (size_t i = 0; i < choices_.size(); ++i) body["choices"].push_back(whole_choice(i));
    body["usage"] = usage();
    if (options_.return_token_ids) body["prompt_token_ids"] = options_.prompt_token_ids;
    exchange.respond({.body = dump(body)});
  }

 private:
  struct Choice {
    std::optional<ReplyParser> parser;
    bool closed = false;  // no more output is wanted
    bool role_sent = false;
    std::string content;  // not streamed
    std::string reasoning;
    Json calls = Json::array();
    size_t n_calls = 0;
    bool is_custom = false;         // the call that is being read
    Json logprobs = Json::array();  // streamed: of the tokens since the last chunk
    Json token_ids = Json::array();
    std::string finish_reason;
  };

  Json envelope(const char* object) const {
    Json json = Json::object();
    json["id"] = id_;
    json["object"] = object;
    json["created"] = created_;
    json["model"] = options_.model;
    json["system_fingerprint"] = "tempo9-" T9_VERSION;
    return json;
  }

  Json usage() const {
    Json json = usage_json(usage_);
    json["completion_tokens_details"] = {{"reasoning_tokens", n_reasoning_tokens_}};
    return json;
  }

  void collect_tokens(Choice& choice, const engine::Event& event) {
    for (size_t i = 0; i < event.tokens.size(); ++i) {
      const engine::TokenInfo& token = event.tokens[i];
      if (options_.return_token_ids) choice.token_ids.push_back(token.id);
      // The token that ends the reply is not part of it, and has no place among its letters.
      const bool ends = event.finish && i + 1 == event.tokens.size() &&
                        is_end_token(*service_, token.id, options_.ignore_eos);
      if (!options_.logprobs || !token.logprob || ends) continue;
      choice.logprobs.push_back(logprob_entry(*service_, token));
    }
  }

  void add(http::Exchange& exchange, size_t index, chat::TextDelta& delta) {
    if (!streamed) {
      choices_[index].content += delta.text;
    } else {
      send_delta(exchange, index, {{"content", std::move(delta.text)}});
    }
  }
  void add(http::Exchange& exchange, size_t index, chat::ReasoningDelta& delta) {
    if (!streamed) {
      choices_[index].reasoning += delta.text;
    } else {
      send_delta(exchange, index, {{"reasoning_content", std::move(delta.text)}});
    }
  }
  void add(http::Exchange& exchange, size_t index, chat::ToolCallBegin& begin) {
    Choice& choice = choices_[index];
    ++choice.n_calls;
    choice.is_custom = std::find(options_.custom_tools.begin(), options_.custom_tools.end(),
                                 begin.name) != options_.custom_tools.end();
    // A custom call's text is known when its arguments are whole.
    if (!streamed || choice.is_custom) {
      choice.calls.push_back(call_json(begin));
      return;
    }
    Json call{{"index", begin.index}};
    call.update(call_json(begin));
    send_delta(exchange, index, {{"tool_calls", Json::array({std::move(call)})}});
  }
  void add(http::Exchange& exchange, size_t index, chat::ToolCallArgsDelta& delta) {
    Choice& choice = choices_[index];
    if (!streamed || choice.is_custom) {
      auto& arguments = choice.calls.back()["function"]["arguments"].get_ref<std::string&>();
      arguments += delta.json;
      return;
    }
    const Json call{{"index", delta.index}, {"function", {{"arguments", std::move(delta.json)}}}};
    send_delta(exchange, index, {{"tool_calls", Json::array({call})}});
  }
  void add(http::Exchange& exchange, size_t index, chat::ToolCallEnd& end) {
    Choice& choice = choices_[index];
    if (options_.one_call) choice.closed = true;
    if (!choice.is_custom) return;
    const Json function = choice.calls.back()["function"];
    Json call = Json::object();
    if (streamed) call["index"] = end.index;
    call["id"] = choice.calls.back()["id"];
    call["type"] = "custom";
    call["custom"] = {{"name", function["name"]},
                      {"input", custom_input(function["arguments"].get<std::string>())}};
    if (streamed) {
      send_delta(exchange, index, {{"tool_calls", Json::array({std::move(call)})}});
    } else {
      choice.calls.back() = std::move(call);
    }
  }

  void finish(http::Exchange& exchange, size_t index, engine::FinishReason reason) {
    Choice& choice = choices_[index];
    if (reason == engine::FinishReason::kLength) {
      choice.finish_reason = "length";
    } else {
      choice.finish_reason = choice.n_calls > 0 ? "tool_calls" : "stop";
    }
    if (streamed) send_delta(exchange, index, Json::object());
  }

  // One chunk of a choice, with what is due beside the delta: the role once, logprobs and ids of
  // the tokens so far.
  void send_delta(http::Exchange& exchange, size_t index, Json delta) {
    Choice& choice = choices_[index];
    if (!std::exchange(choice.role_sent, true)) {
      write_chunk(exchange, {{"index", index},
                             {"delta", {{"role", "assistant"}, {"content", ""}}},
                             {"logprobs", nullptr},
                             {"finish_reason", nullptr}});
    }
    Json item = Json::object();
    item["index"] = index;
    item["delta"] = std::move(delta);
    item["logprobs"] = take_logprobs(choice);
    item["finish_reason"] =
        choice.finish_reason.empty() ? Json(nullptr) : Json(choice.finish_reason);
    if (options_.return_token_ids)
      item["token_ids"] = std::exchange(choice.token_ids, Json::array());
    write_chunk(exchange, std::move(item));
  }

  void write_chunk(http::Exchange& exchange, Json item) {
    Json chunk = envelope("chat.completion.chunk");
    chunk["choices"] = Json::array({std::move(item)});
    if (options_.return_token_ids && !std::exchange(prompt_ids_sent_, true)) {
      chunk["prompt_token_ids"] = options_.prompt_token_ids;
    }
    if (options_.include_usage) chunk["usage"] = nullptr;
    write_event(exchange, *this, chunk);
  }

  static Json take_logprobs(Choice& choice) {
    if (choice.logprobs.empty()) return nullptr;
    return {{"content", std::exchange(choice.logprobs, Json::array())}, {"refusal", nullptr}};
  }

  Json whole_choice(size_t index) {
    Choice& choice = choices_[index];
    Json message = Json::object();
    message["role"] = "assistant";
    message["content"] = choice.content.empty() && choice.n_calls > 0
                             ? Json(nullptr)
                             : Json(std::move(choice.content));
    message["refusal"] = nullptr;
    if (!choice.reasoning.empty()) message["reasoning_content"] = std::move(choice.reasoning);
    if (choice.n_calls > 0) message["tool_calls"] = std::move(choice.calls);
    Json item = Json::object();
    item["index"] = index;
    item["message"] = std::move(message);
    item["logprobs"] = options_.logprobs
                           ? Json{{"content", std::move(choice.logprobs)}, {"refusal", nullptr}}
                           : Json(nullptr);
    item["finish_reason"] = choice.finish_reason;
    if (options_.return_token_ids) item["token_ids"] = std::move(choice.token_ids);
    return item;
  }

  std::shared_ptr<const Service> service_;
  ChatReplyOptions options_;
  std::string id_;
  int64_t created_ = 0;
  std::vector<Choice> choices_;
  engine::Usage usage_;
  uint32_t n_reasoning_tokens_ = 0;
  bool prompt_ids_sent_ = false;
};

}  // namespace

std::unique_ptr<Reply> make_chat_reply(std::shared_ptr<const Service> service,
                                       ChatReplyOptions options) {
  return std::make_unique<ChatReply>(std::move(service), std::move(options));
}

}  // namespace tempo9::server::openai
