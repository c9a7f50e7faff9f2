#include "chat/jinja/args.h"

#include <algorithm>

namespace tempo9::chat::jinja {

Result<Bound> bind(std::string_view function, const Args& args,
                   std::initializer_list<std::string_view> parameters, size_t n_required) {
  if (args.positional.size() > parameters.size()) {
    return type_error("{}() takes at most {} arguments ({} given)", function, parameters.size(),
                      args.positional.size());
  }
  std::vector<const Value*> values(parameters.size(), nullptr);
  for (size_t i = 0; i < args.positional.size(); ++i) values[i] = &args.positional[i];
  for (const auto& [name, value] : args.keyword) {
    auto it = std::find(parameters.begin(), parameters.end(), name);
    if (it == parameters.end()) {
      return type_error("{}() got an unexpected keyword argument '{}'", function, name);
    }
    const Value*& slot = values[static_cast<size_t>(it - parameters.begin())];
    if (slot != nullptr)
      return type_error("{}() got multiple values for argument '{}'", function, name);
    slot = &value;
  }
  for (size_t i = 0; i < n_required; ++i) {
    if (values[i] == nullptr) {
      return type_error("{}() missing required argument: '{}'", function,
                        *(parameters.begin() + i));
    }
  }
  return Bound(std::move(values));
}

Result<Bound> bind_positional(std::string_view function, const Args& args,
                              std::initializer_list<std::string_view> parameters,
                              size_t n_required) {
  if (!args.keyword.empty()) return type_error("{}() takes no keyword arguments", function);
  return bind(function, args, parameters, n_required);
}

Result<int64_t> Bound::integer(size_t i, int64_t otherwise) const {
  if (!has(i)) return otherwise;
  return need_integer(*values_[i]);
}

Result<const Text*> need_string(const Value& v) {
  if (!v.is_string()) return type_error("expected a string, got '{}'", type_name(v));
  return &v.text();
}

Result<int64_t> need_integer(const Value& v) {
  if (!v.is_intlike()) {
    return type_error("'{}' object cannot be interpreted as an integer", type_name(v));
  }
  return v.as_int();
}

}  // namespace tempo9::chat::jinja
