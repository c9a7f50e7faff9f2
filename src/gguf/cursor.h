// Reads a source from front to back; every step is checked against the size of the file before it
// is taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "gguf/source.h"

namespace tempo9::gguf {

class Cursor {
 public:
  explicit Cursor(const Source& source, uint64_t position = 0)
      : source_(source), position_(position) {}

  const Source& source() const { return source_; }
  uint64_t position() const { return position_; }
  uint64_t remaining() const { return source_.size() - position_; }

  // For loops over many small values: reads what lies in the window, and else leaves all to read().
  template <typename T>
  bool read_fast(T& value) {
    const uint64_t at = position_ - window_begin_;
    if (position_ < window_begin_ || at + sizeof(T) > window_.size()) return false;
    std::memcpy(&value, window_.data() + at, sizeof(T));
    position_ += sizeof(T);
    return true;
  }

  // what: names what is read, for the message. Errors: kCorrupt if the file ends first; kIo.
  template <typename T>
  Result<T> read(std::string_view what) {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    if (!read_fast(value)) T9_TRY(take(&value, sizeof(T), what));
    return value;
  }

  Status take(void* dst, size_t n, std::string_view what) {
    T9_TRY(require(n, what));
    auto* out = static_cast<uint8_t*>(dst);
    while (n > 0) {
      if (position_ < window_begin_ || position_ >= window_begin_ + window_.size()) {
        T9_TRY(fill());
      }
      const size_t at = static_cast<size_t>(position_ - window_begin_);
      const size_t step = std::min(n, window_.size() - at);
      std::memcpy(out, window_.data() + at, step);
      out += step;
      position_ += step;
      n -= step;
    }
    return {};
  }

  Status skip(uint64_t n, std::string_view what) {
    T9_TRY(require(n, what));
    position_ += n;
    return {};
  }

  // A u64 length and so many bytes, at most max_bytes of them.
  Result<std::string> read_string(uint64_t max_bytes, std::string_view what);

  Status require(uint64_t n, std::string_view what) const {
    if (n <= remaining()) return {};
    return cut_short(n, what);
  }

 private:
  Status fill();
  Error cut_short(uint64_t n, std::string_view what) const;

  const Source& source_;
  uint64_t position_ = 0;
  uint64_t window_begin_ = 0;
  std::vector<uint8_t> window_;
};

}  // namespace tempo9::gguf
