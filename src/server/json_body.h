// JSON bodies: bounded parsing, and typed reads whose errors name the field, what was found and
// what was expected.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/message.h"

namespace tempo9::server {

using chat::Json;

// A JSON object. Errors: kInvalidArgument for what is not UTF-8 (offset and byte), not JSON (offset
// and reason), no object, nested deeper than 128 or with more than 8192 keys in one object. A UTF-8
// byte order mark is skipped. Numbers in messages, tools and input keep their digits
// (chat/exact_json.h).
Result<Json> parse_body(std::string_view body);

// Compact; bytes that are no UTF-8 become U+FFFD. Never throws.
std::string dump(const Json& value);

// "a string (\"hot\")", "an array", "null": for "found ..." in messages.
std::string describe(const Json& value);

// Of an object; null when it is absent.
const Json& field_of(const Json& object, const char* key);

// A string of an object that is looked at piece by piece; where names the object in errors.
// string_at: empty when it is absent or null; needed_string_at: then an error, too.
// Errors: kInvalidArgument.
Result<std::string> string_at(const Json& object, const char* key, const std::string& where);
Result<std::string> needed_string_at(const Json& object, const char* key, const std::string& where);

// Offset of the first byte that breaks UTF-8; npos if there is none.
size_t find_invalid_utf8(std::string_view text);

// Reads fields of an object. null is the same as absent, and leaves *out as it was. The first
// failure is kept and the reads behind it do nothing, so callers read everything and ask status()
// once.
class Fields {
 public:
  explicit Fields(const Json& object, std::string prefix = "");

  const Json* find(std::string_view key) const;  // null: absent or null
  std::string name(std::string_view key) const { return prefix_ + std::string(key); }

  void read(std::string_view key, bool* out);
  void read(std::string_view key, std::string* out);
  void read(std::string_view key, float* out);
  // Whole numbers; 3.0 is one. Outside [min, max]: an error that says so.
  void read(std::string_view key, int64_t min, int64_t max, int64_t* out);
  void read(std::string_view key, int64_t min, int64_t max, std::optional<int64_t>* out);
  void read(std::string_view key, uint64_t* out);
  // Whole numbers in an array.
  void read(std::string_view key, int64_t min, int64_t max, std::vector<int32_t>* out);

  // kUnsupported when the field is there with a value that asks for something (not null, false, []
  // or {}).
  void refuse(std::string_view key, std::string_view why);
  void fail(Error error);
  void fail(std::string_view key, std::string_view expected);  // "key: found ..., expected ..."

  Status status() const;

 private:
  const Json* take(std::string_view key) const;  // null also after a failure

  const Json& object_;
  std::string prefix_;
  std::optional<Error> error_;
};

}  // namespace tempo9::server
