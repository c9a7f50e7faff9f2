#include "store/remote_header.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/check.h"

namespace tempo9::store {
namespace {

constexpr uint64_t kFirstBytes = 1 << 20;
// The largest vocabularies in use take a tenth of this.
constexpr uint64_t kMaxHeaderBytes = uint64_t{128} << 20;
constexpr int kHeaderTries = 3;
constexpr std::chrono::milliseconds kHeaderPause{200};  // the first; then twice as long each time

}  // namespace

Status RemoteHeader::read(uint64_t offset, void* dst, size_t n) {
  T9_CHECK(offset <= file_.n_bytes && n <= file_.n_bytes - offset);
  if (n == 0) return {};
  const uint64_t end = offset + n;
  if (end > kMaxHeaderBytes) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: what it says of itself goes on to byte {}, expected at most {}: it is "
                      "damaged or no model",
                      file_.name, end, kMaxHeaderBytes);
  }
  if (end > bytes_.size()) {
    const uint64_t step = std::max<uint64_t>(kFirstBytes, bytes_.size());
    T9_TRY(fetch_to(std::min(std::max(end, bytes_.size() + step), file_.n_bytes)));
  }
  std::memcpy(dst, bytes_.data() + offset, n);
  return {};
}

Status RemoteHeader::fetch_to(uint64_t end) {
  auto pause = kHeaderPause;
  for (int n_tries = 0; bytes_.size() < end;) {
    const uint64_t before = bytes_.size();
    T9_TRY(const RangeOutcome outcome,
           http_get_range(file_.url, headers_, {before, end}, [this](std::string_view bytes) {
             bytes_ += bytes;
             return true;
           }));
    if (outcome == RangeOutcome::kNoRanges) {
      bytes_.clear();  // whole files only: from the start, and hung up on at the end of the range
      continue;
    }
    if (bytes_.size() > before) {
      n_tries = 0;
      continue;
    }
    if (++n_tries == kHeaderTries) {
      return make_error(ErrorCode::kIo, "{}: no answer after {} tries",
                        file_.url.substr(0, file_.url.find('?')), kHeaderTries);
    }
    std::this_thread::sleep_for(pause);
    pause *= 2;
  }
  return {};
}

}  // namespace tempo9::store
