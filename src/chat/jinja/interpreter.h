// Runs a syntax tree over variables. One rendering, one thread; made and thrown away for each.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chat/jinja/ast.h"
#include "chat/jinja/limits.h"
#include "chat/jinja/loop.h"
#include "chat/jinja/value.h"

namespace tempo9::chat::jinja {

// The names of one scope while it runs.
struct Frame {
  struct Slot {
    NameId name;
    bool missing;
    Value value;
  };
  std::shared_ptr<Frame> parent;
  std::vector<Slot> slots;
  Slot* find(NameId name);  // in this frame only
};
using FramePtr = std::shared_ptr<Frame>;

class Interpreter {
 public:
  // variables: what the caller of the template passes; they win over the built-in globals.
  // now: ISO time for strftime_now; empty for the local clock.
  Interpreter(const Tree& tree, const Limits& limits,
              std::unordered_map<std::string, Value> variables, std::string now);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // The whole output. Errors: kInvalidArgument with the exception's words, kResourceExhausted past
  // a limit.
  Result<Text> run();

  // For the built-ins.
  const Limits& limits() const { return limits_; }
  const std::string& now() const { return now_; }
  Status charge(uint64_t steps);
  Status charge_text(size_t n_bytes);  // copied; also checks the limit of one string
  Result<Value> make_text(Text text);  // charged
  Result<Value> make_list(Items items, Type type = Type::kList);
  Result<Items> items_of(const Value& v);  // list(v)
  Result<Value> get_item(const Value& object, const Value& key);
  Result<Value> get_attribute(const Value& object, std::string_view name);
  Result<Value> call(const Value& callee, const Args& args);
  Result<Value> apply_filter(std::string_view name, const Value& input, const Args& args);
  Result<bool> apply_test(std::string_view name, const Value& input, const Args& args);
  Result<bool> equals(const Value& a, const Value& b);            // charged
  Result<bool> contains(const Value& container, const Value& v);  // v in container
  void track(const std::shared_ptr<Namespace>& ns) { namespaces_.push_back(ns); }

 private:
  enum class Flow { kNormal, kBreak, kContinue };

  // statements (interpreter.cc)
  Result<Flow> exec(const Stmt& s);
  Result<Flow> exec_body(const Body& body);
  Result<Flow> exec_in_frame(const Body& body, const Scope& scope, FramePtr parent);
  Result<Flow> exec_for(const Stmt& s);
  Result<Value> run_loop(const Stmt& s, const Value& iterable, const FramePtr& outer,
                         int64_t depth0, Flow* flow);
  Result<Flow> loop_body(const Stmt& s, const std::shared_ptr<Loop>& loop, const FramePtr& outer);
  Pull make_pull(const Stmt& s, const Value& iterable, const FramePtr& outer, Status* status);
  Result<Flow> exec_if(const Stmt& s);
  Status exec_set(const Stmt& s);
  Result<Flow> exec_set_block(const Stmt& s);
  Status exec_call_block(const Stmt& s);
  Result<Flow> exec_filter_block(const Stmt& s);
  Result<Flow> exec_with(const Stmt& s);
  Status exec_block(const Stmt& s);
  Status emit(const Value& v);
  Status assign(const Expr& target, const Value& value);
  Value make_macro(const Stmt& s, bool anonymous);
  Result<Value> call_macro(const Macro& macro, const Args& args);
  Status bind_macro(const Macro& macro, const Args& args, Frame* frame);
  Result<Value> macro_default(const Macro& macro, size_t param);

  // frames
  FramePtr enter(const Scope& scope, FramePtr parent);
  Value lookup(NameId name);
  const Frame::Slot* resolve(NameId name, const FramePtr& from);
  void store(NameId name, Value value);
  void capture(const FramePtr& frame) { captured_.push_back(frame); }

  // expressions (eval.cc)
  Result<Value> eval(const Expr& e);
  Result<Value> eval_node(const Expr& e);
  Result<Value> eval_items(const Expr& e, Type type);
  Result<Value> eval_dict(const Expr& e);
  Result<Value> eval_unary(const Expr& e);
  Result<Value> eval_compare(const Expr& e);
  Result<bool> compare(std::string_view op, const Value& a, const Value& b);
  Result<Value> eval_concat(const Expr& e);
  Result<Value> eval_cond(const Expr& e);
  Result<Value> eval_getitem(const Expr& e);
  Result<Value> eval_slice(const Value& object, const Expr& slice);
  Result<Value> eval_call(const Expr& e, const Value* caller);
  Result<Value> eval_filter(const Expr& e, const Value* input);
  Result<Args> eval_args(const CallArgs& call);
  Status check(const Value& v) const;

  const Tree& tree_;
  Limits limits_;
  std::unordered_map<std::string, Value> variables_;
  std::string now_;
  std::unordered_map<NameId, Value>
      exported_;  // what the top level has set; blocks and macros see it
  FramePtr root_, frame_;
  Text* out_ = nullptr;
  uint64_t steps_ = 0;
  int depth_ = 0;       // of evaluation: bounds the stack
  int call_depth_ = 0;  // macros and recursive loops
  std::vector<std::weak_ptr<Frame>>
      captured_;  // frames and namespaces can hold each other: emptied at the end
  std::vector<std::weak_ptr<Namespace>> namespaces_;
  std::vector<const Stmt*> blocks_;
};

// Python's binary operators, by their sign. Errors: TypeError, ZeroDivisionError, OverflowError,
// UndefinedError.
Result<Value> binary_op(Interpreter& interpreter, std::string_view op, const Value& a,
                        const Value& b);
// text % args
Result<Value> percent_format(Interpreter& interpreter, const Text& format, const Value& args);
// text.replace(...), charged before it is done
Result<Value> replace_text(Interpreter& interpreter, const Text& text, const Text& old,
                           const Text& replacement, int64_t count);
// text.format(...)
Result<Value> brace_format(Interpreter& interpreter, const Text& format, const Args& args);

}  // namespace tempo9::chat::jinja
