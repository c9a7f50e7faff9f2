// What a template finds ready made: filters, tests, global functions, methods of values. Tables by
// name.
#pragma once

#include <string_view>

#include "chat/jinja/value.h"

namespace tempo9::chat::jinja {

using I = Interpreter;  // each of them takes one

using Filter = Result<Value> (*)(Interpreter& interpreter, const Value& input, const Args& args);
using Test = Result<bool> (*)(Interpreter& interpreter, const Value& input, const Args& args);

// Null when there is none of that name.
Filter find_filter(std::string_view name);
Test find_test(std::string_view name);
Native find_global(std::string_view name);
Native find_method(const Value& object, std::string_view name);

// Would the method change the object, or is the name private? Then the sandbox hides it.
bool is_unsafe_attribute(const Value& object, std::string_view name);

// One table a file; the functions above look through all of them.
struct FilterEntry {
  std::string_view name;
  Filter filter;
};
struct MethodEntry {
  std::string_view name;
  Native method;
};
template <typename T>
struct Table {
  const T* begin_ = nullptr;
  size_t size = 0;
  const T* begin() const { return begin_; }
  const T* end() const { return begin_ + size; }
};
Table<FilterEntry> text_filters();
Table<FilterEntry> markup_filters();
Table<FilterEntry> sequence_filters();
Table<FilterEntry> value_filters();
Table<MethodEntry> string_methods();
Table<MethodEntry> string_predicates();

}  // namespace tempo9::chat::jinja
