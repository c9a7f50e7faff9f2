// Links: t9_gguf
// The GGUF reader on any bytes: it refuses them, or all that it hands out lies inside them.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "gguf/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto file = tempo9::gguf::File::from_bytes(std::vector<uint8_t>(data, data + size), "fuzz");
  if (!file) {
    T9_CHECK(!file.error().message.empty());
    return 0;
  }
  T9_CHECK(file->file_bytes() == size);
  uint64_t sum = 0;
  for (const auto& tensor : file->tensors()) {
    T9_CHECK(tensor.data.size() <= size);
    for (uint8_t byte : tensor.data) sum += byte;
  }
  for (const auto& [key, value] : file->metadata()) {
    sum += file->get_uint(key, 0).value_or(1);
    sum += file->get_strings(key).has_value() ? 1 : 0;
    sum += file->get_per_layer(key, 4, 0).has_value() ? 1 : 0;
  }
  return sum == UINT64_MAX ? 1 : 0;
}
