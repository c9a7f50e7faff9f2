#include "grammar/growing_json.h"
#include "grammar/validate.h"

namespace tempo9::grammar {

std::optional<PartialJson> parse_partial(std::string_view text, bool at_end) {
  GrowingJson grown;
  if (!grown.add(text) || (at_end && !grown.finish())) return std::nullopt;
  return PartialJson{.value = grown.value(),
                     .n_open = grown.n_open(),
                     .has_value = grown.has_value(),
                     .repeated_key = grown.repeats_key(),
                     .end = grown.n_read()};
}

}  // namespace tempo9::grammar
