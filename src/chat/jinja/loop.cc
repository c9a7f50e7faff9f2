#include "chat/jinja/loop.h"

#include <algorithm>

#include "chat/jinja/args.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/unicode.h"

namespace tempo9::chat::jinja {

Result<Cursor> Cursor::over(const Value& v) {
  switch (v.type()) {
    case Type::kUndefined:
    case Type::kString:
    case Type::kList:
    case Type::kTuple:
    case Type::kDict:
    case Type::kView:
    case Type::kRange:
    case Type::kIterator:
    case Type::kLoop:
      return Cursor(v);
    default:
      return type_error("'{}' object is not iterable", type_name(v));
  }
}

Value view_item(const View& view, size_t at) {
  const auto& [key, value] = view.dict.get<Dict>().entries[at];
  if (view.of == View::Of::kKeys) return key;
  if (view.of == View::Of::kValues) return value;
  return Value::tuple({key, value});
}

Result<std::optional<Value>> Cursor::next() {
  using Item = std::optional<Value>;
  switch (value_.type()) {
    case Type::kString: {
      const Text& text = value_.text();
      if (at_ >= text.size()) return Item();
      size_t begin = at_;
      at_ += decode_utf8(text.view(), at_).n_bytes;
      return Item(Value::string(text.slice(begin, at_)));
    }
    case Type::kList:
    case Type::kTuple:
      if (at_ >= value_.items().size()) return Item();
      return Item(value_.items()[at_++]);
    case Type::kDict:
      if (at_ >= value_.get<Dict>().entries.size()) return Item();
      return Item(value_.get<Dict>().entries[at_++].first);
    case Type::kView:
      if (at_ >= value_.get<View>().dict.get<Dict>().entries.size()) return Item();
      return Item(view_item(value_.get<View>(), at_++));
    case Type::kRange:
      if (static_cast<int64_t>(at_) >= value_.get<Range>().size()) return Item();
      return Item(Value::integer(value_.get<Range>().at(static_cast<int64_t>(at_++))));
    case Type::kIterator: {
      auto& it = value_.get_mutable<Iterator>();
      if (it.next < it.items.size()) return Item(it.items[it.next++]);
      if (it.error) {
        Error error = *std::exchange(it.error, std::nullopt);
        return error;
      }
      return Item();
    }
    case Type::kLoop: {
      auto& loop = value_.get_mutable<Loop>();
      T9_TRY(bool more, loop.advance());
      if (!more) return Item();
      return Item(Value::tuple({loop.current, value_}));
    }
    default:
      return Item();  // undefined: nothing
  }
}

std::optional<int64_t> length_of(const Value& v) {
  switch (v.type()) {
    case Type::kUndefined:
      return 0;
    case Type::kString: {
      const auto& object = v.get<TextObject>();
      if (object.n_chars < 0)
        object.n_chars = static_cast<int64_t>(count_chars(object.text.view()));
      return object.n_chars;
    }
    case Type::kList:
    case Type::kTuple:
      return static_cast<int64_t>(v.items().size());
    case Type::kDict:
      return static_cast<int64_t>(v.get<Dict>().entries.size());
    case Type::kView:
      return length_of(v.get<View>().dict);
    case Type::kRange:
      return v.get<Range>().size();
    default:
      return std::nullopt;
  }
}

Status Loop::fill(size_t n) {
  while (!exhausted && pending.size() < n) {
    T9_TRY(std::optional<Value> item, pull());
    if (item)
      pending.push_back(std::move(*item));
    else
      exhausted = true;
  }
  return {};
}

Result<bool> Loop::advance() {
  T9_TRY(fill(1));
  if (pending.empty()) return false;
  ++index0;
  previous = std::move(current);
  current = std::move(pending.front());
  pending.pop_front();
  return true;
}

Result<int64_t> Loop::total() {
  if (!length) {
    T9_TRY(fill(SIZE_MAX));
    length = index0 + 1 + static_cast<int64_t>(pending.size());
  }
  return *length;
}

namespace {

Value bound(std::string_view name, const Value& self, Native call) {
  auto function = std::make_shared<Function>();
  function->name = std::string(name);
  function->self = self;
  function->contain(self);
  function->call = call;
  return Value::object(Type::kFunction, std::move(function));
}

Result<Value> loop_cycle(Interpreter&, const Value& self, const Args& args) {
  if (args.positional.empty()) return type_error("no items for cycling given");
  auto n = static_cast<int64_t>(args.positional.size());
  return args.positional[static_cast<size_t>(self.get<Loop>().index0 % n)];
}

Result<Value> loop_changed(Interpreter&, const Value& self, const Args& args) {
  auto& loop = self.get_mutable<Loop>();
  const Items& now = args.positional;
  bool same = loop.last_changed && loop.last_changed->size() == now.size() &&
              std::equal(now.begin(), now.end(), loop.last_changed->begin(), equal);
  if (!same) loop.last_changed = now;
  return Value::boolean(!same);
}

using Found = std::optional<Value>;

Result<Found> loop_attribute(const Value& object, std::string_view name) {
  auto& loop = object.get_mutable<Loop>();
  auto integer = [](int64_t i) { return Found(Value::integer(i)); };
  if (name == "index") return integer(loop.index0 + 1);
  if (name == "index0") return integer(loop.index0);
  if (name == "first") return Found(Value::boolean(loop.index0 == 0));
  if (name == "depth") return integer(loop.depth0 + 1);
  if (name == "depth0") return integer(loop.depth0);
  if (name == "cycle") return Found(bound(name, object, loop_cycle));
  if (name == "changed") return Found(bound(name, object, loop_changed));
  if (name == "length" || name == "revindex" || name == "revindex0") {
    T9_TRY(int64_t total, loop.total());
    return integer(name == "length"     ? total
                   : name == "revindex" ? total - loop.index0
                                        : total - loop.index0 - 1);
  }
  if (name == "previtem") {
    return Found(loop.index0 == 0 ? Value::undefined_hint("there is no previous item")
                                  : loop.previous);
  }
  if (name == "last" || name == "nextitem") {
    T9_TRY(loop.fill(1));
    bool last = loop.pending.empty();
    if (name == "last") return Found(Value::boolean(last));
    return Found(last ? Value::undefined_hint("there is no next item") : loop.pending.front());
  }
  return Found();
}

Found macro_attribute(const Value& object, std::string_view name) {
  const auto& macro = object.get<Macro>();
  const Stmt& s = *macro.stmt;
  if (name == "name") return macro.anonymous ? Value::none() : Value::string(s.name);
  if (name == "caller") return Value::boolean(s.uses_caller);
  if (name == "catch_kwargs") return Value::boolean(s.uses_kwargs);
  if (name == "catch_varargs") return Value::boolean(s.uses_varargs);
  if (name != "arguments") return {};
  Items names;
  for (NameId param : s.params)
    names.push_back(Value::string(macro.tree->names[static_cast<size_t>(param)]));
  return Value::tuple(std::move(names));
}

Result<Value> cycler_next(Interpreter&, const Value& self, const Args&) {
  auto& cycler = self.get_mutable<Cycler>();
  Value current = cycler.items[cycler.pos];
  cycler.pos = (cycler.pos + 1) % cycler.items.size();
  return current;
}

Result<Value> cycler_reset(Interpreter&, const Value& self, const Args&) {
  self.get_mutable<Cycler>().pos = 0;
  return Value::none();
}

Found cycler_attribute(const Value& object, std::string_view name) {
  const auto& cycler = object.get<Cycler>();
  if (name == "current") return cycler.items[cycler.pos];
  if (name == "pos") return Value::integer(static_cast<int64_t>(cycler.pos));
  if (name == "items") return Value::tuple(cycler.items);
  if (name == "next") return bound(name, object, cycler_next);
  if (name == "reset") return bound(name, object, cycler_reset);
  return {};
}

}  // namespace

Result<std::optional<Value>> special_attribute(const Value& object, std::string_view name) {
  switch (object.type()) {
    case Type::kLoop:
      return loop_attribute(object, name);
    case Type::kMacro:
      return macro_attribute(object, name);
    case Type::kCycler:
      return cycler_attribute(object, name);
    case Type::kNamespace: {
      const Value* v = object.get<Namespace>().attributes.find(name);
      return v == nullptr ? Found() : Found(*v);
    }
    case Type::kRange: {
      const Range& range = object.get<Range>();
      if (name == "start") return Found(Value::integer(range.start));
      if (name == "stop") return Found(Value::integer(range.stop));
      if (name == "step") return Found(Value::integer(range.step));
      break;
    }
    case Type::kTuple:
      if (!object.get<ItemsObject>().is_group) break;
      if (name == "grouper") return Found(object.items()[0]);
      if (name == "list") return Found(object.items()[1]);
      break;
    case Type::kBool:
    case Type::kInt:
      if (name == "real" || name == "numerator") return Found(Value::integer(object.as_int()));
      if (name == "imag") return Found(Value::integer(0));
      if (name == "denominator") return Found(Value::integer(1));
      break;
    case Type::kFloat:
      if (name == "real") return Found(object);
      if (name == "imag") return Found(Value::real(0));
      break;
    default:
      break;
  }
  if (Native method = find_method(object, name)) return Found(bound(name, object, method));
  return Found();
}

std::string describe_object(const Value& v) {
  if (v.is(Type::kMacro)) {
    const auto& macro = v.get<Macro>();
    return macro.anonymous ? "<Macro anonymous>" : "<Macro '" + macro.stmt->name + "'>";
  }
  auto& loop = v.get_mutable<Loop>();
  Result<int64_t> total = loop.total();
  return fmt::format("<LoopContext {}/{}>", loop.index0 + 1, total ? *total : 0);
}

}  // namespace tempo9::chat::jinja
