// Would a reply held to a schema be allowed to be this instance? Without a model.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tempo9::grammar {

struct CheckResult {
  bool accepted = false;
  std::string reason;  // when it is not
};

// The instance is written into the schema's matcher, its keys in whatever order that takes, and
// must keep the schema besides. Errors: kInvalidArgument, when the schema is refused (path and
// keyword).
Result<CheckResult> check_instance(std::string_view schema, std::string_view instance);

}  // namespace tempo9::grammar
