#include "gguf/cursor.h"

namespace tempo9::gguf {
namespace {

constexpr size_t kWindowBytes = 64 * 1024;

}  // namespace

Status Cursor::fill() {
  window_begin_ = position_;
  window_.resize(static_cast<size_t>(std::min<uint64_t>(kWindowBytes, remaining())));
  return source_.read_at(window_begin_, window_.data(), window_.size());
}

Error Cursor::cut_short(uint64_t n, std::string_view what) const {
  return make_error(
      ErrorCode::kCorrupt,
      "{}: {} needs {} bytes at byte {}, but only {} are left: the file is cut short or damaged",
      source_.path(), what, n, position_, remaining());
}

Result<std::string> Cursor::read_string(uint64_t max_bytes, std::string_view what) {
  T9_TRY(const uint64_t length, read<uint64_t>(what));
  T9_TRY(require(length, what));
  if (length > max_bytes) {
    return make_error(ErrorCode::kCorrupt, "{}: {} at byte {} has {} bytes, expected at most {}",
                      source_.path(), what, position_ - sizeof(uint64_t), length, max_bytes);
  }
  std::string text(static_cast<size_t>(length), '\0');
  T9_TRY(take(text.data(), text.size(), what));
  return text;
}

}  // namespace tempo9::gguf
