#include "server/json_body.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "chat/exact_json.h"

namespace tempo9::server {
namespace {

constexpr size_t kMaxDepth = 128;
// Objects keep their order in a list, so a key costs time in proportion to the keys before it.
constexpr size_t kMaxKeys = 8192;

// Depth and keys of an object, before anything is built. Only brackets, colons and strings matter
// here: whether the rest is JSON is the parser's business.
Status check_shape(std::string_view text) {
  std::vector<size_t> n_keys;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      n_keys.push_back(0);
      if (n_keys.size() > kMaxDepth) {
        return make_error(ErrorCode::kInvalidArgument,
                          "request body: found arrays or objects nested deeper than {} at byte {}, "
                          "expected at most that",
                          kMaxDepth, i);
      }
    } else if ((c == '}' || c == ']') && !n_keys.empty()) {
      n_keys.pop_back();
    } else if (c == ':' && !n_keys.empty() && ++n_keys.back() > kMaxKeys) {
      return make_error(
          ErrorCode::kInvalidArgument,
          "request body: found an object with more than {} keys at byte {}, expected at most that",
          kMaxKeys, i);
    }
  }
  return {};
}

// The UTF-16 unit that "\\uXXXX" at text[at] spells; nothing if there is none.
std::optional<unsigned> escaped_unit(std::string_view text, size_t at) {
  unsigned unit = 0;
  if (text.substr(at, 2) != "\\u" || at + 6 > text.size()) return std::nullopt;
  const char* const begin = text.data() + at + 2;
  const auto [end, error] = std::from_chars(begin, begin + 4, unit, 16);
  if (error != std::errc() || end != begin + 4) return std::nullopt;
  return unit;
}

// Programs whose strings are UTF-16 cut them in the middle of a pair, and their JSON then spells
// half a character. It stays in the client's history, so that refusing it would end the session;
// it becomes U+FFFD, as where such a string is encoded (WHATWG Infra, "scalar value string").
// Nothing: all pairs are whole.
std::optional<std::string> mend_half_pairs(std::string_view text) {
  const auto is_in = [](std::optional<unsigned> unit, unsigned low, unsigned high) {
    return unit && *unit >= low && *unit <= high;
  };
  std::optional<std::string> mended;
  size_t next = 0;
  for (size_t i = text.find('\\'); i != std::string_view::npos; i = text.find('\\', next)) {
    next = i + 2;
    const auto unit = escaped_unit(text, i);
    if (!is_in(unit, 0xD800, 0xDFFF)) continue;
    if (*unit < 0xDC00 && is_in(escaped_unit(text, i + 6), 0xDC00, 0xDFFF)) {
      next = i + 12;
      continue;
    }
    if (!mended) mended = text;
    mended->replace(i + 2, 4, "fffd");
  }
  return mended;
}

// The library's text between "syntax error" and the input that it quotes.
std::string reason(std::string_view what) {
  const size_t begin = what.find("syntax error");
  if (begin == std::string_view::npos) return "not JSON";
  what = what.substr(begin);
  return std::string(what.substr(0, what.find("; last read")));
}

}  // namespace

size_t find_invalid_utf8(std::string_view text) {
  const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
  size_t i = 0;
  while (i < text.size()) {
    const unsigned char lead = byte(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    // Unicode 15, table 3-7: the second byte's range depends on the first.
    size_t length = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF) {
      length = 2;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      length = 3;
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      length = 4;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    }
    if (length == 0 || i + length > text.size()) return i;
    if (byte(i + 1) < low || byte(i + 1) > high) return i;
    for (size_t k = 2; k < length; ++k) {
      if (byte(i + k) < 0x80 || byte(i + k) > 0xBF) return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

namespace {

// Their numbers go to the model or back to the client, in the digits that were written.
constexpr std::string_view kPassedOn[] = {"messages", "tools", "input"};
// Their schemas may list integers however long.
constexpr std::string_view kWithSchemas[] = {"response_format",
                                             "structured_outputs",
                                             "guided_json",
                                             "output_format",
                                             "output_config",
                                             "format",
                                             "text"};

Error too_large() {
  return make_error(
      ErrorCode::kInvalidArgument,
      "request body: found a number too large to hold, expected numbers within a double's range");
}

}  // namespace

Result<Json> parse_body(std::string_view body) {
  if (const size_t bad = find_invalid_utf8(body); bad != std::string_view::npos) {
    return make_error(ErrorCode::kInvalidArgument,
                      "request body: found byte 0x{:02X} at offset {}, expected UTF-8",
                      static_cast<unsigned char>(body[bad]), bad);
  }
  if (body.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "request body: found nothing, expected a JSON object");
  }
  // The library takes a NUL for the end of the text.
  if (const size_t nul = body.find('\0'); nul != std::string_view::npos) {
    return make_error(ErrorCode::kInvalidArgument,
                      "request body: found byte 0x00 at offset {}, expected JSON", nul);
  }
  T9_TRY(check_shape(body));
  const std::optional<std::string> mended = mend_half_pairs(body);
  const std::string_view text = mended ? std::string_view(*mended) : body;
  std::optional<Json> exact = chat::parse_exactly(text);
  if (exact && exact->is_object()) {
    for (auto field = exact->begin(); field != exact->end(); ++field) {
      if (std::ranges::count(kPassedOn, field.key()) > 0) continue;
      const bool has_schema = std::ranges::count(kWithSchemas, field.key()) > 0;
      if (!chat::make_plain(&*field, has_schema)) return too_large();
    }
    return std::move(*exact);
  }
  Json value = nullptr;
  try {
    value = exact ? std::move(*exact) : Json::parse(text);
  } catch (const Json::parse_error& error) {
    return make_error(ErrorCode::kInvalidArgument,
                      "request body: found invalid JSON at byte {} ({}), expected a JSON object",
                      error.byte, reason(error.what()));
  } catch (const Json::exception&) {
    return too_large();
  }
  return make_error(ErrorCode::kInvalidArgument, "request body: found {}, expected a JSON object",
                    describe(value));
}

std::string dump(const Json& value) { return chat::dump_exactly(value); }

std::string describe(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return value.empty() ? "an empty object" : "an object";
    case Json::value_t::array:
      return value.empty() ? "an empty array" : "an array";
    case Json::value_t::string: {
      // Cut by characters: half a character would not survive in the answer.
      std::string text = value.get<std::string>();
      if (text.size() > 40) {
        size_t end = 40;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
        text = text.substr(0, end) + "...";
      }
      return "the string " + dump(Json(text));
    }
    case Json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    default:
      return "the number " + dump(value);
  }
}

const Json& field_of(const Json& object, const char* key) {
  static const Json kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

Result<std::string> needed_string_at(const Json& object, const char* key,
                                     const std::string& where) {
  const auto found = object.find(key);
  const bool absent = found == object.end() || found->is_null();
  if (!absent && found->is_string()) return found->get<std::string>();
  return make_error(ErrorCode::kInvalidArgument, "{}.{}: found {}, expected a string", where, key,
                    absent ? "nothing" : describe(*found));
}

Result<std::string> string_at(const Json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::string();
  return needed_string_at(object, key, where);
}

Fields::Fields(const Json& object, std::string prefix)
    : object_(object), prefix_(std::move(prefix)) {}

const Json* Fields::find(std::string_view key) const {
  const auto found = object_.find(std::string(key));
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const Json* Fields::take(std::string_view key) const { return error_ ? nullptr : find(key); }

void Fields::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

void Fields::fail(std::string_view key, std::string_view expected) {
  const Json* value = find(key);
  fail(make_error(ErrorCode::kInvalidArgument, "{}: found {}, expected {}", name(key),
                  value == nullptr ? "nothing" : describe(*value), expected));
}

Status Fields::status() const {
  if (error_) return *error_;
  return {};
}

void Fields::read(std::string_view key, bool* out) {
  const Json* value = take(key);
  if (value == nullptr) return;
  if (!value->is_boolean()) return fail(key, "true or false");
  *out = value->get<bool>();
}

void Fields::read(std::string_view key, std::string* out) {
  const Json* value = take(key);
  if (value == nullptr) return;
  if (!value->is_string()) return fail(key, "a string");
  *out = value->get<std::string>();
}

void Fields::read(std::string_view key, float* out) {
  const Json* value = take(key);
  if (value == nullptr) return;
  if (!value->is_number()) return fail(key, "a number");
  const double number = value->get<double>();
  if (std::abs(number) > static_cast<double>(std::numeric_limits<float>::max())) {
    return fail(key, "a number of ordinary size");
  }
  *out = static_cast<float>(number);
}

namespace {

// None: not a whole number. Values beyond int64 are held at its ends.
std::optional<int64_t> whole_number(const Json& value) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    return number > static_cast<uint64_t>(kMax) ? kMax : static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (std::trunc(number) != number) return std::nullopt;
  if (number >= 9.2e18) return kMax;
  if (number <= -9.2e18) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(number);
}

std::string range_text(std::string_view what, int64_t min, int64_t max) {
  if (max == std::numeric_limits<int64_t>::max()) return fmt::format("{}, {} or more", what, min);
  return fmt::format("{} from {} to {}", what, min, max);
}

}  // namespace

void Fields::read(std::string_view key, int64_t min, int64_t max, int64_t* out) {
  std::optional<int64_t> number;
  read(key, min, max, &number);
  if (number) *out = *number;
}

void Fields::read(std::string_view key, int64_t min, int64_t max, std::optional<int64_t>* out) {
  const Json* value = take(key);
  if (value == nullptr) return;
  const auto number = whole_number(*value);
  if (!number || *number < min || *number > max)
    return fail(key, range_text("a whole number", min, max));
  *out = number;
}

void Fields::read(std::string_view key, uint64_t* out) {
  const Json* value = take(key);
  if (value == nullptr) return;
  if (value->is_number_unsigned()) {
    *out = value->get<uint64_t>();
    return;
  }
  const auto number = whole_number(*value);
  if (!number) return fail(key, "a whole number");
  *out = static_cast<uint64_t>(*number);
}

void Fields::read(std::string_view key, int64_t min, int64_t max, std::vector<int32_t>* out) {
  const Json* value = take(key);
  if (value == nullptr) return;
  if (!value->is_array()) return fail(key, "an array of whole numbers");
  out->clear();
  out->reserve(value->size());
  for (const Json& element : *value) {
    const auto number = whole_number(element);
    if (!number || *number < min || *number > max) {
      return fail(make_error(ErrorCode::kInvalidArgument, "{}[{}]: found {}, expected {}",
                             name(key), out->size(), describe(element),
                             range_text("a whole number", min, max)));
    }
    out->push_back(static_cast<int32_t>(*number));
  }
}

void Fields::refuse(std::string_view key, std::string_view why) {
  const Json* value = take(key);
  if (value == nullptr) return;
  const bool asks_nothing =
      value->is_boolean() ? !value->get<bool>() : value->is_structured() && value->empty();
  if (asks_nothing) return;
  fail(make_error(ErrorCode::kUnsupported, "{}: {}", name(key), why));
}

}  // namespace tempo9::server
