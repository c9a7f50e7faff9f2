#include "chat/parsers/exact_json.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

namespace tempo9::chat {
namespace {

class Builder final : public nlohmann::json_sax<Json> {
 public:
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    Json plain = value;
    if (plain.dump() == text) return add(std::move(plain));
    return add(Json::binary({text.begin(), text.end()}));
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

  Json root_;
  std::vector<Json*> open_;
  std::string key_;
};

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
  Builder builder;
  if (!Json::sax_parse(text, &builder)) return std::nullopt;
  return builder.take();
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
  std::string out;
  append(value, &out);
  return out;
}

}  // namespace tempo9::chat
