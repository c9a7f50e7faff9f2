#include "engine/script.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/base64.h"

namespace tempo9::engine {
namespace {

using Json = nlohmann::json;

constexpr double kMaxMilliseconds = 24.0 * 3600.0 * 1000.0;

// Reads one line's fields. Each reader returns what is wrong, without the place.
class LineReader {
 public:
  explicit LineReader(ScriptLine* line) : line_(line) {}

  Status read(const Json& object) {
    if (!object.is_object()) {
      return wrong("found {}, expected an object with \"text\" or \"pieces\"", object.type_name());
    }
    bool has_text = false;
    for (const auto& [key, value] : object.items()) {
      has_text = has_text || key == "text";
      T9_TRY(read_field(key, value));
    }
    if (has_text == line_->has_pieces) {
      return wrong("found {}, expected one of \"text\" and \"pieces\"",
                   has_text ? "both" : "neither");
    }
    return {};
  }

 private:
  template <typename... Args>
  static Error wrong(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::kCorrupt, format, std::forward<Args>(args)...);
  }

  Status read_field(const std::string& key, const Json& value) {
    if (key == "text") {
      return read_string(key, value, &line_->text);
    }
    if (key == "pieces") {
      return read_pieces(value);
    }
    if (key == "when") {
      return read_string(key, value, &line_->when);
    }
    if (key == "format") {
      T9_TRY(read_string(key, value, &line_->format));
      return line_->format.empty() ? Status(wrong("format: found \"\", expected a format's name"))
                                   : Status();
    }
    if (key == "prefill_ms") {
      return read_milliseconds(key, value, &line_->prefill_ms);
    }
    if (key == "delay_ms") {
      return read_milliseconds(key, value, &line_->delay_ms);
    }
    if (key == "finish") {
      return read_finish(value);
    }
    return wrong(
        "unknown field \"{}\", expected text, pieces, when, format, prefill_ms, delay_ms, finish",
        key);
  }

  static Status read_string(const std::string& key, const Json& value, std::string* out) {
    if (!value.is_string()) {
      return wrong("{}: found {}, expected a string", key, value.type_name());
    }
    *out = value.get<std::string>();
    return {};
  }

  static Status read_milliseconds(const std::string& key, const Json& value, double* out) {
    const double ms = value.is_number() ? value.get<double>() : -1.0;
    if (!(ms >= 0.0 && ms <= kMaxMilliseconds)) {
      return wrong("{}: found {}, expected a number of milliseconds from 0 to a day", key,
                   value.is_number() ? value.dump() : value.type_name());
    }
    *out = ms;
    return {};
  }

  Status read_finish(const Json& value) {
    const std::string name = value.is_string() ? value.get<std::string>() : value.type_name();
    if (name == "stop") {
      line_->finish = ScriptFinish::kStop;
    } else if (name == "length") {
      line_->finish = ScriptFinish::kLength;
    } else if (name == "error") {
      line_->finish = ScriptFinish::kError;
    } else {
      return wrong("finish: found {}, expected stop, length or error", name);
    }
    return {};
  }

  Status read_pieces(const Json& value) {
    line_->has_pieces = true;
    if (!value.is_array()) {
      return wrong("pieces: found {}, expected an array", value.type_name());
    }
    for (const Json& piece : value) {
      const std::string place = fmt::format("pieces[{}]", line_->pieces.size());
      line_->pieces.emplace_back();
      if (piece.is_string()) {
        line_->pieces.back() = piece.get<std::string>();
        continue;
      }
      if (!piece.is_object() || piece.size() != 1 || !piece.contains("b64") ||
          !piece["b64"].is_string()) {
        return wrong("{}: found {}, expected a string or {{\"b64\": \"...\"}}", place,
                     piece.is_object() ? "another object" : piece.type_name());
      }
      const auto bytes = decode_base64(piece["b64"].get_ref<const std::string&>());
      if (!bytes) {
        return wrong("{}: found text that is not base64 in b64", place);
      }
      line_->pieces.back() = *bytes;
    }
    return {};
  }

  ScriptLine* line_;
};

Result<Json> parse_json(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    return make_error(ErrorCode::kCorrupt, "not JSON: {}", e.what());
  }
}

Result<ScriptLine> parse_line(std::string_view text, uint32_t number) {
  ScriptLine line;
  line.number = number;
  T9_TRY(const Json object, parse_json(text));
  T9_TRY(LineReader(&line).read(object));
  return line;
}

}  // namespace

Result<std::vector<ScriptLine>> parse_script(std::string_view content, std::string_view name) {
  std::vector<ScriptLine> lines;
  if (content.starts_with("\xEF\xBB\xBF")) {
    content.remove_prefix(3);
  }
  for (uint32_t number = 1; !content.empty(); ++number) {
    const size_t end = std::min(content.find('\n'), content.size());
    const std::string_view text = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    auto line = parse_line(text, number);
    if (!line) {
      return make_error(line.error().code, "{}:{}: {}", name, number, line.error().message);
    }
    lines.push_back(*std::move(line));
  }
  return lines;
}

Result<std::vector<ScriptLine>> read_script(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || file.bad()) {
    return make_error(ErrorCode::kIo, "{}: cannot read the script; check --script", path);
  }
  return parse_script(content, path);
}

}  // namespace tempo9::engine
