// Links: t9_grammar
// Changes: 300
// A JSON Schema of any bytes, and behind an empty line an instance: the schema is refused, or says
// yes or no to the instance, within bounds.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "grammar/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t border = input.find("\n\n");
  const std::string_view schema = input.substr(0, border);
  const std::string_view instance =
      border == std::string_view::npos ? "{}" : input.substr(border + 2);
  const auto result = tempo9::grammar::check_instance(schema, instance);
  if (!result) {
    T9_CHECK(!result.error().message.empty());
    return 0;
  }
  T9_CHECK(result->accepted == result->reason.empty());
  return 0;
}
