#include "chat/jinja/interpreter.h"

#include <algorithm>

#include "chat/jinja/builtins.h"
#include "chat/jinja/parser_core.h"
#include "chat/jinja/print.h"

namespace tempo9::chat::jinja {

Frame::Slot* Frame::find(NameId name) {
  auto it = std::find_if(slots.begin(), slots.end(),
                         [name](const Slot& slot) { return slot.name == name; });
  return it == slots.end() ? nullptr : &*it;
}

Interpreter::Interpreter(const Tree& tree, const Limits& limits,
                         std::unordered_map<std::string, Value> variables, std::string now)
    : tree_(tree), limits_(limits), variables_(std::move(variables)), now_(std::move(now)) {}

Interpreter::~Interpreter() {
  for (const auto& weak : captured_) {
    if (FramePtr frame = weak.lock()) frame->slots.clear();
  }
  for (const auto& weak : namespaces_) {
    if (auto ns = weak.lock()) ns->attributes = Dict();
  }
}

Result<Text> Interpreter::run() {
  Text out;
  out_ = &out;
  root_ = frame_ = enter(tree_.scope, nullptr);
  capture(root_);
  T9_TRY(exec_body(tree_.body));
  return out;
}

Status Interpreter::charge(uint64_t steps) {
  steps_ += steps;
  if (steps_ <= limits_.max_steps) return {};
  return make_error(ErrorCode::kResourceExhausted,
                    "the template needs more than {} steps, the limit of one rendering",
                    limits_.max_steps);
}

Status Interpreter::charge_text(size_t n_bytes) {
  if (n_bytes > limits_.max_bytes) {
    return make_error(ErrorCode::kResourceExhausted,
                      "the template made a text of {} bytes; the limit is {}", n_bytes,
                      limits_.max_bytes);
  }
  return charge(n_bytes / 16);
}

Result<Value> Interpreter::make_text(Text text) {
  T9_TRY(charge_text(text.size()));
  return Value::string(std::move(text));
}

Result<Value> Interpreter::make_list(Items items, Type type) {
  if (items.size() > limits_.max_items) {
    return make_error(ErrorCode::kResourceExhausted,
                      "the template made a list of {} items; the limit is {}", items.size(),
                      limits_.max_items);
  }
  T9_TRY(charge(items.size()));
  return type == Type::kTuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

// ---- frames

FramePtr Interpreter::enter(const Scope& scope, FramePtr parent) {
  auto frame = std::make_shared<Frame>();
  frame->slots.reserve(scope.names.size());
  for (const ScopeName& name : scope.names) {
    Frame::Slot slot{name.name, true, Value()};
    if (name.load == Load::kContext) {
      auto exported = exported_.find(name.name);
      if (exported != exported_.end()) {
        slot = {name.name, false, exported->second};
      } else if (auto given = variables_.find(tree_.names[static_cast<size_t>(name.name)]);
                 given != variables_.end()) {
        slot = {name.name, false, given->second};
      } else if (Native global = find_global(tree_.names[static_cast<size_t>(name.name)])) {
        auto function = std::make_shared<Function>();
        function->name = tree_.names[static_cast<size_t>(name.name)];
        function->call = global;
        slot = {name.name, false, Value::object(Type::kFunction, std::move(function))};
      }
    } else if (name.load == Load::kAlias) {
      if (const Frame::Slot* found = resolve(name.name, parent)) slot = *found;
    }
    frame->slots.push_back(std::move(slot));
  }
  frame->parent = std::move(parent);
  return frame;
}

const Frame::Slot* Interpreter::resolve(NameId name, const FramePtr& from) {
  for (Frame* frame = from.get(); frame != nullptr; frame = frame->parent.get()) {
    if (const Frame::Slot* slot = frame->find(name)) return slot;
  }
  return nullptr;
}

Value Interpreter::lookup(NameId name) {
  const Frame::Slot* slot = resolve(name, frame_);
  if (slot == nullptr || slot->missing) {
    return Value::undefined_name(tree_.names[static_cast<size_t>(name)]);
  }
  return slot->value;
}

void Interpreter::store(NameId name, Value value) {
  if (frame_ == root_) exported_[name] = value;
  Frame::Slot* slot = frame_->find(name);
  if (slot == nullptr) {
    frame_->slots.push_back({name, false, std::move(value)});
    return;
  }
  slot->missing = false;
  slot->value = std::move(value);
}

// ---- statements

Status Interpreter::emit(const Value& v) {
  if (v.is_string()) {
    T9_TRY(charge_text(v.text().size()));
    out_->append(v.text());
  } else {
    T9_TRY(charge(v.weight()));
    Text text = python_str(v);
    T9_TRY(charge_text(text.size()));
    out_->append(text);
  }
  if (out_->size() <= limits_.max_bytes) return {};
  return make_error(ErrorCode::kResourceExhausted,
                    "the template wrote more than {} bytes, the limit of one rendering",
                    limits_.max_bytes);
}

Result<Interpreter::Flow> Interpreter::exec_body(const Body& body) {
  for (const StmtPtr& s : body) {
    T9_TRY(Flow flow, exec(*s));
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Result<Interpreter::Flow> Interpreter::exec_in_frame(const Body& body, const Scope& scope,
                                                     FramePtr parent) {
  FramePtr outer = std::exchange(frame_, enter(scope, std::move(parent)));
  Result<Flow> flow = exec_body(body);
  frame_ = std::move(outer);
  return flow;
}

Result<Interpreter::Flow> Interpreter::exec(const Stmt& s) {
  T9_TRY(charge(1));
  Nesting nesting(&depth_);
  if (nesting.too_deep(kMaxEvalDepth))
    return python_error("RecursionError", "the template nests too deeply");
  switch (s.kind) {
    case Stmt::Kind::kOutput:
      for (const ExprPtr& e : s.exprs) {
        T9_TRY(Value v, eval(*e));
        T9_TRY(emit(v));
      }
      return Flow::kNormal;
    case Stmt::Kind::kFor:
      return exec_for(s);
    case Stmt::Kind::kIf:
      return exec_if(s);
    case Stmt::Kind::kSet:
      T9_TRY(exec_set(s));
      return Flow::kNormal;
    case Stmt::Kind::kSetBlock:
      return exec_set_block(s);
    case Stmt::Kind::kMacro:
      store(s.name_id, make_macro(s, false));
      return Flow::kNormal;
    case Stmt::Kind::kCallBlock:
      T9_TRY(exec_call_block(s));
      return Flow::kNormal;
    case Stmt::Kind::kFilterBlock:
      return exec_filter_block(s);
    case Stmt::Kind::kWith:
      return exec_with(s);
    case Stmt::Kind::kBlock:
      T9_TRY(exec_block(s));
      return Flow::kNormal;
    case Stmt::Kind::kScope:
      return exec_in_frame(s.body, s.scope, frame_);
    case Stmt::Kind::kBreak:
      return Flow::kBreak;
    case Stmt::Kind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNormal;
}

Result<Interpreter::Flow> Interpreter::exec_if(const Stmt& s) {
  for (const auto& [test, body] : s.branches) {
    T9_TRY(Value condition, eval(*test));
    if (truthy(condition)) return exec_body(body);
  }
  return exec_body(s.orelse);
}

Status Interpreter::assign(const Expr& target, const Value& value) {
  if (target.kind == Expr::Kind::kName) {
    store(target.name_id, value);
    return {};
  }
  if (target.kind == Expr::Kind::kNsRef) {
    Value ns = lookup(target.name_id);
    if (!ns.is(Type::kNamespace))
      return template_error("cannot assign attribute on non-namespace object");
    ns.get_mutable<Namespace>().attributes.set(Value::string(target.name), value);
    ns.get_mutable<Namespace>().deepen(value);
    return check(ns);
  }
  T9_TRY(Items items, items_of(value));
  if (items.size() < target.operands.size()) {
    return value_error("not enough values to unpack (expected {}, got {})", target.operands.size(),
                       items.size());
  }
  if (items.size() > target.operands.size()) {
    return value_error("too many values to unpack (expected {})", target.operands.size());
  }
  for (size_t i = 0; i < items.size(); ++i) T9_TRY(assign(*target.operands[i], items[i]));
  return {};
}

namespace {

// Attribute targets are checked before the value is computed.
bool has_bad_namespace(const Expr& target, const std::function<Value(NameId)>& lookup) {
  if (target.kind == Expr::Kind::kNsRef) return !lookup(target.name_id).is(Type::kNamespace);
  return std::any_of(target.operands.begin(), target.operands.end(),
                     [&](const ExprPtr& item) { return has_bad_namespace(*item, lookup); });
}

}  // namespace

Status Interpreter::exec_set(const Stmt& s) {
  if (s.target->kind != Expr::Kind::kName &&
      has_bad_namespace(*s.target, [this](NameId n) { return lookup(n); })) {
    return template_error("cannot assign attribute on non-namespace object");
  }
  T9_TRY(Value value, eval(*s.value));
  return assign(*s.target, value);
}

Result<Interpreter::Flow> Interpreter::exec_set_block(const Stmt& s) {
  FramePtr outer = frame_;
  Text text;
  Text* out = std::exchange(out_, &text);
  frame_ = enter(s.scope, outer);
  Result<Flow> flow = exec_body(s.body);
  out_ = out;
  Result<Value> value = Value::string(std::move(text));
  if (flow && s.filter) {
    Value captured = *value;
    value = eval_filter(*s.filter, &captured);
  }
  frame_ = std::move(outer);
  if (!flow || *flow != Flow::kNormal) return flow;
  if (!value) return value.error();
  T9_TRY(assign(*s.target, *value));
  return Flow::kNormal;
}

Result<Interpreter::Flow> Interpreter::exec_filter_block(const Stmt& s) {
  FramePtr outer = frame_;
  Text text;
  Text* out = std::exchange(out_, &text);
  frame_ = enter(s.scope, outer);
  Result<Flow> flow = exec_body(s.body);
  out_ = out;
  Result<Value> value = Value();
  if (flow && *flow == Flow::kNormal) {
    Value captured = Value::string(std::move(text));
    value = eval_filter(*s.filter, &captured);
  }
  frame_ = std::move(outer);
  if (!flow || *flow != Flow::kNormal) return flow;
  if (!value) return value.error();
  T9_TRY(emit(*value));
  return Flow::kNormal;
}

Result<Interpreter::Flow> Interpreter::exec_with(const Stmt& s) {
  Items values;
  for (const ExprPtr& e : s.exprs) {
    T9_TRY(Value v, eval(*e));
    values.push_back(std::move(v));
  }
  FramePtr outer = std::exchange(frame_, enter(s.scope, frame_));
  Status assigned;
  for (size_t i = 0; i < values.size() && assigned; ++i)
    assigned = assign(*s.targets[i], values[i]);
  Result<Flow> flow = assigned ? exec_body(s.body) : Result<Flow>(assigned.error());
  frame_ = std::move(outer);
  return flow;
}

Status Interpreter::exec_block(const Stmt& s) {
  T9_TRY(exec_in_frame(s.body, s.scope, s.scoped ? frame_ : nullptr));
  return {};
}

// ---- loops

Pull Interpreter::make_pull(const Stmt& s, const Value& iterable, const FramePtr& outer,
                            Status* status) {
  Result<Cursor> cursor = Cursor::over(iterable);
  if (!cursor) {
    *status = cursor.error();
    return {};
  }
  auto shared = std::make_shared<Cursor>(std::move(*cursor));
  if (!s.test) {
    return [this, shared]() -> Result<std::optional<Value>> {
      T9_TRY(charge(1));
      return shared->next();
    };
  }
  return [this, shared, &s, outer]() -> Result<std::optional<Value>> {
    for (;;) {
      T9_TRY(charge(1));
      T9_TRY(std::optional<Value> item, shared->next());
      if (!item) return item;
      FramePtr current = std::exchange(frame_, enter(s.test_scope, outer));
      Status assigned = assign(*s.target, *item);
      Result<Value> test = assigned ? eval(*s.test) : Result<Value>(assigned.error());
      frame_ = std::move(current);
      if (!test) return test.error();
      if (truthy(*test)) return item;
    }
  };
}

Result<Interpreter::Flow> Interpreter::exec_for(const Stmt& s) {
  T9_TRY(Value iterable, eval(*s.value));
  Flow flow = Flow::kNormal;
  FramePtr outer = frame_;  // frame_ changes while the loop runs
  T9_TRY(Value text, run_loop(s, iterable, outer, 0, &flow));
  if (s.recursive) T9_TRY(emit(text));
  return flow;
}

// A recursive loop gives its text; any other writes to the output.
Result<Value> Interpreter::run_loop(const Stmt& s, const Value& iterable, const FramePtr& outer,
                                    int64_t depth0, Flow* flow) {
  Nesting nesting(&call_depth_);
  if (s.recursive && nesting.too_deep(limits_.max_depth)) {
    return python_error("RecursionError", "the template nests calls deeper than {}",
                        limits_.max_depth);
  }
  auto loop = std::make_shared<Loop>();
  Status status;
  loop->pull = make_pull(s, iterable, outer, &status);
  T9_TRY(status);
  if (!s.test) loop->length = length_of(iterable);
  loop->depth0 = depth0;
  if (s.extended) capture(outer);
  if (s.recursive) {
    loop->recurse = [this, &s, outer, depth0](const Value& inner) {
      Flow ignored = Flow::kNormal;
      return run_loop(s, inner, outer, depth0 + 1, &ignored);
    };
  }
  Text text;
  Text* out = out_;
  if (s.recursive) out_ = &text;
  FramePtr caller = frame_;
  Result<Flow> result = loop_body(s, loop, outer);
  frame_ = std::move(caller);
  out_ = out;
  if (!result) return result.error();
  *flow = *result;
  return make_text(std::move(text));
}

Result<Interpreter::Flow> Interpreter::loop_body(const Stmt& s, const std::shared_ptr<Loop>& loop,
                                                 const FramePtr& outer) {
  bool completed =
      false;  // some iteration ran to its end: `continue` and `break` leave the else open
  for (;;) {
    T9_TRY(bool more, loop->advance());
    if (!more) break;
    frame_ = enter(s.scope, outer);
    if (s.extended) store(tree_.loop, Value::object(Type::kLoop, loop));
    T9_TRY(assign(*s.target, loop->current));
    T9_TRY(Flow flow, exec_body(s.body));
    if (flow == Flow::kBreak) break;
    if (flow == Flow::kNormal) completed = true;
  }
  frame_ = outer;
  if (completed || s.orelse.empty()) return Flow::kNormal;
  return exec_in_frame(s.orelse, s.orelse_scope, outer);
}

}  // namespace tempo9::chat::jinja
