// The values of the template language: Python's, as far as a template can tell.
//
// Everything but Namespace, Iterator and loop state is immutable and shared (the sandbox of the
// reference forbids changing lists and dicts), so copying a Value is cheap.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "chat/jinja/text.h"

namespace tempo9::chat {
using Json = nlohmann::ordered_json;  // as in chat/message.h, which this header need not read
}

namespace tempo9::chat::jinja {

class Interpreter;
class Value;

enum class Type : uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kView,  // d.keys(), d.values(), d.items()
  kRange,
  kIterator,  // generators and reversed(): read once
  kNamespace,
  kFunction,  // built-in functions and bound methods
  kMacro,
  kLoop,
  kCycler,
  kJoiner,
};

using Items = std::vector<Value>;

// depth: nesting of values inside; weight: how many values a walk meets, counting shared ones each
// time. Both are checked after every evaluated node, so that printing, comparing and destroying a
// value are bounded.
struct Object {
  virtual ~Object() = default;
  uint32_t depth = 0;
  uint64_t weight = 1;
  void contain(const Value& v);  // v is now inside this object
  void deepen(const Value& v);   // the same for what is not walked by value: only depth counts
};

class Value {
 public:
  Value() = default;  // undefined without a name
  static Value none() { return Value(Type::kNone); }
  static Value boolean(bool b);
  static Value integer(int64_t i);
  static Value real(double d);
  // A number that prints as it was written: integers that no 64-bit type holds, 2.50. It counts as
  // a float.
  static Value written_number(double d, std::string text);
  static Value string(Text text);
  static Value string(std::string_view bytes, bool outside = false);
  static Value list(Items items);
  static Value tuple(Items items);
  static Value undefined_hint(std::string hint, bool security = false);
  static Value undefined_name(std::string_view name);
  static Value undefined_member(Value object, Value key);
  template <typename T>
  static Value object(Type type, std::shared_ptr<T> object) {
    Value v(type);
    v.object_ = std::move(object);
    return v;
  }

  Type type() const { return type_; }
  bool is(Type type) const { return type_ == type; }
  bool is_undefined() const { return type_ == Type::kUndefined; }
  bool is_string() const { return type_ == Type::kString; }
  bool is_number() const { return type_ == Type::kBool || is_int() || type_ == Type::kFloat; }
  bool is_int() const { return type_ == Type::kInt; }
  bool is_intlike() const { return is_int() || type_ == Type::kBool; }  // bool is an int in Python
  bool is_sequence() const { return type_ == Type::kList || type_ == Type::kTuple; }

  bool as_bool() const { return number_.i != 0; }
  int64_t as_int() const { return number_.i; }  // kInt, kBool
  double as_double() const {
    return type_ == Type::kFloat ? number_.d : static_cast<double>(number_.i);
  }
  const Text* written() const;  // of a written_number; null for all else
  const Text& text() const;     // kString
  const Items& items() const;   // kList, kTuple
  template <typename T>
  const T& get() const {
    return *static_cast<const T*>(object_.get());
  }
  template <typename T>
  T& get_mutable() const {
    return *static_cast<T*>(object_.get());
  }
  const Object* identity() const { return object_.get(); }
  uint32_t depth() const { return object_ ? object_->depth : 0; }
  uint64_t weight() const { return object_ ? object_->weight : 1; }

 private:
  explicit Value(Type type) : type_(type) {}
  Type type_ = Type::kUndefined;
  union {
    int64_t i = 0;
    double d;
  } number_;
  std::shared_ptr<Object> object_;
};

struct TextObject : Object {
  explicit TextObject(Text t) : text(std::move(t)) { weight = 1 + text.size() / 32; }
  Text text;
  mutable int64_t n_chars = -1;  // counted when first asked for
};
struct ItemsObject : Object {
  bool is_group = false;  // of groupby: .grouper and .list name its two items
  explicit ItemsObject(Items i) : items(std::move(i)) {
    for (const Value& v : items) contain(v);
  }
  Items items;
};
struct Undefined : Object {
  std::string hint;         // wins over the rest
  bool has_object = false;  // of a missing attribute or element
  Value object, key;
  std::string message() const;
};

// Keeps the order of insertion. Keys compare as in Python (1 == 1.0 == True).
struct Dict : Object {
  std::vector<std::pair<Value, Value>> entries;
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(Value key, Value value);

 private:
  std::unordered_map<std::string, size_t> by_string_;
};
struct View : Object {
  enum class Of { kKeys, kValues, kItems };
  Of of = Of::kKeys;
  Value dict;
};
struct Range : Object {
  int64_t start = 0, stop = 0, step = 1;
  int64_t size() const;
  int64_t at(int64_t i) const { return start + i * step; }
};
// Computed when made; an error that lies behind the last item is raised only by who reads that far,
// as a generator would.
struct Iterator : Object {
  std::string type_name = "generator";
  Items items;
  size_t next = 0;
  std::optional<Error> error;
};
struct Namespace : Object {
  Dict attributes;
};
struct Args {
  Items positional;
  std::vector<std::pair<std::string, Value>> keyword;
};
using Native = Result<Value> (*)(Interpreter& interpreter, const Value& self, const Args& args);
struct Function : Object {
  std::string name;
  Value self;  // undefined for a free function
  Native call = nullptr;
};
struct Cycler : Object {
  Items items;
  size_t pos = 0;
};
struct Joiner : Object {
  Value separator;
  bool used = false;
};

// Python's type(x).__name__, and object_type_repr as the reference words it ("dict object",
// "None").
std::string type_name(const Value& v);
std::string object_type_repr(const Value& v);

// An exception of Python's own. TemplateErrors carry their words alone.
template <typename... A>
Error python_error(std::string_view type, fmt::format_string<A...> format, A&&... args) {
  return Error{ErrorCode::kInvalidArgument,
               std::string(type) + ": " + fmt::format(format, std::forward<A>(args)...)};
}
template <typename... A>
Error type_error(fmt::format_string<A...> format, A&&... args) {
  return python_error("TypeError", format, std::forward<A>(args)...);
}
template <typename... A>
Error value_error(fmt::format_string<A...> format, A&&... args) {
  return python_error("ValueError", format, std::forward<A>(args)...);
}
Error template_error(std::string words);
Error undefined_error(const Value& undefined);

bool truthy(const Value& v);
// Never fails: values of different kinds are not equal.
bool equal(const Value& a, const Value& b);
// a < b. Errors: TypeError (worded with op), UndefinedError.
Result<bool> less(const Value& a, const Value& b, std::string_view op = "<");
// Errors: TypeError for lists and dicts, as for a key of a dict.
Status check_hashable(const Value& v);

// outside: strings of value are marked as such.
Value from_json(const Json& value, bool outside);

}  // namespace tempo9::chat::jinja
