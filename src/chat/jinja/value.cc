#include "chat/jinja/value.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "chat/exact_json.h"
#include "chat/jinja/print.h"

namespace tempo9::chat::jinja {

void Object::deepen(const Value& v) { depth = std::max(depth, v.depth() + 1); }

void Object::contain(const Value& v) {
  constexpr uint64_t kEnough = uint64_t{1} << 40;  // saturates far above every limit
  deepen(v);
  weight = std::min(kEnough, weight + v.weight());
}

Value Value::boolean(bool b) {
  Value v(Type::kBool);
  v.number_.i = b ? 1 : 0;
  return v;
}

Value Value::integer(int64_t i) {
  Value v(Type::kInt);
  v.number_.i = i;
  return v;
}

Value Value::written_number(double d, std::string text) {
  Value v = real(d);
  v.object_ = std::make_shared<TextObject>(Text(std::move(text), false));
  return v;
}

const Text* Value::written() const {
  return type_ == Type::kFloat && object_ != nullptr
             ? &static_cast<const TextObject*>(object_.get())->text
             : nullptr;
}

Value Value::real(double d) {
  Value v(Type::kFloat);
  v.number_.d = d;
  return v;
}

Value Value::string(Text text) {
  return object(Type::kString, std::make_shared<TextObject>(std::move(text)));
}

Value Value::string(std::string_view bytes, bool outside) {
  return string(Text(std::string(bytes), outside));
}

Value Value::list(Items items) {
  return object(Type::kList, std::make_shared<ItemsObject>(std::move(items)));
}

Value Value::tuple(Items items) {
  return object(Type::kTuple, std::make_shared<ItemsObject>(std::move(items)));
}

Value Value::undefined_hint(std::string hint, bool) {
  auto u = std::make_shared<Undefined>();
  u->hint = std::move(hint);
  return object(Type::kUndefined, std::move(u));
}

Value Value::undefined_name(std::string_view name) {
  auto u = std::make_shared<Undefined>();
  u->key = string(name);
  return object(Type::kUndefined, std::move(u));
}

Value Value::undefined_member(Value object_of, Value key) {
  auto u = std::make_shared<Undefined>();
  u->has_object = true;
  u->contain(object_of);
  u->object = std::move(object_of);
  u->key = std::move(key);
  return object(Type::kUndefined, std::move(u));
}

const Text& Value::text() const { return get<TextObject>().text; }
const Items& Value::items() const { return get<ItemsObject>().items; }

std::string Undefined::message() const {
  if (!hint.empty()) return hint;
  std::string name = python_repr(key).bytes();
  if (!has_object) return name + " is undefined";
  std::string of = object_type_repr(object);
  if (!key.is_string()) return of + " has no element " + name;
  return "'" + of + "' has no attribute " + name;
}

Error template_error(std::string words) { return {ErrorCode::kInvalidArgument, std::move(words)}; }

Error undefined_error(const Value& undefined) {
  if (undefined.identity() == nullptr) return template_error("None is undefined");
  return template_error(undefined.get<Undefined>().message());
}

const Value* Dict::find(std::string_view key) const {
  auto it = by_string_.find(std::string(key));
  return it == by_string_.end() ? nullptr : &entries[it->second].second;
}

const Value* Dict::find(const Value& key) const {
  if (key.is_string()) return find(key.text().view());
  for (const auto& [k, v] : entries) {
    if (!k.is_string() && equal(k, key)) return &v;
  }
  return nullptr;
}

void Dict::set(Value key, Value value) {
  contain(value);
  if (const Value* found = find(key)) {
    *const_cast<Value*>(found) = std::move(value);  // entries is ours and not const here
    return;
  }
  contain(key);
  if (key.is_string()) by_string_.emplace(key.text().bytes(), entries.size());
  entries.emplace_back(std::move(key), std::move(value));
}

int64_t Range::size() const {
  if (step > 0) return start < stop ? (stop - start - 1) / step + 1 : 0;
  return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

std::string type_name(const Value& v) {
  switch (v.type()) {
    case Type::kUndefined:
      return "Undefined";
    case Type::kNone:
      return "NoneType";
    case Type::kBool:
      return "bool";
    case Type::kInt:
      return "int";
    case Type::kFloat:
      return "float";
    case Type::kString:
      return v.text().markup() ? "Markup" : "str";
    case Type::kList:
      return "list";
    case Type::kTuple:
      return "tuple";
    case Type::kDict:
      return "dict";
    case Type::kView:
      switch (v.get<View>().of) {
        case View::Of::kKeys:
          return "dict_keys";
        case View::Of::kValues:
          return "dict_values";
        case View::Of::kItems:
          return "dict_items";
      }
      return "dict_items";
    case Type::kRange:
      return "range";
    case Type::kIterator:
      return v.get<Iterator>().type_name;
    case Type::kNamespace:
      return "Namespace";
    case Type::kFunction:
      return "builtin_function_or_method";
    case Type::kMacro:
      return "Macro";
    case Type::kLoop:
      return "LoopContext";
    case Type::kCycler:
      return "Cycler";
    case Type::kJoiner:
      return "Joiner";
  }
  return "object";
}

std::string object_type_repr(const Value& v) {
  switch (v.type()) {
    case Type::kNone:
      return "None";
    case Type::kUndefined:
      return "jinja2.runtime.Undefined object";
    case Type::kString:
      if (v.text().markup()) return "markupsafe.Markup object";
      break;
    case Type::kNamespace:
    case Type::kCycler:
    case Type::kJoiner:
      return "jinja2.utils." + type_name(v) + " object";
    case Type::kMacro:
    case Type::kLoop:
      return "jinja2.runtime." + type_name(v) + " object";
    default:
      break;
  }
  return type_name(v) + " object";
}

bool truthy(const Value& v) {
  switch (v.type()) {
    case Type::kUndefined:
    case Type::kNone:
      return false;
    case Type::kBool:
    case Type::kInt:
      return v.as_int() != 0;
    case Type::kFloat:
      return v.as_double() != 0;
    case Type::kString:
      return !v.text().empty();
    case Type::kList:
    case Type::kTuple:
      return !v.items().empty();
    case Type::kDict:
      return !v.get<Dict>().entries.empty();
    case Type::kView:
      return truthy(v.get<View>().dict);
    case Type::kRange:
      return v.get<Range>().size() != 0;
    default:
      return true;
  }
}

namespace {

bool equal_numbers(const Value& a, const Value& b) {
  if (a.is_intlike() && b.is_intlike()) return a.as_int() == b.as_int();
  return a.as_double() == b.as_double();
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  return std::all_of(a.entries.begin(), a.entries.end(), [&](const auto& entry) {
    const Value* other = b.find(entry.first);
    return other != nullptr && equal(entry.second, *other);
  });
}

}  // namespace

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return equal_numbers(a, b);
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case Type::kUndefined:
    case Type::kNone:
      return true;
    case Type::kString:
      return a.text().bytes() == b.text().bytes();
    case Type::kList:
    case Type::kTuple: {
      const Items &x = a.items(), &y = b.items();
      return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), equal);
    }
    case Type::kDict:
      return equal_dicts(a.get<Dict>(), b.get<Dict>());
    case Type::kView:
      return a.get<View>().of == b.get<View>().of && a.get<View>().of != View::Of::kValues &&
             equal(a.get<View>().dict, b.get<View>().dict);
    case Type::kRange: {
      const Range &x = a.get<Range>(), &y = b.get<Range>();
      if (x.size() != y.size()) return false;
      return x.size() == 0 || (x.start == y.start && (x.size() == 1 || x.step == y.step));
    }
    default:
      return a.identity() == b.identity();
  }
}

Result<bool> less(const Value& a, const Value& b, std::string_view op) {
  if (a.is_undefined()) return undefined_error(a);
  if (b.is_undefined()) return undefined_error(b);
  if (a.is_number() && b.is_number()) {
    if (a.is_intlike() && b.is_intlike()) return a.as_int() < b.as_int();
    return a.as_double() < b.as_double();
  }
  // The order of UTF-8 bytes is the order of code points.
  if (a.is_string() && b.is_string()) return a.text().bytes() < b.text().bytes();
  if (a.is_sequence() && a.type() == b.type()) {
    const Items &x = a.items(), &y = b.items();
    for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
      if (!equal(x[i], y[i])) return less(x[i], y[i], op);
    }
    return x.size() < y.size();
  }
  return type_error("'{}' not supported between instances of '{}' and '{}'", op, type_name(a),
                    type_name(b));
}

Status check_hashable(const Value& v) {
  if (v.is(Type::kList) || v.is(Type::kDict)) {
    return type_error("unhashable type: '{}'", type_name(v));
  }
  if (v.is(Type::kTuple)) {
    for (const Value& item : v.items()) T9_TRY(check_hashable(item));
  }
  return {};
}

Value from_json(const Json& value, bool outside) {
  switch (value.type()) {
    case Json::value_t::boolean:
      return Value::boolean(value.get<bool>());
    case Json::value_t::number_integer:
      return Value::integer(value.get<int64_t>());
    case Json::value_t::number_unsigned: {
      auto u = value.get<uint64_t>();
      if (u > static_cast<uint64_t>(INT64_MAX)) return Value::real(static_cast<double>(u));
      return Value::integer(static_cast<int64_t>(u));
    }
    case Json::value_t::number_float:
      return Value::real(value.get<double>());
    case Json::value_t::string:
      return Value::string(value.get_ref<const std::string&>(), outside);
    case Json::value_t::array: {
      Items items;
      items.reserve(value.size());
      for (const Json& item : value) items.push_back(from_json(item, outside));
      return Value::list(std::move(items));
    }
    case Json::value_t::object: {
      auto dict = std::make_shared<Dict>();
      for (const auto& [key, item] : value.items()) {
        dict->set(Value::string(key, outside), from_json(item, outside));
      }
      return Value::object(Type::kDict, std::move(dict));
    }
    case Json::value_t::binary: {  // see exact_json.h
      const Json::binary_t& text = value.get_binary();
      return Value::written_number(to_double(value), std::string(text.begin(), text.end()));
    }
    default:
      return Value::none();
  }
}

}  // namespace tempo9::chat::jinja
