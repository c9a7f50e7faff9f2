#include "cli/show_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <variant>

#include "gguf/text.h"

namespace tempo9::cli {
namespace {

constexpr size_t kMaxElements = 6;
constexpr size_t kMaxElementBytes = 24;
constexpr size_t kMaxStringBytes = 72;

std::string quoted(const std::string& text, size_t max_bytes) {
  return fmt::format("\"{}\"", gguf::printable(text, max_bytes));
}

std::string scalar(double value, bool single) {
  return single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
}
std::string scalar(uint64_t value, bool) { return fmt::format("{}", value); }
std::string scalar(int64_t value, bool) { return fmt::format("{}", value); }
std::string scalar(bool value, bool) { return value ? "true" : "false"; }
std::string scalar(const std::string& value, bool) { return quoted(value, kMaxElementBytes); }
std::string scalar(const gguf::Array& value, bool single);

template <typename T>
std::string elements(const std::vector<T>& values, bool single) {
  std::string out = "[";
  for (size_t i = 0; i < std::min(values.size(), kMaxElements); ++i) {
    if (i > 0) out += ", ";
    out += scalar(values[i], single);
  }
  if (values.size() > kMaxElements) out += fmt::format(", ... {} in all", grouped(values.size()));
  return out + "]";
}

std::string scalar(const gguf::Array& value, bool single) {
  return std::visit([&](const auto& values) { return elements(values, single); }, value.values);
}

}  // namespace

std::string grouped(uint64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string byte_size(uint64_t n_bytes) {
  constexpr std::array<std::string_view, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (n_bytes < 1024) return fmt::format("{} bytes", n_bytes);
  double value = static_cast<double>(n_bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string shape(const gguf::Tensor& tensor) {
  std::string out = fmt::format("{}", tensor.ne[0]);
  for (uint32_t d = 1; d < tensor.n_dims; ++d) out += fmt::format(" x {}", tensor.ne[d]);
  return out;
}

std::string value_text(const gguf::Value& value, std::string_view kind) {
  const bool single = kind == "f32" || kind == "[f32]";
  if (const auto* text = std::get_if<std::string>(&value)) {
    const std::string out = quoted(*text, kMaxStringBytes);
    return text->size() > kMaxStringBytes ? fmt::format("{} ({} bytes)", out, grouped(text->size()))
                                          : out;
  }
  return std::visit([&](const auto& v) { return scalar(v, single); }, value);
}

}  // namespace tempo9::cli
