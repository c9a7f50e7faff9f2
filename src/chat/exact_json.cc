#include "chat/exact_json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace tempo9::chat {
namespace {

class Builder final : public nlohmann::json_sax<Json> {
 public:
  // numbers: texts of some, by their place among all of the document; they win over what is read.
  explicit Builder(const std::map<size_t, std::string_view>& numbers) : numbers_(numbers) {}
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  // The library calls this one for what begins with a minus.
  bool number_integer(number_integer_t value) override {
    ++n_numbers_;
    return value == 0 ? add_written("-0") : add(value);
  }
  bool number_unsigned(number_unsigned_t value) override {
    ++n_numbers_;
    return add(value);
  }
  bool number_float(number_float_t value, const string_t& text) override {
    const auto written = numbers_.find(n_numbers_++);
    if (written != numbers_.end()) return add_written(written->second);
    Json plain = value;
    if (plain.dump() == text) return add(std::move(plain));
    return add_written(text);
  }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  Json& place(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Json& parent = *open_.back();
    if (parent.is_object()) return parent[key_] = std::move(value);
    parent.push_back(std::move(value));
    return parent.back();
  }
  bool add_written(std::string_view text) { return add(Json::binary({text.begin(), text.end()})); }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  // An open value's address holds: its parent does not grow until it is closed.
  bool open(Json value) {
    open_.push_back(&place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::map<size_t, std::string_view>& numbers_;
  size_t n_numbers_ = 0;
  Json root_;
  std::vector<Json*> open_;
  std::string key_;
};

std::optional<Json> build(std::string_view text,
                          const std::map<size_t, std::string_view>& numbers = {}) {
  Builder builder(numbers);
  if (!Json::sax_parse(text, &builder)) return std::nullopt;
  return builder.take();
}

// [-] digits [. digits] [e [+-] digits], as JSON has it.
bool is_json_number(std::string_view text) {
  const auto digits = [&text] {
    const size_t n = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(n);
    return n;
  };
  const auto accept = [&text](std::string_view any) {
    const bool found = !text.empty() && any.find(text[0]) != std::string_view::npos;
    if (found) text.remove_prefix(1);
    return found;
  };
  accept("-");
  const bool zero = text.starts_with('0');
  const size_t n_whole = digits();
  if (n_whole == 0 || (zero && n_whole > 1)) return false;
  if (accept(".") && digits() == 0) return false;
  if (accept("eE")) {
    accept("+-");
    if (digits() == 0) return false;
  }
  return text.empty();
}

// The library refuses numbers beyond a double's range. Those are taken out of the text.
std::optional<Json> build_without_overflow(std::string_view text) {
  std::map<size_t, std::string_view> numbers;
  std::string finite;
  size_t n_numbers = 0, n_copied = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '-' || (c >= '0' && c <= '9'))) {
      const size_t end = std::min(text.find_first_not_of("0123456789+-.eE", i), text.size());
      const std::string_view number = text.substr(i, end - i);
      if (is_json_number(number) && std::isinf(std::strtod(std::string(number).c_str(), nullptr))) {
        numbers.emplace(n_numbers, number);
        finite.append(text, n_copied, i - n_copied).append("0.5");
        n_copied = end;
      }
      ++n_numbers;
      i = end - 1;
    }
  }
  if (numbers.empty()) return std::nullopt;
  finite.append(text, n_copied);
  return build(finite, numbers);
}

bool holds_written_numbers(const Json& value) {
  if (value.is_binary()) return true;
  return value.is_structured() && std::any_of(value.begin(), value.end(), holds_written_numbers);
}

void append(const Json& value, std::string* out) {
  if (const Json::binary_t* digits = exact_number(value)) {
    out->append(digits->begin(), digits->end());
    return;
  }
  if (!value.is_structured() || value.empty()) {
    *out += value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  const bool is_object = value.is_object();
  *out += is_object ? '{' : '[';
  bool first = true;
  for (const auto& item : value.items()) {
    if (!std::exchange(first, false)) *out += ',';
    if (is_object) {
      append(Json(item.key()), out);
      *out += ':';
    }
    append(item.value(), out);
  }
  *out += is_object ? '}' : ']';
}

}  // namespace

std::optional<Json> parse_exactly(std::string_view text) {
  // The library takes a NUL for the end of the text.
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  std::optional<Json> value = build(text);
  return value ? std::move(value) : build_without_overflow(text);
}

const Json::binary_t* exact_number(const Json& value) {
  return value.is_binary() ? &value.get_binary() : nullptr;
}

bool is_long_integer(const Json& value) {
  const Json::binary_t* text = exact_number(value);
  return text != nullptr && std::all_of(text->begin(), text->end(), [](uint8_t c) {
           return c == '-' || (c >= '0' && c <= '9');
         });
}

double to_double(const Json& value) {
  const Json::binary_t* text = exact_number(value);
  if (text == nullptr) return value.get<double>();
  return std::strtod(std::string(text->begin(), text->end()).c_str(), nullptr);
}

std::string dump_exactly(const Json& value) {
  if (!holds_written_numbers(value))
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  append(value, &out);
  return out;
}

bool make_plain(Json* value, bool keep_long_integers) {
  if (exact_number(*value) != nullptr) {
    const double number = to_double(*value);
    const bool fits = std::isfinite(number);
    if (fits && keep_long_integers && std::abs(number) >= 0x1p63 && is_long_integer(*value))
      return true;
    *value = fits ? number : std::copysign(std::numeric_limits<double>::max(), number);
    return fits;
  }
  bool fit = true;
  if (value->is_structured()) {
    for (Json& part : *value) fit &= make_plain(&part, keep_long_integers);
  }
  return fit;
}

}  // namespace tempo9::chat
