#include "cli/text_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gguf/text.h"

namespace tempo9::cli {

Result<std::string> read_text_file(std::string_view flag, const std::string& path) {
  const auto failure = [&](const char* what) {
    return make_error(ErrorCode::kIo, "{}: {} {}", flag, what, gguf::printable(path, 4096));
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return failure("expected a file, found folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure("cannot open");
  std::ostringstream text;
  text << file.rdbuf();  // sets failbit, too, where there is nothing to copy
  if (file.bad() || text.bad()) return failure("cannot read");
  return std::move(text).str();
}

}  // namespace tempo9::cli
