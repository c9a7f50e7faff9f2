// A script: replies in a file, one JSON object a line. Format: docs/script-mode.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tempo9::engine {

enum class ScriptFinish { kStop, kLength, kError };

struct ScriptLine {
  uint32_t number = 0;  // in the file, from 1
  bool has_pieces = false;
  std::string text;                 // without pieces: one token an increment
  std::vector<std::string> pieces;  // raw bytes, one increment each
  std::string when;                 // empty: any request
  std::string format;               // empty: the model's
  double prefill_ms = 0.0;
  double delay_ms = 0.0;
  ScriptFinish finish = ScriptFinish::kStop;
};

// Blank lines are skipped. Errors (kCorrupt): "name:line: what was found, what was expected".
Result<std::vector<ScriptLine>> parse_script(std::string_view content, std::string_view name);

// Errors: kIo besides.
Result<std::vector<ScriptLine>> read_script(const std::string& path);

}  // namespace tempo9::engine
