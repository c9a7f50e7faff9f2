#include "server/cache_report.h"

#include <string>
#include <string_view>

namespace tempo9::server {
namespace {

// A token may end inside a character; JSON may not.
std::string whole_characters(std::string_view text) {
  return Json::parse(dump(text)).get<std::string>();
}

}  // namespace

Json cached_by_source(const kv::CachedTokens& cached) {
  return {{"live", cached.live}, {"ram", cached.ram}, {"ssd", cached.disk}};
}

Json cache_report_json(const engine::CacheReport& report) {
  Json json;
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

bool wants_cache_report(const http::Request& request) { return request.explain == "cache"; }

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
