// For tests and fuzzers: a folder of its own, gone at the end. CTest runs a program's cases side by
// side, so a name shared between two cases is a race.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/check.h"

namespace tempo9 {

class TempFolder {
 public:
  TempFolder() : path_(std::filesystem::temp_directory_path() / "tempo9_test_XXXXXX") {
    T9_CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  std::string write(std::string_view name, std::string_view bytes) const {
    const std::string to = file(name);
    std::ofstream(to, std::ios::binary) << bytes;
    return to;
  }

 private:
  std::string path_;
};

}  // namespace tempo9
