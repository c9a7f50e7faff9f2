// The Ollama routes that tell of the model: one is loaded, and answers to every name.
#include <fmt/chrono.h>

#include <algorithm>
#include <cctype>

#include "server/dialects/ollama.h"
#include "server/errors.h"
#include "server/infill.h"

namespace tempo9::server::ollama {
namespace {

// Codex asks for 0.13.4 or later, and takes a suffix for a pre-release of the number.
constexpr const char* kVersion = "0.14.0-tempo9";

std::string timestamp(int64_t seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

// Clients cut it and compare it. The file is not read for it: it names model and size.
std::string digest(const Service& service) {
  std::string text;
  uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  const std::string key = fmt::format("{} {}", service.name(), service.engine().info().file_bytes);
  for (int part = 0; part < 4; ++part) {
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    text += fmt::format("{:016x}", hash);
  }
  return text;
}

std::string parameter_size(uint64_t n) {
  const auto count = static_cast<double>(n);
  if (n >= 1'000'000'000) return fmt::format("{:.1f}B", count / 1e9);
  return fmt::format("{:.1f}M", count / 1e6);
}

Json details(const Service& service) {
  const engine::ModelInfo& info = service.engine().info();
  const std::string family = info.architecture.empty() ? "script" : info.architecture;
  Json json = Json::object();
  json["parent_model"] = "";
  json["format"] = "gguf";
  json["family"] = family;
  json["families"] = Json::array({family});
  json["parameter_size"] = parameter_size(info.n_parameters);
  json["quantization_level"] = info.quantization.empty() ? "unknown" : info.quantization;
  return json;
}

Json model_json(const Service& service) {
  Json json = Json::object();
  json["name"] = tagged(service.name());
  json["model"] = tagged(service.name());
  json["size"] = service.engine().info().file_bytes;
  json["digest"] = digest(service);
  json["details"] = details(service);
  return json;
}

Json capabilities(const Service& service) {
  const engine::ModelInfo& info = service.engine().info();
  // Clients look for chat models by "completion", which an embedding model is none of.
  if (info.declares_pooling || !info.writes_text) return Json::array({"embedding"});
  Json list = Json::array({"completion"});
  if (info.pooling != engine::Pooling::kNone) list.push_back("embedding");
  if (service.format() != "none") list.push_back("tools");
  const auto chat_template = service.chat_template();
  if (chat_template && (*chat_template)->uses_thinking()) list.push_back("thinking");
  if (knows_infill(service)) list.push_back("insert");
  return list;
}

Result<std::string> model_name(const Json& body) {
  Fields fields(body);
  std::string name;
  fields.read("name", &name);  // what older clients call it
  fields.read("model", &name);
  T9_TRY(fields.status());
  if (name.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "model: found nothing, expected a model's name");
  }
  return name;
}

Result<Json> run_show(const Service& service, std::string_view text) {
  T9_TRY(const Json body, parse_body(text));
  T9_TRY(model_name(body));
  const engine::ModelInfo& info = service.engine().info();
  const std::string family = info.architecture.empty() ? "script" : info.architecture;
  Json json = Json::object();
  json["modelfile"] = fmt::format("FROM {}\n", tagged(service.name()));
  json["parameters"] = fmt::format("num_ctx {}", info.max_length);
  const auto chat_template = service.chat_template();
  json["template"] = chat_template ? (*chat_template)->source() : "";
  json["details"] = details(service);
  Json model_info = Json::object();
  model_info["general.architecture"] = family;
  model_info["general.basename"] = service.name();
  model_info["general.parameter_count"] = info.n_parameters;
  // What a request may hold, which is what clients ask this for.
  model_info[family + ".context_length"] = info.max_length;
  if (info.embedding_length > 0) model_info[family + ".embedding_length"] = info.embedding_length;
  json["model_info"] = std::move(model_info);
  json["capabilities"] = capabilities(service);
  json["modified_at"] = timestamp(service.created());
  return json;
}

bool same_name(const std::string& a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

// True: streamed.
Result<bool> run_pull(const Service& service, std::string_view text) {
  T9_TRY(const Json body, parse_body(text));
  T9_TRY(const std::string name, model_name(body));
  Fields fields(body);
  bool stream = true;
  fields.read("stream", &stream);
  T9_TRY(fields.status());
  if (!same_name(tagged(name), tagged(service.name()))) {
    return make_error(ErrorCode::kUnsupported,
                      "pull {}: this server serves {} and fetches no other model; start it with "
                      "the file that you want",
                      dump(Json(name)), tagged(service.name()));
  }
  return stream;
}

void answer(http::Exchange& exchange, const Result<Json>& result) {
  exchange.respond(result ? http::Response{.body = dump(*result)} : ollama_error(result.error()));
}

}  // namespace

std::string tagged(const std::string& name) {
  // The colon of a registry's port stands before a slash.
  const size_t slash = name.rfind('/');
  const size_t colon = name.find(':', slash == std::string::npos ? 0 : slash);
  return colon == std::string::npos ? name + ":latest" : name;
}

void root(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  exchange->respond(
      {.content_type = "text/plain; charset=utf-8",
       .body = fmt::format("Tempo9 serves {}.\nFor those who look for it: Ollama is running\n",
                           service->name())});
}

void version(std::shared_ptr<const Service>, std::shared_ptr<http::Exchange> exchange) {
  answer(*exchange, Json{{"version", kVersion}});
}

void tags(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  Json model = model_json(*service);
  model["modified_at"] = timestamp(service->created());
  answer(*exchange, Json{{"models", Json::array({std::move(model)})}});
}

void ps(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  Json model = model_json(*service);
  // Never unloaded: a year ahead.
  constexpr int64_t kYear = 365 * 24 * 3600;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  model["expires_at"] =
      timestamp(std::chrono::duration_cast<std::chrono::seconds>(now).count() + kYear);
  model["size_vram"] = 0;
  model["context_length"] = service->engine().info().max_length;
  answer(*exchange, Json{{"models", Json::array({std::move(model)})}});
}

void show(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  answer(*exchange, run_show(*service, exchange->request().body));
}

void pull(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  const auto streamed = run_pull(*service, exchange->request().body);
  if (!streamed) return exchange->respond(ollama_error(streamed.error()));
  const std::string success = dump(Json{{"status", "success"}});
  if (!*streamed) return exchange->respond({.body = success});
  exchange->respond(
      {.content_type = "application/x-ndjson",
       .body = fmt::format("{}\n{}\n", dump(Json{{"status", "pulling manifest"}}), success)});
}

}  // namespace tempo9::server::ollama
