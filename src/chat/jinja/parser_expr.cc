#include <algorithm>
#include <charconv>

#include "chat/jinja/limits.h"
#include "chat/jinja/parser_core.h"

namespace tempo9::chat::jinja {

namespace {

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kData:
      return "template data / text";
    case TokenKind::kBlockBegin:
      return "begin of statement block";
    case TokenKind::kBlockEnd:
      return "end of statement block";
    case TokenKind::kVariableBegin:
      return "begin of print statement";
    case TokenKind::kVariableEnd:
      return "end of print statement";
    case TokenKind::kString:
      return "string";
    case TokenKind::kInteger:
      return "integer";
    case TokenKind::kFloat:
      return "float";
    case TokenKind::kEnd:
      return "end of template";
    default:
      return token.text;
  }
}

}  // namespace

bool ExprParser::skip_op(std::string_view op) {
  if (!current().op(op)) return false;
  take();
  return true;
}

bool ExprParser::skip_name(std::string_view name) {
  if (!current().name(name)) return false;
  take();
  return true;
}

Error ExprParser::unexpected(std::string_view expected) const {
  if (current().kind == TokenKind::kEnd) {
    return fail(fmt::format("unexpected end of template, expected '{}'.", expected));
  }
  return fail(fmt::format("expected token '{}', got '{}'", expected, describe(current())));
}

Status ExprParser::expect_op(std::string_view op) {
  if (!skip_op(op)) return unexpected(op);
  return {};
}

Status ExprParser::expect(TokenKind kind, std::string_view what) {
  if (current().kind != kind) return unexpected(what);
  take();
  return {};
}

Result<std::string> ExprParser::expect_name() {
  if (current().kind != TokenKind::kName) return unexpected("name");
  return take().text;
}

NameId ExprParser::intern(std::string_view name) {
  auto [it, added] = ids_.emplace(std::string(name), static_cast<NameId>(tree_.names.size()));
  if (added) tree_.names.emplace_back(name);
  return it->second;
}

Result<ExprPtr> ExprParser::make(Expr::Kind kind, int line, std::vector<ExprPtr> operands,
                                 std::string name) {
  auto node = std::make_unique<Expr>();
  node->kind = kind;
  node->line = line;
  node->name = std::move(name);
  for (const ExprPtr& operand : operands) {
    if (operand) node->depth = std::max(node->depth, operand->depth + 1);
  }
  node->operands = std::move(operands);
  constexpr int kMaxExprDepth = 3 * kMaxNesting;
  if (node->depth > kMaxExprDepth) {
    return fail(fmt::format("expression is nested deeper than {} levels", kMaxExprDepth));
  }
  return node;
}

Result<ExprPtr> ExprParser::expression(bool with_cond) {
  Nesting nesting(&nesting_);
  if (nesting.too_deep(kMaxNesting)) return fail("expression is nested too deeply");
  if (!with_cond) return or_expr();
  int line = current().line;
  T9_TRY(ExprPtr node, or_expr());
  while (skip_name("if")) {
    T9_TRY(ExprPtr condition, or_expr());
    ExprPtr otherwise;
    if (skip_name("else")) {
      T9_TRY(otherwise, expression());
    }
    T9_TRY(node, make(Expr::Kind::kCond, line,
                      operands(std::move(condition), std::move(node), std::move(otherwise))));
    line = current().line;
  }
  return node;
}

Result<ExprPtr> ExprParser::or_expr() {
  int line = current().line;
  T9_TRY(ExprPtr left, and_expr());
  while (skip_name("or")) {
    T9_TRY(ExprPtr right, and_expr());
    T9_TRY(left, make(Expr::Kind::kOr, line, operands(std::move(left), std::move(right))));
  }
  return left;
}

Result<ExprPtr> ExprParser::and_expr() {
  int line = current().line;
  T9_TRY(ExprPtr left, not_expr());
  while (skip_name("and")) {
    T9_TRY(ExprPtr right, not_expr());
    T9_TRY(left, make(Expr::Kind::kAnd, line, operands(std::move(left), std::move(right))));
  }
  return left;
}

Result<ExprPtr> ExprParser::not_expr() {
  int line = current().line;
  if (!skip_name("not")) return compare();
  Nesting nesting(&nesting_);
  if (nesting.too_deep(kMaxNesting)) return fail("expression is nested too deeply");
  T9_TRY(ExprPtr operand, not_expr());
  return make(Expr::Kind::kUnary, line, operands(std::move(operand)), "not");
}

Result<ExprPtr> ExprParser::compare() {
  int line = current().line;
  T9_TRY(ExprPtr first, math(0));
  std::vector<ExprPtr> values = operands(std::move(first));
  std::vector<std::string> ops;
  for (;;) {
    constexpr std::string_view kOps[] = {"==", "!=", "<", "<=", ">", ">="};
    if (current().kind == TokenKind::kOperator &&
        std::find(std::begin(kOps), std::end(kOps), current().text) != std::end(kOps)) {
      ops.push_back(take().text);
    } else if (skip_name("in")) {
      ops.emplace_back("in");
    } else if (current().name("not") && look().name("in")) {
      take();
      take();
      ops.emplace_back("not in");
    } else {
      break;
    }
    T9_TRY(ExprPtr operand, math(0));
    values.push_back(std::move(operand));
  }
  if (ops.empty()) return std::move(values.front());
  T9_TRY(ExprPtr node, make(Expr::Kind::kCompare, line, std::move(values)));
  node->ops = std::move(ops);
  return node;
}

Result<ExprPtr> ExprParser::math(int level) {
  if (level == 4) return unary(true);
  int line = current().line;
  T9_TRY(ExprPtr left, math(level + 1));
  if (level == 1) {
    if (!current().op("~")) return left;
    std::vector<ExprPtr> parts = operands(std::move(left));
    while (skip_op("~")) {
      T9_TRY(ExprPtr part, math(2));
      parts.push_back(std::move(part));
    }
    return make(Expr::Kind::kConcat, line, std::move(parts));
  }
  auto matches = [&](const Token& t) {
    if (level == 0) return t.op("+") || t.op("-");
    if (level == 2) return t.op("*") || t.op("/") || t.op("//") || t.op("%");
    return t.op("**");
  };
  while (matches(current())) {
    std::string op = take().text;
    T9_TRY(ExprPtr right, math(level + 1));
    T9_TRY(left, make(Expr::Kind::kBinary, line, operands(std::move(left), std::move(right)),
                      std::move(op)));
  }
  return left;
}

Result<ExprPtr> ExprParser::unary(bool with_filter) {
  Nesting nesting(&nesting_);
  if (nesting.too_deep(kMaxNesting)) return fail("expression is nested too deeply");
  int line = current().line;
  ExprPtr node;
  if (current().op("-") || current().op("+")) {
    std::string op = take().text;
    T9_TRY(ExprPtr operand, unary(false));
    T9_TRY(node, make(Expr::Kind::kUnary, line, operands(std::move(operand)), std::move(op)));
  } else {
    T9_TRY(node, primary(false));
  }
  T9_TRY(node, postfix(std::move(node)));
  if (!with_filter) return node;
  return filters_and_tests(std::move(node));
}

Result<ExprPtr> ExprParser::primary(bool with_namespace) {
  Token token = current();
  int line = token.line;
  auto constant = [&](Value value) -> Result<ExprPtr> {
    T9_TRY(ExprPtr node, make(Expr::Kind::kConst, line, {}));
    node->value = std::move(value);
    return node;
  };
  if (token.kind == TokenKind::kName) {
    take();
    if (token.text == "true" || token.text == "True") return constant(Value::boolean(true));
    if (token.text == "false" || token.text == "False") return constant(Value::boolean(false));
    if (token.text == "none" || token.text == "None") return constant(Value::none());
    bool is_ref = with_namespace && skip_op(".");
    T9_TRY(ExprPtr node, make(is_ref ? Expr::Kind::kNsRef : Expr::Kind::kName, line, {}));
    node->name_id = intern(token.text);
    if (is_ref) {
      T9_TRY(node->name, expect_name());
    }
    return node;
  }
  if (token.kind == TokenKind::kString) {
    std::string text;
    while (current().kind == TokenKind::kString) text += take().text;
    return constant(Value::string(text));
  }
  if (token.kind == TokenKind::kInteger) {
    take();
    int64_t value = 0;
    std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    return constant(Value::integer(value));
  }
  if (token.kind == TokenKind::kFloat) {
    take();
    double value = 0;
    std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    return constant(Value::real(value));
  }
  if (skip_op("(")) {
    T9_TRY(ExprPtr node, tuple({.in_parentheses = true}));
    T9_TRY(expect_op(")"));
    return node;
  }
  if (token.op("[")) return list();
  if (token.op("{")) return dict();
  return fail(fmt::format("unexpected '{}'", describe(token)));
}

bool ExprParser::at_tuple_end(const TupleRules& rules) const {
  return current().kind == TokenKind::kVariableEnd || current().kind == TokenKind::kBlockEnd ||
         current().op(")") || (!rules.end_name.empty() && current().name(rules.end_name));
}

Result<ExprPtr> ExprParser::tuple(const TupleRules& rules) {
  int line = current().line;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  for (;;) {
    if (!items.empty()) T9_TRY(expect_op(","));
    if (at_tuple_end(rules)) break;
    T9_TRY(ExprPtr item, rules.names_only ? primary(true) : expression(rules.with_cond));
    items.push_back(std::move(item));
    if (!current().op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items.front());
  if (!is_tuple && !rules.in_parentheses) {
    return fail(fmt::format("Expected an expression, got '{}'", describe(current())));
  }
  return make(Expr::Kind::kTuple, line, std::move(items));
}

Result<ExprPtr> ExprParser::assign_target(const TupleRules& rules) {
  int line = current().line;
  T9_TRY(ExprPtr target, tuple(rules));
  auto assignable = [](const Expr& e) {
    return e.kind == Expr::Kind::kName || e.kind == Expr::Kind::kNsRef;
  };
  bool ok = assignable(*target);
  if (target->kind == Expr::Kind::kTuple) {
    ok = std::all_of(target->operands.begin(), target->operands.end(), [&](const ExprPtr& e) {
      return assignable(*e) || (e->kind == Expr::Kind::kTuple &&
                                std::all_of(e->operands.begin(), e->operands.end(),
                                            [&](const ExprPtr& x) { return assignable(*x); }));
    });
  }
  if (!ok)
    return syntax_error(
        line,
        "can't assign to this expression; only names, tuples of names and namespace attributes");
  return target;
}

Result<ExprPtr> ExprParser::list() {
  int line = current().line;
  T9_TRY(expect_op("["));
  std::vector<ExprPtr> items;
  while (!current().op("]")) {
    if (!items.empty()) T9_TRY(expect_op(","));
    if (current().op("]")) break;
    T9_TRY(ExprPtr item, expression());
    items.push_back(std::move(item));
  }
  T9_TRY(expect_op("]"));
  return make(Expr::Kind::kList, line, std::move(items));
}

Result<ExprPtr> ExprParser::dict() {
  int line = current().line;
  T9_TRY(expect_op("{"));
  std::vector<ExprPtr> items;
  while (!current().op("}")) {
    if (!items.empty()) T9_TRY(expect_op(","));
    if (current().op("}")) break;
    T9_TRY(ExprPtr key, expression());
    T9_TRY(expect_op(":"));
    T9_TRY(ExprPtr value, expression());
    items.push_back(std::move(key));
    items.push_back(std::move(value));
  }
  T9_TRY(expect_op("}"));
  return make(Expr::Kind::kDict, line, std::move(items));
}

}  // namespace tempo9::chat::jinja
