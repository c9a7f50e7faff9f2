// What follows an operand: subscripts, calls, filters, tests.
#include <algorithm>
#include <charconv>
#include <utility>

#include "chat/jinja/limits.h"
#include "chat/jinja/parser_core.h"

namespace tempo9::chat::jinja {

Result<ExprPtr> ExprParser::postfix(ExprPtr node) {
  for (;;) {
    if (current().op(".") || current().op("[")) {
      T9_TRY(node, subscript(std::move(node)));
    } else if (current().op("(")) {
      T9_TRY(node, called(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExprPtr> ExprParser::filters_and_tests(ExprPtr node) {
  for (;;) {
    if (current().op("|")) {
      T9_TRY(node, filter_chain(std::move(node), false));
    } else if (current().name("is")) {
      T9_TRY(node, test(std::move(node)));
    } else if (current().op("(")) {
      T9_TRY(node, called(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExprPtr> ExprParser::subscript(ExprPtr node) {
  int line = current().line;
  if (skip_op(".")) {
    Token attribute = take();
    if (attribute.kind == TokenKind::kName) {
      return make(Expr::Kind::kGetattr, line, operands(std::move(node)), attribute.text);
    }
    if (attribute.kind != TokenKind::kInteger) return syntax_error(line, "expected name or number");
    T9_TRY(ExprPtr index, make(Expr::Kind::kConst, line, {}));
    int64_t value = 0;
    std::from_chars(attribute.text.data(), attribute.text.data() + attribute.text.size(), value);
    index->value = Value::integer(value);
    return make(Expr::Kind::kGetitem, line, operands(std::move(node), std::move(index)));
  }
  T9_TRY(expect_op("["));
  std::vector<ExprPtr> args;
  while (!current().op("]")) {
    if (!args.empty()) T9_TRY(expect_op(","));
    T9_TRY(ExprPtr arg, subscribed());
    args.push_back(std::move(arg));
  }
  T9_TRY(expect_op("]"));
  ExprPtr index;
  if (args.size() == 1) {
    index = std::move(args.front());
  } else {
    T9_TRY(index, make(Expr::Kind::kTuple, line, std::move(args)));
  }
  return make(Expr::Kind::kGetitem, line, operands(std::move(node), std::move(index)));
}

Result<ExprPtr> ExprParser::subscribed() {
  int line = current().line;
  ExprPtr start, stop, step;
  if (!current().op(":")) {
    T9_TRY(start, expression());
    if (!current().op(":")) return start;
  }
  T9_TRY(expect_op(":"));
  auto at_end = [&] { return current().op(":") || current().op("]") || current().op(","); };
  if (!at_end()) {
    T9_TRY(stop, expression());
  }
  if (skip_op(":") && !at_end()) {
    T9_TRY(step, expression());
  }
  return make(Expr::Kind::kSlice, line,
              operands(std::move(start), std::move(stop), std::move(step)));
}

Status ExprParser::call_args(Expr* into) {
  int line = current().line;
  T9_TRY(expect_op("("));
  CallArgs& call = into->call;
  auto invalid = [&] { return syntax_error(line, "invalid syntax for function call expression"); };
  bool first = true;
  while (!current().op(")")) {
    if (!first) T9_TRY(expect_op(","));
    if (!first && current().op(")")) break;
    first = false;
    ExprPtr value;
    if (skip_op("*")) {
      if (call.dyn_args || call.dyn_kwargs) return invalid();
      T9_TRY(call.dyn_args, expression());
      into->depth = std::max(into->depth, call.dyn_args->depth + 1);
    } else if (skip_op("**")) {
      if (call.dyn_kwargs) return invalid();
      T9_TRY(call.dyn_kwargs, expression());
      into->depth = std::max(into->depth, call.dyn_kwargs->depth + 1);
    } else if (current().kind == TokenKind::kName && look().op("=")) {
      if (call.dyn_kwargs) return invalid();
      std::string key = take().text;
      take();
      T9_TRY(value, expression());
      into->depth = std::max(into->depth, value->depth + 1);
      call.keyword.emplace_back(std::move(key), std::move(value));
    } else {
      if (call.dyn_args || call.dyn_kwargs || !call.keyword.empty()) return invalid();
      T9_TRY(value, expression());
      into->depth = std::max(into->depth, value->depth + 1);
      call.positional.push_back(std::move(value));
    }
  }
  return expect_op(")");
}

Result<ExprPtr> ExprParser::called(ExprPtr node) {
  T9_TRY(ExprPtr call, make(Expr::Kind::kCall, current().line, operands(std::move(node))));
  T9_TRY(call_args(call.get()));
  return call;
}

Result<std::string> ExprParser::dotted_name() {
  T9_TRY(std::string name, expect_name());
  while (skip_op(".")) {
    T9_TRY(std::string part, expect_name());
    name += "." + part;
  }
  return name;
}

Result<ExprPtr> ExprParser::filter_chain(ExprPtr operand, bool starts_inline) {
  while (starts_inline || skip_op("|")) {
    starts_inline = false;
    int line = current().line;
    T9_TRY(std::string name, dotted_name());
    T9_TRY(operand, make(Expr::Kind::kFilter, line, operands(std::move(operand)), std::move(name)));
    if (current().op("(")) T9_TRY(call_args(operand.get()));
  }
  return operand;
}

Result<ExprPtr> ExprParser::test(ExprPtr node) {
  int line = take().line;  // is
  bool negated = skip_name("not");
  T9_TRY(std::string name, dotted_name());
  T9_TRY(ExprPtr result, make(Expr::Kind::kTest, line, operands(std::move(node)), std::move(name)));
  const Token& next = current();
  bool starts_operand = next.kind == TokenKind::kName || next.kind == TokenKind::kString ||
                        next.kind == TokenKind::kInteger || next.kind == TokenKind::kFloat ||
                        next.op("[") || next.op("{");
  if (next.op("(")) {
    T9_TRY(call_args(result.get()));
  } else if (starts_operand && !next.name("else") && !next.name("or") && !next.name("and")) {
    if (next.name("is")) return fail("You cannot chain multiple tests with is");
    T9_TRY(ExprPtr argument, primary(false));
    T9_TRY(argument, postfix(std::move(argument)));
    result->depth = std::max(result->depth, argument->depth + 1);
    result->call.positional.push_back(std::move(argument));
  }
  if (!negated) return result;
  return make(Expr::Kind::kUnary, line, operands(std::move(result)), "not");
}

}  // namespace tempo9::chat::jinja
