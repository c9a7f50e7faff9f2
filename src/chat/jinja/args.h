// Arguments of a built-in function, bound to its parameters as Python binds them.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "chat/jinja/value.h"

namespace tempo9::chat::jinja {

// The values in the order of the parameters; null where the caller gave none.
class Bound {
 public:
  explicit Bound(std::vector<const Value*> values) : values_(std::move(values)) {}
  bool has(size_t i) const { return values_[i] != nullptr; }
  // Given, and not None.
  bool some(size_t i) const { return has(i) && !values_[i]->is(Type::kNone); }
  const Value& operator[](size_t i) const { return *values_[i]; }
  bool flag(size_t i, bool otherwise = false) const {
    return has(i) ? truthy(*values_[i]) : otherwise;
  }

  // Errors: TypeError, UndefinedError.
  Result<int64_t> integer(size_t i, int64_t otherwise) const;

 private:
  std::vector<const Value*> values_;
};

// function: for the message. The first n_required parameters must be given.
// Errors: TypeError for too many, too few, unknown or doubled arguments.
Result<Bound> bind(std::string_view function, const Args& args,
                   std::initializer_list<std::string_view> parameters, size_t n_required = 0);

// For the functions of Python that take no names.
Result<Bound> bind_positional(std::string_view function, const Args& args,
                              std::initializer_list<std::string_view> parameters,
                              size_t n_required = 0);

// As Python's str-only arguments. Errors: TypeError.
Result<const Text*> need_string(const Value& v);
// Errors: TypeError; UndefinedError for an undefined value.
Result<int64_t> need_integer(const Value& v);

}  // namespace tempo9::chat::jinja
