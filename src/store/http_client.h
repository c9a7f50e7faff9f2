// HTTP from here to somewhere else, over libcurl: what `tempo9 pull` needs and nothing more.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tempo9::store {

struct HttpReply {
  long status = 0;
  std::string body;
  std::string next;  // the address of the next page (Link header, rel="next"); empty: the last one
};

// "Name: value" each. An Authorization among them goes to the host that is asked, and not where
// that one redirects to.
using HttpHeaders = std::vector<std::string>;

// Follows redirects, from https to https only. Errors: kIo (no connection, no answer in time, more
// than 32 MB), naming the address without its query.
Result<HttpReply> http_get(const std::string& url, const HttpHeaders& headers);

// Of a server on this machine: asked without a proxy, and given so long for all of it.
Result<HttpReply> http_get_here(const std::string& url, std::chrono::milliseconds limit);

// Bytes [begin, end) of a file.
struct HttpRange {
  uint64_t begin = 0, end = 0;
};
enum class RangeOutcome {
  kWhole,     // all of them came
  kCut,       // fewer; the rest may be asked for again
  kNoRanges,  // this server sends whole files only; nothing was given to sink
  kAgain,     // busy or failing (429, 5xx, no connection); later, perhaps
};
// Gives what comes to sink, in order; sink says no to stop. Errors: kNotFound, kInvalidArgument
// (not allowed: a token is missing or wrong), kIo (any other status, or what sink said no to).
Result<RangeOutcome> http_get_range(const std::string& url, const HttpHeaders& headers,
                                    HttpRange range,
                                    const std::function<bool(std::string_view)>& sink);

}  // namespace tempo9::store
