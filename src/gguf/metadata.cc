// Typed reads of metadata.
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "gguf/file_impl.h"
#include "gguf/gguf.h"
#include "gguf/text.h"

namespace tempo9::gguf {
namespace {

template <typename T>
std::optional<T> convert_scalar(const Value& value) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    if (const auto* u = std::get_if<uint64_t>(&value)) return *u;
    if (const auto* i = std::get_if<int64_t>(&value); i != nullptr && *i >= 0)
      return static_cast<uint64_t>(*i);
  } else if constexpr (std::is_same_v<T, double>) {
    if (const auto* d = std::get_if<double>(&value)) return *d;
    if (const auto* u = std::get_if<uint64_t>(&value)) return static_cast<double>(*u);
    if (const auto* i = std::get_if<int64_t>(&value)) return static_cast<double>(*i);
  } else {
    if (const auto* exact = std::get_if<T>(&value)) return *exact;
  }
  return std::nullopt;
}

template <typename To, typename From>
std::optional<To> convert_element(const From& from) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else if constexpr (std::is_same_v<To, double>) {
    return static_cast<double>(from);
  } else if constexpr (std::is_same_v<To, int64_t> && std::is_same_v<From, uint64_t>) {
    if (from <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return static_cast<int64_t>(from);
    return std::nullopt;
  } else if constexpr (std::is_same_v<To, uint64_t> && std::is_same_v<From, int64_t>) {
    if (from >= 0) return static_cast<uint64_t>(from);
    return std::nullopt;
  } else {
    static_assert(std::is_same_v<From, bool>);
    return from ? To{1} : To{0};
  }
}

// Which elements an array of To may be made from.
template <typename To, typename From>
constexpr bool kConvertible =
    std::is_same_v<To, From> ||
    (std::is_same_v<To, double> &&
     (std::is_same_v<From, int64_t> || std::is_same_v<From, uint64_t>)) ||
    (std::is_same_v<To, int64_t> &&
     (std::is_same_v<From, uint64_t> || std::is_same_v<From, bool>)) ||
    (std::is_same_v<To, uint64_t> && (std::is_same_v<From, int64_t> || std::is_same_v<From, bool>));

// Nothing if the kind does not fit or a number is out of range. An empty array converts to any
// kind.
template <typename To>
std::optional<std::vector<To>> convert_array(const Array& array) {
  return std::visit(
      [&]<typename From>(const std::vector<From>& from) -> std::optional<std::vector<To>> {
        if (from.empty()) return std::vector<To>{};
        if constexpr (kConvertible<To, From>) {
          std::vector<To> converted;
          converted.reserve(from.size());
          for (const From& element : from) {
            std::optional<To> to = convert_element<To, From>(element);
            if (!to) return std::nullopt;
            converted.push_back(std::move(*to));
          }
          return converted;
        } else {
          return std::nullopt;
        }
      },
      array.values);
}

Error absent(const File& file, std::string_view key, std::string_view expected) {
  return make_error(ErrorCode::kCorrupt, "{}: metadata \"{}\" is missing, expected {}", file.path(),
                    printable(key), expected);
}

// value: of the key, from file.find().
Error wrong_kind(const File& file, std::string_view key, const Value& value,
                 std::string_view expected) {
  std::string found = "a value";
  for (size_t i = 0; i < file.metadata().size(); ++i) {
    if (&file.metadata()[i].second == &value) found = file.metadata_kinds()[i];
  }
  if (const auto* array = std::get_if<Array>(&value))
    found += fmt::format(" of {} elements", array->size());
  if (const auto* i = std::get_if<int64_t>(&value)) found += fmt::format(" {}", *i);
  return make_error(ErrorCode::kCorrupt, "{}: metadata \"{}\" is {}, expected {}", file.path(),
                    printable(key), found, expected);
}

template <typename T>
Result<T> get(const File& file, std::string_view key, std::string_view expected,
              std::optional<T> fallback) {
  const Value* value = file.find(key);
  if (value == nullptr) {
    if (fallback) return std::move(*fallback);
    return absent(file, key, expected);
  }
  if (std::optional<T> converted = convert_scalar<T>(*value)) return std::move(*converted);
  return wrong_kind(file, key, *value, expected);
}

template <typename T>
Result<std::vector<T>> get_array(const File& file, std::string_view key,
                                 std::string_view expected) {
  const Value* value = file.find(key);
  if (value == nullptr) return std::vector<T>{};
  if (const auto* array = std::get_if<Array>(value)) {
    if (auto converted = convert_array<T>(*array)) return std::move(*converted);
  }
  return wrong_kind(file, key, *value, expected);
}

constexpr std::string_view kUint = "a whole number that is not negative";
constexpr std::string_view kFloat = "a number";
constexpr std::string_view kBool = "a bool";
constexpr std::string_view kString = "a string";

}  // namespace

size_t Array::size() const {
  return std::visit([](const auto& vector) { return vector.size(); }, values);
}

const std::vector<std::pair<std::string, Value>>& File::metadata() const { return impl_->metadata; }
const std::vector<std::string>& File::metadata_kinds() const { return impl_->metadata_kinds; }

const Value* File::find(std::string_view key) const {
  const auto it = impl_->metadata_index.find(key);
  return it == impl_->metadata_index.end() ? nullptr : &impl_->metadata[it->second].second;
}

Result<uint64_t> File::get_uint(std::string_view key) const {
  return get<uint64_t>(*this, key, kUint, {});
}
Result<double> File::get_float(std::string_view key) const {
  return get<double>(*this, key, kFloat, {});
}
Result<bool> File::get_bool(std::string_view key) const { return get<bool>(*this, key, kBool, {}); }
Result<std::string> File::get_string(std::string_view key) const {
  return get<std::string>(*this, key, kString, {});
}

Result<uint64_t> File::get_uint(std::string_view key, uint64_t fallback) const {
  return get<uint64_t>(*this, key, kUint, fallback);
}
Result<double> File::get_float(std::string_view key, double fallback) const {
  return get<double>(*this, key, kFloat, fallback);
}
Result<bool> File::get_bool(std::string_view key, bool fallback) const {
  return get<bool>(*this, key, kBool, fallback);
}
Result<std::string> File::get_string(std::string_view key, std::string fallback) const {
  return get<std::string>(*this, key, kString, std::move(fallback));
}

Result<std::vector<std::string>> File::get_strings(std::string_view key) const {
  return get_array<std::string>(*this, key, "an array of strings");
}
Result<std::vector<double>> File::get_floats(std::string_view key) const {
  return get_array<double>(*this, key, "an array of numbers");
}
Result<std::vector<int64_t>> File::get_ints(std::string_view key) const {
  return get_array<int64_t>(*this, key, "an array of whole numbers below 2^63 or of bools");
}

Result<std::vector<uint64_t>> File::get_per_layer(std::string_view key, size_t n,
                                                  uint64_t fallback) const {
  const Value* value = find(key);
  if (value == nullptr) return std::vector<uint64_t>(n, fallback);
  if (const auto* array = std::get_if<Array>(value)) {
    auto converted = convert_array<uint64_t>(*array);
    if (converted && converted->size() >= n) {
      converted->resize(n);
      return std::move(*converted);
    }
  } else if (const auto scalar = convert_scalar<uint64_t>(*value)) {
    return std::vector<uint64_t>(n, *scalar);
  }
  return wrong_kind(
      *this, key, *value,
      fmt::format("a whole number that is not negative, or an array of at least {} of them", n));
}

}  // namespace tempo9::gguf
