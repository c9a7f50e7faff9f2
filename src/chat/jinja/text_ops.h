// Python's string operations on marked text. Offsets are bytes; counts are characters where Python
// counts them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "chat/jinja/text.h"
#include "chat/jinja/unicode.h"

namespace tempo9::chat::jinja {

enum class Side { kLeft, kRight, kBoth };

// chars: the set to remove; null: white space.
Text strip(const Text& text, Side side, const Text* chars);
// separator null: runs of white space. max_split < 0: no limit.
std::vector<Text> split(const Text& text, const Text* separator, int64_t max_split);
std::vector<Text> rsplit(const Text& text, const Text* separator, int64_t max_split);
std::vector<Text> split_lines(const Text& text, bool keep_ends);
// count < 0: all.
Text replace(const Text& text, const Text& old, const Text& replacement, int64_t count);
Text to_case(const Text& text, Case to);
Text capitalize(const Text& text);
Text swap_case(const Text& text);
Text title_case(const Text& text);  // str.title()
Text join(const Text& separator, const std::vector<Text>& parts);
// left and right in characters of fill.
Text padded(const Text& text, int64_t left, int64_t right, const Text& fill);
Text first_chars(const Text& text, int64_t n);  // n < 0: all but the last -n
Text expand_tabs(const Text& text, int64_t size);

}  // namespace tempo9::chat::jinja
