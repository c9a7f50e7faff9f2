#include <algorithm>
#include <numeric>
#include <utility>

#include "server/dialects/openai_completions.h"

namespace tempo9::server::openai {
namespace {

// Characters that begin in these bytes: a character cut over tokens counts where it begins.
size_t count_characters(std::string_view bytes) {
  return static_cast<size_t>(std::count_if(bytes.begin(), bytes.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

class CompletionReply final : public Reply {
 public:
  CompletionReply(std::shared_ptr<const Service> service, CompletionReplyOptions options)
      : service_(std::move(service)),
        options_(std::move(options)),
        choices_(options_.prompts.size() * options_.n_per_prompt) {
    streamed = options_.streamed;
    id_ = service_->make_id("cmpl-");
    created_ = unix_seconds();
  }

  Next on_event(http::Exchange& exchange, size_t index, engine::Event&& event) override {
    Choice& choice = choices_[index];
    const CompletionPrompt& prompt = options_.prompts[index / options_.n_per_prompt];
    // The prompt comes first, and with its logprobs if they were asked for: they arrive before any
    // text.
    const bool has_output = !event.prompt_tokens.empty() || !event.text.empty() ||
                            !event.tokens.empty() || event.finish;
    if (options_.echo && has_output && !std::exchange(choice.echoed, true))
      choice.text += prompt.text;
    for (size_t i = 0; i < event.prompt_tokens.size(); ++i) {
      add_token(choice, event.prompt_tokens[i],
                i == 0 && prompt.bos_added ? Shown::kNot : Shown::kSpelled);
    }
    for (size_t i = 0; i < event.tokens.size(); ++i) {
      const engine::TokenInfo& token = event.tokens[i];
      const bool ends = event.finish && i + 1 == event.tokens.size() &&
                        is_end_token(*service_, token.id, options_.ignore_eos);
      const Shown shown = ends                     ? Shown::kNot
                          : options_.spell_control ? Shown::kSpelled
                                                   : Shown::kAsText;
      if (options_.return_token_ids) choice.token_ids.push_back(token.id);
      if (token.logprob) {
        choice.logprob_sum += finite_logprob(*token.logprob);
        ++choice.n_logprobs;
      }
      add_token(choice, token, shown);
    }
    choice.text += event.text;
    if (event.finish) {
      choice.finish_reason =
          event.finish->reason == engine::FinishReason::kLength ? "length" : "stop";
      add_usage(event.usage, index % options_.n_per_prompt == 0, &usage_);
    }
    if (streamed && (!choice.text.empty() || !choice.tokens.empty() || !choice.token_ids.empty() ||
                     event.finish)) {
      send_chunk(exchange, index);
    }
    return Next::kContinue;
  }

  void keep_alive(http::Exchange& exchange) override {
    for (size_t i = 0; i < choices_.size(); ++i) {
      if (choices_[i].finish_reason.empty()) return send_chunk(exchange, i);
    }
  }

  void on_end(http::Exchange& exchange) override {
    if (streamed) {
      if (options_.include_usage) {
        Json chunk = envelope();
        chunk["choices"] = Json::array();
        chunk["usage"] = usage_json(usage_);
        write_event(exchange, *this, chunk);
      }
      write_done(exchange);
      return;
    }
    Json body = envelope();
    body["choices"] = Json::array();
    for (const size_t i : shown_choices()) {
      Json choice = take_choice(i);
      choice["index"] = body["choices"].size();
      body["choices"].push_back(std::move(choice));
    }
    body["usage"] = usage_json(usage_);
    exchange.respond({.body = dump(body)});
  }

 private:
  // How a token appears in the text, which its offsets count.
  enum class Shown { kNot, kAsText, kSpelled };

  struct Choice {
    std::string text;  // streamed: since the last chunk
    Json tokens = Json::array();
    Json token_logprobs = Json::array();
    Json top_logprobs = Json::array();
    Json text_offset = Json::array();
    Json token_ids = Json::array();
    size_t offset = 0;         // characters of the choice's text so far, by its tokens
    double logprob_sum = 0.0;  // of the reply's tokens
    size_t n_logprobs = 0;
    bool echoed = false;
    bool prompt_ids_sent = false;
    std::string finish_reason;
  };

  // All of them, or of each prompt's those with the highest logprob a token, the best first.
  std::vector<size_t> shown_choices() const {
    std::vector<size_t> shown;
    const size_t n = options_.n_per_prompt;
    for (size_t first = 0; first < choices_.size(); first += n) {
      std::vector<size_t> of_prompt(n);
      std::iota(of_prompt.begin(), of_prompt.end(), first);
      const auto mean = [this](size_t i) {
        return choices_[i].logprob_sum /
               static_cast<double>(std::max<size_t>(choices_[i].n_logprobs, 1));
      };
      if (options_.n_shown < n) {
        std::stable_sort(of_prompt.begin(), of_prompt.end(),
                         [&mean](size_t a, size_t b) { return mean(a) > mean(b); });
        of_prompt.resize(options_.n_shown);
      }
      shown.insert(shown.end(), of_prompt.begin(), of_prompt.end());
    }
    return shown;
  }

  Json envelope() const {
    Json json = Json::object();
    json["id"] = id_;
    json["object"] = "text_completion";
    json["created"] = created_;
    json["model"] = options_.model;
    json["system_fingerprint"] = "tempo9-" T9_VERSION;
    return json;
  }

  // A key or list entry. Bytes that are no text by themselves are spelled out, so that two of them
  // stay two.
  std::string token_name(TokenId id, std::string_view bytes) const {
    if (options_.tokens_as_ids) return fmt::format("token_id:{}", id);
    if (find_invalid_utf8(bytes) == std::string_view::npos) return std::string(bytes);
    std::string name = "bytes:";
    for (const char c : bytes) name += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    return name;
  }

  void add_token(Choice& choice, const engine::TokenInfo& token, Shown shown) {
    if (!options_.logprobs) return;
    const std::string_view spelled = token_bytes(*service_, token.id);
    const std::string_view plain =
        service_->tokenizer().token_bytes(token.id, /*spell_control=*/false);
    choice.tokens.push_back(token_name(token.id, spelled));
    choice.text_offset.push_back(choice.offset);
    if (shown != Shown::kNot)
      choice.offset += count_characters(shown == Shown::kSpelled ? spelled : plain);
    if (!token.logprob) {
      choice.token_logprobs.push_back(nullptr);
      choice.top_logprobs.push_back(nullptr);
      return;
    }
    choice.token_logprobs.push_back(finite_logprob(*token.logprob));
    Json top = Json::object();
    for (const engine::TokenLogprob& other : token.top) {
      top[token_name(other.id, token_bytes(*service_, other.id))] = finite_logprob(other.logprob);
    }
    // The token itself, also when it is none of the likeliest.
    top[token_name(token.id, spelled)] = finite_logprob(*token.logprob);
    choice.top_logprobs.push_back(std::move(top));
  }

  Json take_choice(size_t index) {
    Choice& choice = choices_[index];
    Json item = Json::object();
    item["index"] = index;
    item["text"] = std::exchange(choice.text, {});
    item["logprobs"] = nullptr;
    if (options_.logprobs && (!streamed || !choice.tokens.empty())) {
      Json logprobs = Json::object();
      logprobs["tokens"] = std::exchange(choice.tokens, Json::array());
      logprobs["token_logprobs"] = std::exchange(choice.token_logprobs, Json::array());
      logprobs["top_logprobs"] = std::exchange(choice.top_logprobs, Json::array());
      logprobs["text_offset"] = std::exchange(choice.text_offset, Json::array());
      item["logprobs"] = std::move(logprobs);
    }
    item["finish_reason"] =
        choice.finish_reason.empty() ? Json(nullptr) : Json(choice.finish_reason);
    if (options_.return_token_ids) {
      item["token_ids"] = std::exchange(choice.token_ids, Json::array());
      if (!std::exchange(choice.prompt_ids_sent, true)) {
        item["prompt_token_ids"] = options_.prompts[index / options_.n_per_prompt].ids;
      }
    }
    return item;
  }

  void send_chunk(http::Exchange& exchange, size_t index) {
    Json chunk = envelope();
    chunk["choices"] = Json::array({take_choice(index)});
    if (options_.include_usage) chunk["usage"] = nullptr;
    write_event(exchange, *this, chunk);
  }

  std::shared_ptr<const Service> service_;
  CompletionReplyOptions options_;
  std::string id_;
  int64_t created_ = 0;
  std::vector<Choice> choices_;
  engine::Usage usage_;
};

}  // namespace

std::unique_ptr<Reply> make_completion_reply(std::shared_ptr<const Service> service,
                                             CompletionReplyOptions options) {
  return std::make_unique<CompletionReply>(std::move(service), std::move(options));
}

}  // namespace tempo9::server::openai
