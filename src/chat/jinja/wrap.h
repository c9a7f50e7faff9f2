// Text cut into lines of a width, as Python's textwrap does it.
#pragma once

#include <cstdint>
#include <vector>

#include "chat/jinja/text.h"

namespace tempo9::chat::jinja {

struct WrapOptions {
  int64_t width = 79;  // characters
  bool break_long_words = true;
  bool break_on_hyphens = true;
};

std::vector<Text> wrap_line(const Text& line, const WrapOptions& options);

}  // namespace tempo9::chat::jinja
