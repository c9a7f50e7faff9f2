// datetime.now().strftime(format), with a clock that can be set.
#pragma once

#include <string>

#include "base/result.h"

namespace tempo9::chat::jinja {

// iso: "2026-05-04", "2026-05-04T10:11", "2026-05-04T10:11:12.123456", each also with Z or +02:00;
// empty: the local clock. English names, as in the C locale. Errors: kInvalidArgument for a time
// that is none.
Result<std::string> format_time(const std::string& iso, const std::string& format);

}  // namespace tempo9::chat::jinja
