#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>

#include "server/cache_report.h"
#include "server/chat_job.h"
#include "server/dialects/openai.h"
#include "server/sampling_fields.h"
#include "server/session.h"

namespace tempo9::server::openai {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int64_t>::max();
constexpr size_t kMaxStops = 64;
constexpr size_t kMaxStopBytes = 4096;

void read_stops(Fields& fields, std::vector<std::string>* out) {
  const Json* value = fields.find("stop");
  if (value == nullptr) return;
  constexpr std::string_view kExpected =
      "a string that is not empty, or an array of at most 64 of them";
  const auto add = [&](const Json& element) {
    if (!element.is_string()) return false;
    out->push_back(element.get<std::string>());
    return !out->back().empty() && out->back().size() <= kMaxStopBytes;
  };
  if (!value->is_array()) {
    if (!add(*value)) fields.fail("stop", kExpected);
    return;
  }
  if (value->size() > kMaxStops) return fields.fail("stop", kExpected);
  for (size_t i = 0; i < value->size(); ++i) {
    if (!add((*value)[i])) {
      return fields.fail(make_error(ErrorCode::kInvalidArgument,
                                    "{}[{}]: found {}, expected a string of 1 to {} bytes",
                                    fields.name("stop"), i, describe((*value)[i]), kMaxStopBytes));
    }
  }
}

void read_logit_bias(Fields& fields, int32_t vocab_size, sampling::Params* params) {
  const Json* value = fields.find("logit_bias");
  if (value == nullptr) return;
  if (!value->is_object()) return fields.fail("logit_bias", "an object of token ids and numbers");
  for (const auto& [key, bias] : value->items()) {
    int32_t id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0 || id >= vocab_size) {
      return fields.fail(
          make_error(ErrorCode::kInvalidArgument,
                     "logit_bias: found the key {}, expected a token id from 0 to {}",
                     dump(Json(key)), vocab_size - 1));
    }
    if (!bias.is_number() || !(std::abs(bias.get<double>()) <= 100.0)) {
      return fields.fail(make_error(ErrorCode::kInvalidArgument,
                                    "logit_bias.{}: found {}, expected a number from -100 to 100",
                                    id, describe(bias)));
    }
    params->logit_bias.emplace_back(id, bias.get<float>());
  }
}

Json logprob_json(const Service& service, TokenId id, float logprob) {
  const std::string_view bytes = token_bytes(service, id);
  Json json = Json::object();
  json["token"] = bytes;
  json["logprob"] = finite_logprob(logprob);
  json["bytes"] = Json::array();
  for (const char c : bytes) json["bytes"].push_back(static_cast<unsigned char>(c));
  return json;
}

// The newest name wins; -1 is how some clients write "no limit".
void read_max_tokens(Fields& fields, std::optional<uint32_t>* out) {
  for (const char* key : {"max_tokens", "max_completion_tokens"}) {
    std::optional<int64_t> value;
    fields.read(key, -1, kMaxInt, &value);
    if (!value) continue;
    *out = std::nullopt;
    if (*value >= 0) {
      *out = static_cast<uint32_t>(std::min<int64_t>(*value, std::numeric_limits<uint32_t>::max()));
    }
  }
}

}  // namespace

void read_generation(Fields& fields, const Service& service, engine::GenerateRequest* request) {
  sampling::Params& params = request->sampling;
  read_sampling(fields, "repetition_penalty", &params);
  if (fields.find("seed") != nullptr) {
    uint64_t seed = 0;
    fields.read("seed", &seed);
    params.seed = seed;
  }
  const int32_t vocab_size = service.tokenizer().size();
  read_logit_bias(fields, vocab_size, &params);
  read_max_tokens(fields, &request->max_tokens);
  read_stops(fields, &request->stop);
  read_session(fields, "prompt_cache_key", request);
  fields.read("stop_token_ids", 0, vocab_size - 1, &request->stop_token_ids);
  fields.read("ignore_eos", &request->ignore_eos);

  fields.refuse("use_beam_search", "beam search is not available");
  fields.refuse("include_stop_str_in_output",
                "not available; stop strings are never part of the reply");
  for (const char* key : {"min_tokens", "truncate_prompt_tokens", "prompt_logprobs"}) {
    const Json* value = fields.find(key);
    const bool asks_nothing = value != nullptr && value->is_number() && value->get<double>() == 0;
    if (!asks_nothing) fields.refuse(key, "not available yet");
  }
}

Status read_template_kwargs(Fields& fields, Json* kwargs, std::optional<uint32_t>* budget) {
  if (const Json* value = fields.find("chat_template_kwargs")) {
    if (!value->is_object()) {
      return make_error(ErrorCode::kInvalidArgument,
                        "chat_template_kwargs: found {}, expected an object", describe(*value));
    }
    *kwargs = *value;
  }
  std::string effort;
  fields.read("reasoning_effort", &effort);
  const bool top_level = !effort.empty();
  if (const Json* reasoning = fields.find("reasoning");
      reasoning != nullptr && reasoning->is_object()) {
    Fields inner(*reasoning, "reasoning.");
    inner.read("effort", &effort);
    bool enabled = true;
    inner.read("enabled", &enabled);
    if (!enabled) effort = "none";
    std::optional<int64_t> max_tokens;
    inner.read("max_tokens", 0, kMaxInt, &max_tokens);  // OpenRouter's
    T9_TRY(inner.status());
    set_thinking_budget(max_tokens, budget);
  }
  if (const Json* value = fields.find("enable_thinking")) {
    bool enabled = true;
    fields.read("enable_thinking", &enabled);
    if (value->is_boolean() && !kwargs->contains("enable_thinking"))
      (*kwargs)["enable_thinking"] = enabled;
  }
  if (const Json* thinking = fields.find("thinking");
      thinking != nullptr && thinking->is_object()) {
    Fields inner(*thinking, "thinking.");  // Anthropic's, as some clients send it everywhere
    std::string type;
    std::optional<int64_t> tokens;
    inner.read("type", &type);
    inner.read("budget_tokens", 0, kMaxInt, &tokens);
    T9_TRY(inner.status());
    if ((type == "enabled" || type == "disabled") && !kwargs->contains("enable_thinking"))
      (*kwargs)["enable_thinking"] = type == "enabled";
    set_thinking_budget(tokens, budget);
  }
  Fields in_kwargs(*kwargs, "chat_template_kwargs.");
  read_thinking_budget(in_kwargs, budget);
  T9_TRY(in_kwargs.status());
  read_thinking_budget(fields, budget);
  T9_TRY(fields.status());
  return apply_effort(top_level ? "reasoning_effort" : "reasoning.effort", effort, kwargs);
}

StreamOptions read_stream_options(Fields& fields) {
  StreamOptions options;
  fields.read("stream", &options.stream);
  if (const Json* value = fields.find("stream_options")) {
    if (!value->is_object()) {
      fields.fail("stream_options", "an object");
      return options;
    }
    Fields inner(*value, "stream_options.");
    inner.read("include_usage", &options.include_usage);
    if (const Status status = inner.status(); !status) fields.fail(status.error());
  }
  return options;
}

std::string read_model(Fields& fields, const Service& service) {
  std::string model;
  fields.read("model", &model);
  return model.empty() ? service.name() : model;
}

Status check_length(const Service& service, const engine::GenerateRequest& request) {
  const size_t limit = service.engine().info().max_length;
  const size_t n_prompt = request.prompt.size();
  const bool no_room = request.max_tokens == 0u ? n_prompt > limit : n_prompt >= limit;
  if (!no_room) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "This model's maximum context length is {} tokens. However, your prompt has {} "
                    "tokens{}. Shorten the "
                    "prompt, or start the server with a larger --max-length.",
                    limit, n_prompt, n_prompt == limit ? ", which leaves none for the reply" : "");
}

void add_choices(engine::GenerateRequest request, int64_t n,
                 std::vector<engine::GenerateRequest>* out) {
  for (int64_t i = 0; i < n; ++i) {
    request.choice = static_cast<uint32_t>(i);
    out->push_back(request);
  }
}

Json usage_json(const engine::Usage& usage) {
  Json json = Json::object();
  json["prompt_tokens"] = usage.prompt_tokens;
  json["completion_tokens"] = usage.completion_tokens;
  json["total_tokens"] = usage.prompt_tokens + usage.completion_tokens;
  json["prompt_tokens_details"] = {{"cached_tokens", usage.cached_tokens},
                                   {"cached_tokens_by_source", cached_by_source(usage.cached)}};
  if (usage.cache_report) json["cache_report"] = cache_report_json(*usage.cache_report);
  if (usage.tells_timing) json["timing"] = timing_json(usage);
  return json;
}

void add_usage(const engine::Usage& choice, bool first_of_prompt, engine::Usage* total) {
  if (first_of_prompt) {
    total->prompt_tokens += choice.prompt_tokens;
    total->cached_tokens += choice.cached_tokens;
    total->cached += choice.cached;
    total->cache_report = choice.cache_report;
    total->timing = choice.timing;
    total->tells_timing = choice.tells_timing;
  }
  total->completion_tokens += choice.completion_tokens;
}

double finite_logprob(float logprob) {
  constexpr double kFloor = -9999.0;
  return std::isfinite(logprob) ? std::max(static_cast<double>(logprob), kFloor) : kFloor;
}

Json logprob_entry(const Service& service, const engine::TokenInfo& token) {
  Json entry = logprob_json(service, token.id, token.logprob.value_or(0.0f));
  entry["top_logprobs"] = Json::array();
  for (const engine::TokenLogprob& other : token.top) {
    entry["top_logprobs"].push_back(logprob_json(service, other.id, other.logprob));
  }
  return entry;
}

int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string_view token_bytes(const Service& service, TokenId id) {
  return service.tokenizer().token_bytes(id, /*spell_control=*/true);
}

bool is_end_token(const Service& service, TokenId id, bool ignore_eos) {
  return !ignore_eos && service.tokenizer().ends_generation(id);
}

void write_event(http::Exchange& exchange, Reply& reply, const Json& event) {
  exchange.write("data: " + dump(event) + "\n\n");
  reply.wrote = true;
}

void write_done(http::Exchange& exchange) {
  exchange.write("data: [DONE]\n\n");
  exchange.finish();
}

}  // namespace tempo9::server::openai
