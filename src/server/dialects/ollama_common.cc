// What the bodies of /api/chat and /api/generate share.
#include <fmt/chrono.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "server/chat_job.h"
#include "server/dialects/ollama.h"
#include "server/sampling_fields.h"

namespace tempo9::server::ollama {
namespace {

constexpr size_t kMaxStops = 64;
constexpr size_t kMaxStopBytes = 4096;

void read_stops(Fields& options, std::vector<std::string>* out) {
  const Json* value = options.find("stop");
  if (value == nullptr) return;
  const Json list = value->is_array() ? *value : Json::array({*value});
  const bool fine =
      list.size() <= kMaxStops && std::all_of(list.begin(), list.end(), [](const Json& stop) {
        return stop.is_string() && stop.get_ref<const std::string&>().size() <= kMaxStopBytes;
      });
  if (!fine) return options.fail("stop", "a string or an array of at most 64 strings");
  for (const Json& stop : list) {
    // Some clients send "" for "none".
    if (!stop.get_ref<const std::string&>().empty()) out->push_back(stop.get<std::string>());
  }
}

// Samplers that this engine does not have: a value that switches one on is refused.
void refuse_samplers(Fields& options) {
  constexpr std::pair<const char*, float> kNeutral[] = {
      {"mirostat", 0.0f}, {"tfs_z", 1.0f}, {"typical_p", 1.0f}};
  for (const auto& [key, neutral] : kNeutral) {
    float value = neutral;
    options.read(key, &value);
    if (value != neutral) options.refuse(key, "this sampler is not available");
  }
}

// Sizes, threads and the like belong to the server and pass unread: num_ctx changes from request
// to request with some clients.
void read_options(Fields& options, engine::GenerateRequest* request) {
  sampling::Params& params = request->sampling;
  read_sampling(options, "repeat_penalty", &params);
  std::optional<int64_t> seed;
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  options.read("seed", std::numeric_limits<int64_t>::min(), kMax, &seed);
  if (seed) params.seed = static_cast<uint64_t>(*seed);
  std::optional<int64_t> n_predict;
  options.read("num_predict", -2, kMax, &n_predict);
  // 0, -1 (endless) and -2 (to the end of the context) are all: until it ends.
  if (n_predict && *n_predict > 0) {
    request->max_tokens =
        static_cast<uint32_t>(std::min<int64_t>(*n_predict, std::numeric_limits<uint32_t>::max()));
  }
  read_stops(options, &request->stop);
  refuse_samplers(options);
}

void read_logprobs(Fields& fields, engine::GenerateRequest* request) {
  bool wanted = false;
  int64_t top = 0;
  fields.read("logprobs", &wanted);
  fields.read("top_logprobs", 0, 20, &top);
  if (wanted || top > 0) request->n_logprobs = static_cast<uint32_t>(top);
}

bool has_images(const Json& message) {
  const auto images = message.find("images");
  return images != message.end() && images->is_array() && !images->empty();
}

}  // namespace

void read_generation(Fields& fields, ChatJob* job) {
  engine::GenerateRequest* request = &job->request;
  // Ollama's defaults, but for its repeat penalty of 1.1, which spoils code and calls.
  request->sampling.temperature = 0.8f;
  request->sampling.top_k = 40;
  request->sampling.top_p = 0.9f;
  if (const Json* value = fields.find("options")) {
    if (!value->is_object()) return fields.fail("options", "an object");
    Fields options(*value, "options.");
    read_options(options, request);
    read_thinking_budget(options, &job->thinking_budget);
    if (const Status status = options.status(); !status) return fields.fail(status.error());
  }
  read_logprobs(fields, request);
  read_thinking_budget(fields, &job->thinking_budget);
}

Status read_think(Fields& fields, Json* template_kwargs, std::optional<uint32_t>* budget) {
  const Json* think = fields.find("think");
  if (think == nullptr) return {};
  if (think->is_number()) {  // how much of it
    std::optional<int64_t> n_tokens;
    fields.read("think", 0, std::numeric_limits<int64_t>::max(), &n_tokens);
    T9_TRY(fields.status());
    set_thinking_budget(n_tokens, budget);
    (*template_kwargs)["enable_thinking"] = *n_tokens > 0;
    return {};
  }
  if (think->is_string()) {
    const std::string effort = think->get<std::string>();
    if (effort == "low" || effort == "medium" || effort == "high" || effort == "max") {
      (*template_kwargs)["enable_thinking"] = true;
      return apply_effort("think", effort, template_kwargs);
    }
  }
  if (!think->is_boolean()) {
    fields.fail("think",
                "true, false, \"low\", \"medium\", \"high\", \"max\" or a number of tokens");
    return fields.status();
  }
  (*template_kwargs)["enable_thinking"] = think->get<bool>();
  return {};
}

Result<std::vector<chat::Message>> read_messages(const Json& value) {
  T9_TRY(std::vector<chat::Message> messages, chat::messages_from_json(value));
  size_t newest_user = messages.size();
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role == "user") newest_user = i;
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    chat::Message& message = messages[i];
    constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool"};
    if (std::find(std::begin(kRoles), std::end(kRoles), message.role) == std::end(kRoles)) {
      return make_error(ErrorCode::kInvalidArgument,
                        "messages[{}].role: found {}, expected system, user, assistant or tool", i,
                        dump(Json(message.role)));
    }
    if (has_images(value[i])) {
      if (i == newest_user) {
        return make_error(ErrorCode::kUnsupported,
                          "messages[{}].images: found a picture, but the loaded model takes text "
                          "only",
                          i);
      }
      message.text = fmt::format("{}\n{}", media_note("image"), message.joined_text());
      message.parts.clear();
    }
    // Ollama's names for what the template knows under OpenAI's.
    const auto take = [&message](const char* key, std::string* out) {
      const auto found = message.extra.find(key);
      if (found != message.extra.end() && found->is_string() && out->empty())
        *out = found->get<std::string>();
      message.extra.erase(key);
    };
    take("thinking", &message.reasoning_content);
    take("tool_name", &message.name);
    message.extra.erase("images");
    // The order of the keys is not the template's business here.
    message.keys.clear();
  }
  return messages;
}

Status check_length(const Service& service, const engine::GenerateRequest& request) {
  const size_t limit = service.engine().info().max_length;
  const size_t n_prompt = request.prompt.size();
  if (n_prompt < limit) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "prompt too long; exceeded max context length by {} tokens: the model's "
                    "maximum context length is {} tokens, and the prompt has {}",
                    n_prompt - limit + 1, limit, n_prompt);
}

Json envelope(const std::string& model) {
  const auto now =
      std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
  const auto micros = now.time_since_epoch().count() % 1'000'000;
  Json json = Json::object();
  json["model"] = model;
  json["created_at"] = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z",
                                   fmt::gmtime(std::chrono::system_clock::to_time_t(now)), micros);
  return json;
}

}  // namespace tempo9::server::ollama
