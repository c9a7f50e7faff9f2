#include "store/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>

namespace tempo9::store {
namespace {

constexpr size_t kMaxReplyBytes = 32 << 20;
constexpr long kMaxRedirects = 8;
constexpr long kConnectSeconds = 30;
// Slower than this for so long is as good as not connected.
constexpr long kStalledBytesPerSecond = 1, kStalledSeconds = 60;

using Handle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using HeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

// Signed addresses hold secrets in their query.
std::string shown(const std::string& url) { return url.substr(0, url.find('?')); }

HeaderList header_list(const HttpHeaders& headers) {
  curl_slist* list = nullptr;
  for (const std::string& header : headers) list = curl_slist_append(list, header.c_str());
  return {list, curl_slist_free_all};
}

Result<Handle> open(const std::string& url, const HeaderList& headers) {
  Handle handle(curl_easy_init(), curl_easy_cleanup);
  if (handle == nullptr) return make_error(ErrorCode::kInternal, "libcurl does not start");
  CURL* curl = handle.get();
  const bool is_https = url.starts_with("https://");
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "tempo9/" T9_VERSION);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kMaxRedirects);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, is_https ? "https" : "http,https");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, kStalledBytesPerSecond);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kStalledSeconds);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  return handle;
}

size_t append_body(char* data, size_t, size_t n, void* to) {
  auto* body = static_cast<std::string*>(to);
  if (body->size() + n > kMaxReplyBytes) return 0;
  body->append(data, n);
  return n;
}

// <https://...&cursor=x>; rel="next"
std::string next_page(CURL* curl) {
  curl_header* link = nullptr;
  if (curl_easy_header(curl, "Link", 0, CURLH_HEADER, -1, &link) != CURLHE_OK) return {};
  const std::string_view value = link->value;
  const size_t end = value.find(">; rel=\"next\"");
  const size_t begin = end == std::string_view::npos ? end : value.rfind('<', end);
  if (begin == std::string_view::npos) return {};
  return std::string(value.substr(begin + 1, end - begin - 1));
}

// What a range request has come to, while its bytes arrive.
struct RangeTransfer {
  CURL* curl;
  HttpRange range;
  const std::function<bool(std::string_view)>* sink;
  uint64_t n_done = 0;
  long status = 0;
  bool sink_refused = false;

  size_t take(std::string_view bytes) {
    if (status == 0) curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    const bool starts_at_begin = status == 206 || (status == 200 && range.begin == 0);
    if (!starts_at_begin) return 0;  // an error's body, or the whole file from its start
    const uint64_t n_left = range.end - range.begin - n_done;
    const std::string_view wanted = bytes.substr(0, n_left);
    if (!wanted.empty() && !(*sink)(wanted)) {
      sink_refused = true;
      return 0;
    }
    n_done += wanted.size();
    return wanted.size() == bytes.size() ? bytes.size() : 0;  // enough: hang up
  }
};

size_t take_range(char* data, size_t, size_t n, void* transfer) {
  return static_cast<RangeTransfer*>(transfer)->take({data, n});
}

Result<HttpReply> whole_reply(const std::string& url, const Handle& handle) {
  HttpReply reply;
  curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, append_body);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &reply.body);
  const CURLcode code = curl_easy_perform(handle.get());
  if (code != CURLE_OK) {
    return make_error(ErrorCode::kIo, "{}: {}", shown(url), curl_easy_strerror(code));
  }
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &reply.status);
  reply.next = next_page(handle.get());
  return reply;
}

}  // namespace

Result<HttpReply> http_get(const std::string& url, const HttpHeaders& headers) {
  const HeaderList list = header_list(headers);
  T9_TRY(const Handle handle, open(url, list));
  return whole_reply(url, handle);
}

Result<HttpReply> http_get_here(const std::string& url, std::chrono::milliseconds limit) {
  const HeaderList list = header_list({});
  T9_TRY(const Handle handle, open(url, list));
  curl_easy_setopt(handle.get(), CURLOPT_NOPROXY, "*");
  curl_easy_setopt(handle.get(), CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(limit.count()));
  return whole_reply(url, handle);
}

Result<RangeOutcome> http_get_range(const std::string& url, const HttpHeaders& headers,
                                    HttpRange range,
                                    const std::function<bool(std::string_view)>& sink) {
  const HeaderList list = header_list(headers);
  T9_TRY(const Handle handle, open(url, list));
  CURL* curl = handle.get();
  RangeTransfer transfer{.curl = curl, .range = range, .sink = &sink};
  const std::string bytes = fmt::format("{}-{}", range.begin, range.end - 1);
  curl_easy_setopt(curl, CURLOPT_RANGE, bytes.c_str());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_range);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  const CURLcode code = curl_easy_perform(curl);
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (transfer.sink_refused) return make_error(ErrorCode::kIo, "{}: not kept", shown(url));
  if (transfer.n_done == range.end - range.begin) return RangeOutcome::kWhole;
  switch (status) {
    case 200:
      return range.begin > 0 ? RangeOutcome::kNoRanges : RangeOutcome::kCut;
    case 206:
      return RangeOutcome::kCut;
    case 401:
    case 403:
      return make_error(ErrorCode::kInvalidArgument,
                        "{}: not allowed ({}); it may need a token (HF_TOKEN) or the consent that "
                        "its page asks for",
                        shown(url), status);
    case 404:
      return make_error(ErrorCode::kNotFound, "{}: not there", shown(url));
    case 0:
      if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT) {
        return make_error(ErrorCode::kIo, "{}: {}", shown(url), curl_easy_strerror(code));
      }
      return RangeOutcome::kAgain;
    default:
      if (status == 429 || status >= 500) return RangeOutcome::kAgain;
      return make_error(ErrorCode::kIo, "{}: found status {}, expected 206", shown(url), status);
  }
}

}  // namespace tempo9::store
