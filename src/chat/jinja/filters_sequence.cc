// Filters on sequences and mappings.
#include <algorithm>
#include <functional>
#include <numeric>

#include "chat/jinja/args.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/print.h"
#include "chat/jinja/text_ops.h"

namespace tempo9::chat::jinja {
namespace {

// "a.b.0" as the keys to follow; an attribute that is not a string is one key.
Items attribute_path(const Value& attribute) {
  if (attribute.is(Type::kNone)) return {};
  if (!attribute.is_string()) return {attribute};
  Items path;
  Text dot(".");
  for (const Text& part : split(attribute.text(), &dot, -1)) {
    const std::string& s = part.bytes();
    bool digits = !s.empty() && s.size() < 10 &&
                  std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
    path.push_back(digits ? Value::integer(std::stol(s)) : Value::string(part));
  }
  return path;
}

// otherwise: takes the place of what is undefined, when not null.
Result<Value> follow(I& in, Value item, const Items& path, const Value* otherwise = nullptr) {
  for (const Value& key : path) {
    T9_TRY(item, in.get_item(item, key));
    if (item.is_undefined() && otherwise != nullptr) item = *otherwise;
  }
  return item;
}

Value ignore_case(const Value& v) {
  return v.is_string() ? Value::string(to_case(v.text(), Case::kLower)) : v;
}

Value make_iterator(Items items, std::optional<Error> error = std::nullopt,
                    std::string type_name = "generator") {
  auto it = std::make_shared<Iterator>();
  it->type_name = std::move(type_name);
  for (const Value& v : items) it->contain(v);
  it->items = std::move(items);
  it->error = std::move(error);
  return Value::object(Type::kIterator, std::move(it));
}

// Runs f over the items as a generator would: what fails, fails for who reads that far.
// f appends to its output or returns an error.
Result<Value> generate(I& in, const Value& v,
                       const std::function<Status(const Value&, Items*)>& f) {
  Items out;
  Result<Cursor> cursor = Cursor::over(v);
  if (!cursor) return make_iterator({}, cursor.error());
  for (;;) {
    T9_TRY(in.charge(1));
    Result<std::optional<Value>> item = cursor->next();
    if (!item) return make_iterator(std::move(out), item.error());
    if (!*item) return make_iterator(std::move(out));
    if (Status status = f(**item, &out); !status) {
      if (status.error().code == ErrorCode::kResourceExhausted) return status.error();
      return make_iterator(std::move(out), status.error());
    }
  }
}

// Order of the items by their keys, stable; equal ones keep their order in both directions.
Result<std::vector<size_t>> sorted_order(I& in, const Items& keys, bool reverse) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Status status;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (!status) return false;
    if (reverse) std::swap(a, b);
    status = in.charge(std::min(keys[a].weight(), keys[b].weight()));
    if (!status) return false;
    Result<bool> before = less(keys[a], keys[b]);
    if (!before) status = before.error();
    return before && *before;
  });
  T9_TRY(status);
  return order;
}

Result<Value> length(I&, const Value& v, const Args& args) {
  T9_TRY(bind("length", args, {}));
  if (v.is(Type::kLoop)) {
    T9_TRY(int64_t total, v.get_mutable<Loop>().total());
    return Value::integer(total);
  }
  std::optional<int64_t> n = length_of(v);
  if (!n) return type_error("object of type '{}' has no len()", type_name(v));
  return Value::integer(*n);
}

Result<Value> first(I&, const Value& v, const Args& args) {
  T9_TRY(bind("first", args, {}));
  T9_TRY(Cursor cursor, Cursor::over(v));
  T9_TRY(std::optional<Value> item, cursor.next());
  if (!item) return Value::undefined_hint("No first item, sequence was empty.");
  return std::move(*item);
}

Result<Value> last(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("last", args, {}));
  if (v.is(Type::kIterator) || v.is(Type::kLoop))
    return type_error("'{}' object is not reversible", type_name(v));
  Result<Items> items = in.items_of(v);
  if (!items) return type_error("'{}' object is not reversible", type_name(v));
  if (items->empty()) return Value::undefined_hint("No last item, sequence was empty.");
  return items->back();
}

Result<Value> list(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("list", args, {}));
  T9_TRY(Items items, in.items_of(v));
  return in.make_list(std::move(items));
}

Result<Value> reverse(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("reverse", args, {}));
  Result<Items> items = in.items_of(v);
  if (!items) return template_error("argument must be iterable");
  std::reverse(items->begin(), items->end());
  if (v.is_string()) {
    Text out;
    for (const Value& c : *items) out.append(c.text());
    out.set_markup(v.text().markup());
    return in.make_text(std::move(out));
  }
  if (v.is(Type::kIterator) || v.is(Type::kLoop)) return in.make_list(std::move(*items));
  std::string name = v.is(Type::kList)    ? "list_reverseiterator"
                     : v.is(Type::kDict)  ? "dict_reversekeyiterator"
                     : v.is(Type::kRange) ? "range_iterator"
                                          : "reversed";
  return make_iterator(std::move(*items), std::nullopt, std::move(name));
}

Result<Value> join_filter(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("join", args, {"d", "attribute"}));
  Text separator = b.has(0) ? python_str(b[0]) : Text();
  Items path = b.some(1) ? attribute_path(b[1]) : Items();
  T9_TRY(Items items, in.items_of(v));
  Text out;
  for (size_t i = 0; i < items.size(); ++i) {
    T9_TRY(Value item, follow(in, items[i], path));
    T9_TRY(in.charge(item.weight()));
    if (i != 0) out.append(separator);
    out.append(python_str(item));
    T9_TRY(in.charge_text(separator.size()));
    if (out.size() > in.limits().max_bytes) T9_TRY(in.charge_text(out.size()));
  }
  return in.make_text(std::move(out));
}

Result<Value> sort(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("sort", args, {"reverse", "case_sensitive", "attribute"}));
  bool fold = !b.flag(1);
  std::vector<Items> paths;
  if (b.some(2) && b[2].is_string()) {
    Text comma(",");
    for (const Text& part : split(b[2].text(), &comma, -1))
      paths.push_back(attribute_path(Value::string(part)));
  } else {
    paths.push_back(b.some(2) ? attribute_path(b[2]) : Items());
  }
  T9_TRY(Items items, in.items_of(v));
  Items keys;
  for (const Value& item : items) {
    Items key;
    for (const Items& path : paths) {
      T9_TRY(Value part, follow(in, item, path));
      key.push_back(fold ? ignore_case(part) : part);
    }
    keys.push_back(Value::list(std::move(key)));
  }
  T9_TRY(std::vector<size_t> order, sorted_order(in, keys, b.flag(0)));
  Items out;
  for (size_t i : order) out.push_back(items[i]);
  return in.make_list(std::move(out));
}

Result<Value> unique(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("unique", args, {"case_sensitive", "attribute"}));
  bool fold = !b.flag(0);
  Items path = b.some(1) ? attribute_path(b[1]) : Items();
  auto seen = std::make_shared<Dict>();
  return generate(in, v, [&, seen](const Value& item, Items* out) -> Status {
    T9_TRY(Value key, follow(in, item, path));
    if (fold) key = ignore_case(key);
    T9_TRY(check_hashable(key));
    if (!key.is_string()) T9_TRY(in.charge(seen->entries.size()));
    if (seen->find(key) != nullptr) return {};
    seen->set(key, Value::none());
    out->push_back(item);
    return {};
  });
}

template <bool is_max>
Result<Value> extreme(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind(is_max ? "max" : "min", args, {"case_sensitive", "attribute"}));
  bool fold = !b.flag(0);
  Items path = b.some(1) ? attribute_path(b[1]) : Items();
  T9_TRY(Items items, in.items_of(v));
  if (items.empty()) return Value::undefined_hint("No aggregated item, sequence was empty.");
  Value best, best_key;
  for (size_t i = 0; i < items.size(); ++i) {
    T9_TRY(Value key, follow(in, items[i], path));
    if (fold) key = ignore_case(key);
    bool better = i == 0;
    if (!better) {
      T9_TRY(better, is_max ? less(best_key, key, ">") : less(key, best_key));
    }
    if (!better) continue;
    best = items[i];
    best_key = std::move(key);
  }
  return best;
}

Result<Value> sum(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("sum", args, {"attribute", "start"}));
  Items path = b.some(0) ? attribute_path(b[0]) : Items();
  Value total = b.has(1) ? b[1] : Value::integer(0);
  if (total.is_string()) return type_error("sum() can't sum strings [use ''.join(seq) instead]");
  T9_TRY(Items items, in.items_of(v));
  for (const Value& item : items) {
    T9_TRY(Value part, follow(in, item, path));
    T9_TRY(total, binary_op(in, "+", total, part));
  }
  return total;
}

Result<Value> map(I& in, const Value& v, const Args& args) {
  if (!truthy(v)) return make_iterator({});
  Args rest = args;
  bool by_attribute =
      args.positional.empty() && std::any_of(args.keyword.begin(), args.keyword.end(),
                                             [](const auto& k) { return k.first == "attribute"; });
  if (by_attribute) {
    Result<Bound> b = bind("map", args, {"attribute", "default"});
    if (!b) {
      return make_iterator({}, template_error(fmt::format("Unexpected keyword argument '{}'",
                                                          args.keyword.back().first)));
    }
    Items path = attribute_path((*b)[0]);
    Value otherwise = b->some(1) ? (*b)[1] : Value();
    bool has_default = b->some(1);
    return generate(in, v, [&](const Value& item, Items* out) -> Status {
      T9_TRY(Value found, follow(in, item, path, has_default ? &otherwise : nullptr));
      out->push_back(std::move(found));
      return {};
    });
  }
  if (args.positional.empty())
    return make_iterator({}, template_error("map requires a filter argument"));
  std::string name = python_str(args.positional[0]).bytes();
  rest.positional.erase(rest.positional.begin());
  return generate(in, v, [&](const Value& item, Items* out) -> Status {
    T9_TRY(Value mapped, in.apply_filter(name, item, rest));
    out->push_back(std::move(mapped));
    return {};
  });
}

template <bool keeps, bool by_attribute>
Result<Value> select(I& in, const Value& v, const Args& args) {
  if (!truthy(v)) return make_iterator({});
  Args rest = args;
  Items path;
  if (by_attribute) {
    if (rest.positional.empty())
      return make_iterator({}, template_error("Missing parameter for attribute name"));
    path = attribute_path(rest.positional[0]);
    rest.positional.erase(rest.positional.begin());
  }
  std::string test;
  if (!rest.positional.empty()) {
    test = python_str(rest.positional[0]).bytes();
    rest.positional.erase(rest.positional.begin());
  }
  return generate(in, v, [&](const Value& item, Items* out) -> Status {
    T9_TRY(Value tested, follow(in, item, path));
    T9_TRY(bool yes,
           test.empty() ? Result<bool>(truthy(tested)) : in.apply_test(test, tested, rest));
    if (yes == keeps) out->push_back(item);
    return {};
  });
}

Result<Value> groupby(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("groupby", args, {"attribute", "default", "case_sensitive"}, 1));
  Items path = attribute_path(b[0]);
  bool fold = !b.flag(2);
  const Value* otherwise = b.some(1) ? &b[1] : nullptr;
  T9_TRY(Items items, in.items_of(v));
  Items keys, shown;
  for (const Value& item : items) {
    T9_TRY(Value key, follow(in, item, path, otherwise));
    shown.push_back(key);
    keys.push_back(fold ? ignore_case(key) : key);
  }
  T9_TRY(std::vector<size_t> order, sorted_order(in, keys, false));
  Items groups;
  for (size_t i = 0; i < order.size();) {
    Items members;
    size_t begin = i;
    for (; i < order.size() && equal(keys[order[i]], keys[order[begin]]); ++i)
      members.push_back(items[order[i]]);
    auto group =
        std::make_shared<ItemsObject>(Items{shown[order[begin]], Value::list(std::move(members))});
    group->is_group = true;
    groups.push_back(Value::object(Type::kTuple, std::move(group)));
  }
  return in.make_list(std::move(groups));
}

Result<Value> dictsort(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("dictsort", args, {"case_sensitive", "by", "reverse"}));
  std::string by = b.has(1) ? python_str(b[1]).bytes() : "key";
  if (by != "key" && by != "value")
    return template_error("You can only sort by either \"key\" or \"value\"");
  if (v.is_undefined()) return undefined_error(v);
  if (!v.is(Type::kDict))
    return python_error("AttributeError", "'{}' object has no attribute 'items'", type_name(v));
  Items keys, pairs;
  for (const auto& [key, value] : v.get<Dict>().entries) {
    const Value& sorted_by = by == "key" ? key : value;
    keys.push_back(b.flag(0) ? sorted_by : ignore_case(sorted_by));
    pairs.push_back(Value::tuple({key, value}));
  }
  T9_TRY(std::vector<size_t> order, sorted_order(in, keys, b.flag(2)));
  Items out;
  for (size_t i : order) out.push_back(pairs[i]);
  return in.make_list(std::move(out));
}

Result<Value> items_filter(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("items", args, {}));
  if (v.is_undefined()) return make_iterator({});
  if (!v.is(Type::kDict))
    return make_iterator({}, type_error("Can only get item pairs from a mapping."));
  T9_TRY(in.charge(v.get<Dict>().entries.size()));
  Items out;
  for (const auto& [key, value] : v.get<Dict>().entries) out.push_back(Value::tuple({key, value}));
  return make_iterator(std::move(out));
}

Result<Value> slice(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("slice", args, {"slices", "fill_with"}, 1));
  T9_TRY(int64_t n, need_integer(b[0]));
  Result<Items> items = in.items_of(v);
  if (!items) return make_iterator({}, items.error());
  if (n == 0)
    return make_iterator({},
                         python_error("ZeroDivisionError", "integer division or modulo by zero"));
  T9_TRY(in.charge(static_cast<uint64_t>(std::max<int64_t>(n, 0))));
  auto size = static_cast<int64_t>(items->size());
  Items out;
  int64_t begin = 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t end = begin + size / n + (i < size % n ? 1 : 0);
    Items part(items->begin() + begin, items->begin() + end);
    if (b.some(1) && i >= size % n) part.push_back(b[1]);
    out.push_back(Value::list(std::move(part)));
    begin = end;
  }
  return make_iterator(std::move(out));
}

Result<Value> batch(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("batch", args, {"linecount", "fill_with"}, 1));
  T9_TRY(int64_t n, need_integer(b[0]));
  Result<Items> items = in.items_of(v);
  if (!items) return make_iterator({}, items.error());
  Items out, line;
  for (const Value& item : *items) {
    if (static_cast<int64_t>(line.size()) == n) out.push_back(Value::list(std::exchange(line, {})));
    line.push_back(item);
  }
  if (!line.empty()) {
    T9_TRY(in.charge(static_cast<uint64_t>(std::max<int64_t>(n, 0))));
    if (b.some(1) && static_cast<int64_t>(line.size()) < n)
      line.resize(static_cast<size_t>(n), b[1]);
    out.push_back(Value::list(std::move(line)));
  }
  return make_iterator(std::move(out));
}

constexpr FilterEntry kSequenceFilters[] = {
    {"length", length},
    {"count", length},
    {"first", first},
    {"last", last},
    {"list", list},
    {"reverse", reverse},
    {"join", join_filter},
    {"sort", sort},
    {"unique", unique},
    {"min", extreme<false>},
    {"max", extreme<true>},
    {"sum", sum},
    {"map", map},
    {"select", select<true, false>},
    {"reject", select<false, false>},
    {"selectattr", select<true, true>},
    {"rejectattr", select<false, true>},
    {"groupby", groupby},
    {"dictsort", dictsort},
    {"items", items_filter},
    {"slice", slice},
    {"batch", batch},
};

}  // namespace

Table<FilterEntry> sequence_filters() { return {kSequenceFilters, std::size(kSequenceFilters)}; }

Filter find_filter(std::string_view name) {
  for (const auto& table :
       {sequence_filters(), value_filters(), text_filters(), markup_filters()}) {
    for (const FilterEntry& entry : table) {
      if (entry.name == name) return entry.filter;
    }
  }
  return nullptr;
}

}  // namespace tempo9::chat::jinja
