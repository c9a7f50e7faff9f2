// Macros and call blocks.
#include <algorithm>
#include <optional>
#include <utility>

#include "chat/jinja/interpreter.h"
#include "chat/jinja/parser_core.h"

namespace tempo9::chat::jinja {

Value Interpreter::make_macro(const Stmt& s, bool anonymous) {
  auto macro = std::make_shared<Macro>();
  macro->stmt = &s;
  macro->tree = &tree_;
  macro->closure = frame_;
  macro->anonymous = anonymous;
  capture(frame_);
  return Value::object(Type::kMacro, std::move(macro));
}

Status Interpreter::exec_call_block(const Stmt& s) {
  Value caller = make_macro(s, true);
  T9_TRY(Value result, eval_call(*s.value, &caller));
  return emit(result);
}

Result<Value> Interpreter::call_macro(const Macro& macro, const Args& args) {
  Nesting nesting(&call_depth_);
  if (nesting.too_deep(limits_.max_depth)) {
    return python_error("RecursionError", "the template nests calls deeper than {}",
                        limits_.max_depth);
  }
  const Stmt& s = *macro.stmt;
  FramePtr caller = std::exchange(frame_, enter(s.scope, macro.closure));
  Text text;
  Text* out = std::exchange(out_, &text);
  FramePtr own = frame_;
  Status bound = bind_macro(macro, args, own.get());
  Result<Flow> flow = bound ? exec_body(s.body) : Result<Flow>(bound.error());
  out_ = out;
  frame_ = std::move(caller);
  if (!flow) return flow.error();
  return make_text(std::move(text));
}

Result<Value> Interpreter::macro_default(const Macro& macro, size_t param) {
  const Stmt& s = *macro.stmt;
  size_t first = s.params.size() - s.defaults.size();
  if (param >= first) return eval(*s.defaults[param - first]);
  const std::string& name = tree_.names[static_cast<size_t>(s.params[param])];
  return Value::undefined_hint(fmt::format("parameter '{}' was not provided", name));
}

Status Interpreter::bind_macro(const Macro& macro, const Args& args, Frame* frame) {
  const Stmt& s = *macro.stmt;
  std::string shown = macro.anonymous ? "None" : "'" + s.name + "'";
  auto keyword = args.keyword;
  auto pop = [&](std::string_view name) -> std::optional<Value> {
    auto it = std::find_if(keyword.begin(), keyword.end(),
                           [&](const auto& k) { return k.first == name; });
    if (it == keyword.end()) return std::nullopt;
    Value v = it->second;
    keyword.erase(it);
    return v;
  };
  auto set = [frame](NameId name, Value v) {
    Frame::Slot* slot = frame->find(name);
    if (slot != nullptr) *slot = {name, false, std::move(v)};
  };
  std::vector<size_t> unset;
  for (size_t i = 0; i < s.params.size(); ++i) {
    if (i < args.positional.size()) {
      set(s.params[i], args.positional[i]);
    } else if (std::optional<Value> v = pop(tree_.names[static_cast<size_t>(s.params[i])])) {
      set(s.params[i], std::move(*v));
    } else {
      unset.push_back(i);
    }
  }
  if (s.uses_caller && !s.explicit_caller) {
    std::optional<Value> caller = pop("caller");
    bool given = caller && !caller->is(Type::kNone);
    set(tree_.caller, given ? std::move(*caller) : Value::undefined_hint("No caller defined"));
  }
  if (s.uses_kwargs) {
    auto dict = std::make_shared<Dict>();
    for (auto& [name, v] : keyword) dict->set(Value::string(name), v);
    set(tree_.kwargs, Value::object(Type::kDict, std::move(dict)));
  } else if (!keyword.empty()) {
    if (std::any_of(keyword.begin(), keyword.end(),
                    [](const auto& k) { return k.first == "caller"; })) {
      return type_error(
          "macro {} was invoked with two values for the special caller argument. This is most "
          "likely a bug.",
          shown);
    }
    return type_error("macro {} takes no keyword argument '{}'", shown, keyword.front().first);
  }
  if (s.uses_varargs) {
    size_t n = std::min(args.positional.size(), s.params.size());
    set(tree_.varargs, Value::tuple(Items(args.positional.begin() + static_cast<ptrdiff_t>(n),
                                          args.positional.end())));
  } else if (args.positional.size() > s.params.size()) {
    return type_error("macro {} takes not more than {} argument(s)", shown, s.params.size());
  }
  for (size_t i : unset) {
    T9_TRY(Value v, macro_default(macro, i));
    set(s.params[i], std::move(v));
  }
  return {};
}

}  // namespace tempo9::chat::jinja
