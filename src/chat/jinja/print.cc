#include "chat/jinja/print.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "chat/jinja/loop.h"
#include "chat/jinja/unicode.h"

namespace tempo9::chat::jinja {

std::string format_float(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer;
  auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), d, std::chars_format::scientific)
          .ptr;
  std::string_view scientific(buffer.data(), static_cast<size_t>(end - buffer.data()));
  bool negative = scientific.front() == '-';
  if (negative) scientific.remove_prefix(1);
  size_t e = scientific.find('e');
  std::string digits(scientific.substr(0, e));
  std::erase(digits, '.');
  int exponent = 0;
  std::string_view exponent_text = scientific.substr(e + 1);
  if (exponent_text.front() == '+') exponent_text.remove_prefix(1);
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);

  std::string out = negative ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    return fmt::format("{}{}{}{}e{}{:02}", out, digits[0], digits.size() > 1 ? "." : "",
                       digits.substr(1), exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) {
    return fmt::format("{}0.{}{}", out, std::string(static_cast<size_t>(-exponent - 1), '0'),
                       digits);
  }
  auto point = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= point) {
    return fmt::format("{}{}{}.0", out, digits, std::string(point - digits.size(), '0'));
  }
  return fmt::format("{}{}.{}", out, digits.substr(0, point), digits.substr(point));
}

namespace {

void append_hex(char kind, char32_t c, int width, bool outside, Text* out) {
  out->append(fmt::format("\\{}{:0{}x}", kind, static_cast<uint32_t>(c), width), outside);
}

void append_string_repr(const Text& text, Text* out) {
  std::string_view bytes = text.view();
  char quote =
      bytes.find('\'') != std::string_view::npos && bytes.find('"') == std::string_view::npos
          ? '"'
          : '\'';
  std::string_view quote_text(&quote, 1);
  out->append(quote_text, false);
  text.for_each_run([&](std::string_view run, bool outside) {
    for (size_t at = 0; at < run.size();) {
      auto [c, n] = decode_utf8(run, at);
      std::string_view raw = run.substr(at, n);
      at += n;
      switch (c) {
        case '\n':
          out->append("\\n", outside);
          continue;
        case '\r':
          out->append("\\r", outside);
          continue;
        case '\t':
          out->append("\\t", outside);
          continue;
        case '\\':
          out->append("\\\\", outside);
          continue;
        default:
          break;
      }
      if (c == static_cast<char32_t>(quote)) {
        out->append("\\", outside);
        out->append(raw, outside);
      } else if ((char_classes(c) & kPrintable) != 0 || (c == 0xFFFD && n == 1)) {
        out->append(raw, outside);
      } else {
        if (c < 0x100)
          append_hex('x', c, 2, outside, out);
        else if (c < 0x10000)
          append_hex('u', c, 4, outside, out);
        else
          append_hex('U', c, 8, outside, out);
      }
    }
  });
  out->append(quote_text, false);
}

class Printer {
 public:
  explicit Printer(Text* out) : out_(*out) {}

  void print(const Value& v) {
    // Far above the limit of one string, where rendering stops: bounds the work on values that
    // share parts.
    constexpr size_t kMaxPrinted = size_t{64} << 20;
    if (out_.size() > kMaxPrinted) return;
    switch (v.type()) {
      case Type::kUndefined:
        put("Undefined");
        return;
      case Type::kNone:
        put("None");
        return;
      case Type::kBool:
        put(v.as_bool() ? "True" : "False");
        return;
      case Type::kInt:
        put(std::to_string(v.as_int()));
        return;
      case Type::kFloat:
        put(v.written() != nullptr ? v.written()->bytes() : format_float(v.as_double()));
        return;
      case Type::kString:
        if (v.text().markup()) put("Markup(");
        append_string_repr(v.text(), &out_);
        if (v.text().markup()) put(")");
        return;
      case Type::kList:
        items(v.items(), "[", "]");
        return;
      case Type::kTuple:
        items(v.items(), "(", v.items().size() == 1 ? ",)" : ")");
        return;
      case Type::kDict:
        dict(v.get<Dict>());
        return;
      case Type::kView:
        view(v.get<View>());
        return;
      case Type::kRange:
        range(v.get<Range>());
        return;
      case Type::kNamespace:
        name_space(v.get<Namespace>());
        return;
      case Type::kMacro:
      case Type::kLoop:
        put(describe_object(v));
        return;
      case Type::kFunction:
        put(fmt::format("<built-in method {}>", v.get<Function>().name));
        return;
      default:
        put(fmt::format("<{} object>", type_name(v)));
        return;
    }
  }

 private:
  void put(std::string_view text) { out_.append(text, false); }

  void items(const Items& items, std::string_view open, std::string_view close) {
    put(open);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i != 0) put(", ");
      print(items[i]);
    }
    put(close);
  }

  void dict(const Dict& dict) {
    put("{");
    bool first = true;
    for (const auto& [key, value] : dict.entries) {
      if (!first) put(", ");
      first = false;
      print(key);
      put(": ");
      print(value);
    }
    put("}");
  }

  void view(const View& view) {
    Items all;
    for (size_t i = 0; i < view.dict.get<Dict>().entries.size(); ++i)
      all.push_back(view_item(view, i));
    items(all,
          view.of == View::Of::kKeys     ? "dict_keys(["
          : view.of == View::Of::kValues ? "dict_values(["
                                         : "dict_items([",
          "])");
  }

  void range(const Range& range) {
    put(fmt::format("range({}, {}", range.start, range.stop));
    put(range.step == 1 ? ")" : fmt::format(", {})", range.step));
  }

  // Namespaces can hold each other and themselves, so only the outermost shows what is inside.
  void name_space(const Namespace& ns) {
    put("<Namespace ");
    if (inside_namespace_) {
      put("...");
    } else {
      inside_namespace_ = true;
      dict(ns.attributes);
      inside_namespace_ = false;
    }
    put(">");
  }

  Text& out_;
  bool inside_namespace_ = false;
};

}  // namespace

void append_repr(const Value& v, Text* out) { Printer(out).print(v); }

Text python_repr(const Value& v) {
  Text out;
  append_repr(v, &out);
  return out;
}

Text python_str(const Value& v) {
  if (v.is_string()) return v.text();
  if (v.is_undefined()) return Text();
  return python_repr(v);
}

namespace {

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, size_t max_bytes) : style_(style), max_bytes_(max_bytes) {}

  Status write(const Value& v, int level) {
    if (out.size() > max_bytes_) {
      return Error{
          ErrorCode::kResourceExhausted,
          fmt::format("tojson wrote more than {} bytes, the limit of one string", max_bytes_)};
    }
    switch (v.type()) {
      case Type::kNone:
        out.append("null", false);
        return {};
      case Type::kBool:
        out.append(v.as_bool() ? "true" : "false", false);
        return {};
      case Type::kInt:
        out.append(std::to_string(v.as_int()), false);
        return {};
      case Type::kFloat:
        if (v.written() != nullptr) {
          out.append(v.written()->bytes(), false);
        } else {
          write_float(v.as_double());
        }
        return {};
      case Type::kString:
        write_string(v.text());
        return {};
      case Type::kList:
      case Type::kTuple:
        return write_list(v.items(), level);
      case Type::kDict:
        return write_dict(v.get<Dict>(), level);
      default:
        return type_error("Object of type {} is not JSON serializable", type_name(v));
    }
  }

  Text out;

 private:
  void write_float(double d) {
    if (std::isnan(d))
      out.append("NaN", false);
    else if (std::isinf(d))
      out.append(d < 0 ? "-Infinity" : "Infinity", false);
    else
      out.append(format_float(d), false);
  }

  void write_char(char32_t c, std::string_view raw, bool outside) {
    switch (c) {
      case '"':
        out.append("\\\"", outside);
        return;
      case '\\':
        out.append("\\\\", outside);
        return;
      case '\n':
        out.append("\\n", outside);
        return;
      case '\r':
        out.append("\\r", outside);
        return;
      case '\t':
        out.append("\\t", outside);
        return;
      case '\b':
        out.append("\\b", outside);
        return;
      case '\f':
        out.append("\\f", outside);
        return;
      default:
        break;
    }
    if (c < 0x20 || (style_.ensure_ascii && c >= 0x7F && c < 0x10000)) {
      append_hex('u', c, 4, outside, &out);
    } else if (style_.ensure_ascii && c >= 0x10000) {
      char32_t v = c - 0x10000;
      append_hex('u', 0xD800 + (v >> 10), 4, outside, &out);
      append_hex('u', 0xDC00 + (v & 0x3FF), 4, outside, &out);
    } else {
      out.append(raw, outside);
    }
  }

  void write_string(const Text& text) {
    out.append("\"", false);
    text.for_each_run([&](std::string_view run, bool outside) {
      size_t plain = 0;  // start of the stretch that needs no escape
      for (size_t at = 0; at < run.size();) {
        auto byte = static_cast<unsigned char>(run[at]);
        bool special =
            byte < 0x20 || byte == '"' || byte == '\\' || (byte >= 0x7F && style_.ensure_ascii);
        if (!special) {
          ++at;
          continue;
        }
        out.append(run.substr(plain, at - plain), outside);
        auto [c, n] = decode_utf8(run, at);
        write_char(c, run.substr(at, n), outside);
        at += n;
        plain = at;
      }
      out.append(run.substr(plain), outside);
    });
    out.append("\"", false);
  }

  void new_line(int level) {
    if (!style_.indented) return;
    out.append("\n", false);
    for (int i = 0; i < level; ++i) out.append(style_.indent);
  }

  Status write_list(const Items& items, int level) {
    if (items.empty()) {
      out.append("[]", false);
      return {};
    }
    out.append("[", false);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i != 0) out.append(style_.item_separator);
      new_line(level + 1);
      T9_TRY(write(items[i], level + 1));
    }
    new_line(level);
    out.append("]", false);
    return {};
  }

  Status write_key(const Value& key) {
    switch (key.type()) {
      case Type::kString:
        write_string(key.text());
        return {};
      case Type::kNone:
      case Type::kBool:
      case Type::kInt:
      case Type::kFloat:
        out.append("\"", false);
        T9_TRY(write(key, 0));
        out.append("\"", false);
        return {};
      default:
        return type_error("keys must be str, int, float, bool or None, not {}", type_name(key));
    }
  }

  Status write_dict(const Dict& dict, int level) {
    if (dict.entries.empty()) {
      out.append("{}", false);
      return {};
    }
    std::vector<const std::pair<Value, Value>*> order;
    for (const auto& entry : dict.entries) order.push_back(&entry);
    if (style_.sort_keys) {
      Status failed;
      std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
        if (!failed) return false;
        Result<bool> before = less(a->first, b->first);
        if (!before) failed = before.error();
        return before && *before;
      });
      T9_TRY(failed);
    }
    out.append("{", false);
    for (size_t i = 0; i < order.size(); ++i) {
      if (i != 0) out.append(style_.item_separator);
      new_line(level + 1);
      T9_TRY(write_key(order[i]->first));
      out.append(style_.key_separator);
      T9_TRY(write(order[i]->second, level + 1));
    }
    new_line(level);
    out.append("}", false);
    return {};
  }

  const JsonStyle& style_;
  size_t max_bytes_;
};

}  // namespace

Result<Text> json_dumps(const Value& v, const JsonStyle& style, size_t max_bytes) {
  JsonWriter writer(style, max_bytes);
  T9_TRY(writer.write(v, 0));
  return std::move(writer.out);
}

}  // namespace tempo9::chat::jinja
