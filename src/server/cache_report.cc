#include "server/cache_report.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace tempo9::server {
namespace {

// A token may end inside a character; JSON may not.
std::string whole_characters(std::string_view text) {
  return Json::parse(dump(text)).get<std::string>();
}

// "cache", "cache, timing": a list as in other headers.
bool asks_for(const http::Request& request, std::string_view what) {
  std::string_view rest = request.explain;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    std::string_view word = rest.substr(0, comma);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (word == what) return true;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return false;
}

}  // namespace

Json cached_by_source(const kv::CachedTokens& cached) {
  return {{"live", cached.live}, {"ram", cached.ram}, {"ssd", cached.disk}};
}

Json cache_report_json(const engine::CacheReport& report) {
  Json json = Json::object();
  json["prompt_tokens"] = report.prompt_tokens;
  json["cached_tokens"] = report.cached.total();
  json["cached_tokens_by_source"] = cached_by_source(report.cached);
  json["alike_tokens"] = report.alike_tokens;
  if (report.difference) {
    Json& difference = json["first_difference"];
    difference["token"] = report.alike_tokens;
    difference["place"] =
        report.difference->place.empty() ? Json(nullptr) : Json(report.difference->place);
    difference["before"] = whole_characters(report.difference->before);
    difference["was"] = whole_characters(report.difference->was);
    difference["now"] = whole_characters(report.difference->now);
  } else {
    json["first_difference"] = nullptr;
  }
  json["likely_cause"] = report.cause.empty() ? Json(nullptr) : Json(report.cause);
  return json;
}

bool wants_cache_report(const http::Request& request) { return asks_for(request, "cache"); }

bool wants_timing(const http::Request& request) { return asks_for(request, "timing"); }

Json timing_json(const engine::Usage& usage) {
  const engine::Timing& timing = usage.timing;
  const auto rate = [](uint32_t n_tokens, double seconds) {
    return seconds > 0 ? Json(n_tokens / seconds) : Json(nullptr);
  };
  const double read = std::max(0.0, timing.first_token - timing.started);
  const double wrote = std::max(0.0, timing.now - timing.first_token);
  return {{"queued_seconds", timing.started},
          {"first_token_seconds", timing.first_token},
          {"total_seconds", timing.now},
          {"prompt_tokens_per_second", rate(usage.prompt_tokens - usage.cached_tokens, read)},
          {"generated_tokens_per_second",
           rate(usage.completion_tokens > 0 ? usage.completion_tokens - 1 : 0, wrote)}};
}

void debug_cache(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  Json requests = Json::array();
  for (const engine::CacheReport& report : service->engine().cache_reports()) {
    Json json = {{"request", report.request}};
    json.update(cache_report_json(report));
    requests.push_back(std::move(json));
  }
  exchange->respond({.body = dump(Json{{"requests", std::move(requests)}})});
}

}  // namespace tempo9::server
