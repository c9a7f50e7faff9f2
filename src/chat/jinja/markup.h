// HTML escaping, as MarkupSafe does it. Chat templates seldom want it, but some write `| safe` or
// `| e`.
#pragma once

#include "chat/jinja/text.h"

namespace tempo9::chat::jinja {

// The text with & < > " ' escaped, marked as markup. Markup is returned as it is unless forced.
Text escape_html(const Text& text, bool force = false);
// Tags and comments removed, white space collapsed, entities resolved (the five above and numeric
// ones).
Text strip_tags(const Text& text);

}  // namespace tempo9::chat::jinja
