// A file that a command reads whole.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tempo9::cli {

// Errors: kIo naming flag and path.
Result<std::string> read_text_file(std::string_view flag, const std::string& path);

}  // namespace tempo9::cli
