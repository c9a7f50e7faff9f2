#include "engine/utf8_assembler.h"

namespace tempo9::engine {
namespace {
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
}

void Utf8Assembler::push(std::string_view bytes, std::string* out) {
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    if (n_missing_ > 0 && byte >= low_ && byte <= high_) {
      held_.push_back(c);
      low_ = 0x80;
      high_ = 0xBF;
      if (--n_missing_ == 0) {
        out->append(held_);
        held_.clear();
      }
      continue;
    }
    flush(out);
    start(byte, out);
  }
}

void Utf8Assembler::flush(std::string* out) {
  if (n_missing_ > 0) {
    out->append(kReplacement);
    n_missing_ = 0;
    held_.clear();
  }
}

// Unicode table 3-7: after E0, ED, F0 and F4 the second byte's range is narrower.
void Utf8Assembler::start(uint8_t byte, std::string* out) {
  if (byte < 0x80) {
    out->push_back(static_cast<char>(byte));
    return;
  }
  if (byte < 0xC2 || byte > 0xF4) {
    out->append(kReplacement);
    return;
  }
  n_missing_ = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
  low_ = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
  high_ = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
  held_.assign(1, static_cast<char>(byte));
}

}  // namespace tempo9::engine
