// Cache reports as JSON: in a reply's usage (X-Tempo9-Explain: cache) and at GET /debug/cache.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "server/http/message.h"
#include "server/json_body.h"
#include "server/service.h"

namespace tempo9::server {

// {"live", "ram", "ssd"}: cached prompt tokens by where they were found.
Json cached_by_source(const kv::CachedTokens& cached);
Json cache_report_json(const engine::CacheReport& report);

// The request asks why its prompt was or was not found.
bool wants_cache_report(const http::Request& request);
// The same for how long a reply waited and ran: "timing", or "cache, timing".
bool wants_timing(const http::Request& request);
// Seconds: queued, until the first token, after it, in all; and tokens a second of both parts.
Json timing_json(const engine::Usage& usage);

// GET /debug/cache
void debug_cache(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);

}  // namespace tempo9::server
