// The parser's two halves: expressions (parser_expr.cc) and statements (parser.cc) over one token
// stream.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chat/jinja/ast.h"
#include "chat/jinja/lexer.h"

namespace tempo9::chat::jinja {

class ExprParser {
 public:
  explicit ExprParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token take() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_[at_]; }
  bool skip_op(std::string_view op);
  bool skip_name(std::string_view name);
  Status expect_op(std::string_view op);
  Status expect(TokenKind kind, std::string_view what);
  Result<std::string> expect_name();
  Error unexpected(std::string_view expected) const;
  Error fail(std::string_view reason) const { return syntax_error(current().line, reason); }

  NameId intern(std::string_view name);

  Result<ExprPtr> expression(bool with_cond = true);
  // One expression, or a tuple if there are commas. end_name: a name that also ends it ("in").
  struct TupleRules {
    bool names_only = false;  // assignment targets
    bool with_cond = true;
    bool in_parentheses = false;
    std::string_view end_name = {};
  };
  Result<ExprPtr> tuple(const TupleRules& rules);
  Result<ExprPtr> assign_target(const TupleRules& rules);
  // Filters of a filter block or a set block: the innermost has no operand.
  Result<ExprPtr> filter_chain(ExprPtr operand, bool starts_inline);

  Tree tree_;

 private:
  friend class Nesting;
  Result<ExprPtr> make(Expr::Kind kind, int line, std::vector<ExprPtr> operands,
                       std::string name = {});
  Result<ExprPtr> or_expr();
  Result<ExprPtr> and_expr();
  Result<ExprPtr> not_expr();
  Result<ExprPtr> compare();
  Result<ExprPtr> math(int level);  // 0: + -, 1: ~, 2: * / // %, 3: **
  Result<ExprPtr> unary(bool with_filter);
  Result<ExprPtr> primary(bool with_namespace);
  Result<ExprPtr> list();
  Result<ExprPtr> dict();
  Result<ExprPtr> postfix(ExprPtr node);
  Result<ExprPtr> filters_and_tests(ExprPtr node);
  Result<ExprPtr> subscript(ExprPtr node);
  Result<ExprPtr> subscribed();
  Result<ExprPtr> test(ExprPtr node);
  Result<ExprPtr> called(ExprPtr node);
  Status call_args(Expr* into);
  Result<std::string> dotted_name();
  bool at_tuple_end(const TupleRules& rules) const;

  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::unordered_map<std::string, NameId> ids_;

 protected:
  int nesting_ = 0;
};

// Counts one level of recursion while it lives.
class Nesting {
 public:
  explicit Nesting(int* level) : level_(level) { ++*level_; }
  ~Nesting() { --*level_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  bool too_deep(int limit) const { return *level_ > limit; }

 private:
  int* level_;
};

// A list of operands, made of its parts.
template <typename... Ptrs>
std::vector<ExprPtr> operands(Ptrs&&... ptrs) {
  std::vector<ExprPtr> out;
  (out.push_back(std::forward<Ptrs>(ptrs)), ...);
  return out;
}

}  // namespace tempo9::chat::jinja
