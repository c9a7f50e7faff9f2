// Links: t9_engine
// A script of any bytes: it is refused with the line that is wrong, or its lines are whole.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "engine/script.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  const auto lines = tempo9::engine::parse_script(content, "s");
  if (!lines) {
    T9_CHECK(lines.error().message.starts_with("s:"));
    return 0;
  }
  uint32_t last = 0;
  for (const auto& line : *lines) {
    T9_CHECK(line.number > last);
    T9_CHECK(line.prefill_ms >= 0 && line.delay_ms >= 0);
    T9_CHECK(line.text.empty() || !line.has_pieces);
    last = line.number;
  }
  return 0;
}
