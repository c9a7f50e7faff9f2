#include "chat/jinja/parser.h"

#include <algorithm>
#include <utility>

#include "chat/jinja/limits.h"
#include "chat/jinja/parser_core.h"
#include "chat/jinja/scope.h"

namespace tempo9::chat::jinja {
namespace {

class Parser : public ExprParser {
 public:
  using ExprParser::ExprParser;

  Result<Tree> run() {
    tree_.loop = intern("loop");
    tree_.caller = intern("caller");
    tree_.kwargs = intern("kwargs");
    tree_.varargs = intern("varargs");
    T9_TRY(tree_.body, body({}));
    return std::move(tree_);
  }

 private:
  using Names = std::vector<std::string_view>;

  static StmtPtr make_stmt(Stmt::Kind kind, int line) {
    auto node = std::make_unique<Stmt>();
    node->kind = kind;
    node->line = line;
    return node;
  }

  static void add_output(ExprPtr expr, bool* open, Body* out) {
    if (!*open) out->push_back(make_stmt(Stmt::Kind::kOutput, expr->line));
    *open = true;
    out->back()->exprs.push_back(std::move(expr));
  }

  // Statements until one of the ends, whose name becomes the current token; until the end of the
  // template when empty.
  Result<Body> body(const Names& ends) {
    Nesting nesting(&nesting_);
    if (nesting.too_deep(kMaxNesting)) return fail("blocks are nested too deeply");
    Body out;
    bool output_open = false;  // the last statement is an output that can be added to
    while (current().kind != TokenKind::kEnd) {
      if (current().kind == TokenKind::kData) {
        auto text = std::make_unique<Expr>();
        text->kind = Expr::Kind::kConst;
        text->line = current().line;
        text->value = Value::string(take().text);
        add_output(std::move(text), &output_open, &out);
        continue;
      }
      if (current().kind == TokenKind::kVariableBegin) {
        take();
        T9_TRY(ExprPtr expr, tuple({}));
        T9_TRY(expect(TokenKind::kVariableEnd, "end of print statement"));
        add_output(std::move(expr), &output_open, &out);
        continue;
      }
      T9_TRY(expect(TokenKind::kBlockBegin, "begin of statement block"));
      output_open = false;
      if (current().kind == TokenKind::kName &&
          std::find(ends.begin(), ends.end(), current().text) != ends.end()) {
        return out;
      }
      T9_TRY(statement(ends, &out));
      T9_TRY(expect(TokenKind::kBlockEnd, "end of statement block"));
    }
    if (!ends.empty()) return unexpected_end(ends);
    return out;
  }

  Error unexpected_end(const Names& ends) const {
    std::string expected;
    for (std::string_view end : ends)
      expected += fmt::format("{}'{}'", expected.empty() ? "" : " or ", end);
    return fail(
        "Unexpected end of template. Jinja was looking for the following tags: " + expected + ".");
  }

  // ": %} body", as every block statement goes on.
  Result<Body> block_body(const Names& ends) {
    skip_op(":");
    T9_TRY(expect(TokenKind::kBlockEnd, "end of statement block"));
    return body(ends);
  }
  Result<Body> last_body(std::string_view end) {
    T9_TRY(Body out, block_body({end}));
    take();
    return out;
  }

  Status statement(const Names& ends, Body* out) {
    if (current().kind != TokenKind::kName) return fail("tag name expected");
    std::string tag = current().text;
    StmtPtr node = make_stmt(Stmt::Kind::kOutput, take().line);
    Stmt& s = *node;
    if (tag == "for")
      T9_TRY(for_(s));
    else if (tag == "if")
      T9_TRY(if_(s));
    else if (tag == "set")
      T9_TRY(set(s));
    else if (tag == "macro")
      T9_TRY(macro(s));
    else if (tag == "call")
      T9_TRY(call(s));
    else if (tag == "filter")
      T9_TRY(filter(s));
    else if (tag == "with")
      T9_TRY(with(s));
    else if (tag == "print")
      T9_TRY(print(s));
    else if (tag == "block")
      T9_TRY(block(s));
    else if (tag == "autoescape")
      T9_TRY(autoescape(s));
    else if (tag == "generation")
      T9_TRY(generation(s));
    else if (tag == "break" || tag == "continue")
      T9_TRY(loop_control(s, tag == "break"));
    else if (tag == "include" || tag == "import" || tag == "from" || tag == "extends") {
      return fail(fmt::format(
          "'{}' needs a second template, and a chat template is only one; put its text here", tag));
    } else {
      return unknown_tag(tag, ends, s.line);
    }
    out->push_back(std::move(node));
    return {};
  }

  static Error unknown_tag(std::string_view tag, const Names& ends, int line) {
    std::string words = fmt::format("Encountered unknown tag '{}'.", tag);
    for (size_t i = 0; i < ends.size(); ++i) {
      words += fmt::format(
          "{}'{}'", i == 0 ? " Jinja was looking for the following tags: " : " or ", ends[i]);
    }
    return syntax_error(line, words);
  }

  Status for_(Stmt& s) {
    s.kind = Stmt::Kind::kFor;
    T9_TRY(s.target, assign_target({.names_only = true, .end_name = "in"}));
    if (!skip_name("in")) return unexpected("in");
    T9_TRY(s.value, tuple({.with_cond = false, .end_name = "recursive"}));
    if (skip_name("if")) {
      T9_TRY(s.test, expression());
    }
    s.recursive = skip_name("recursive");
    ++loops_;
    Result<Body> inner = block_body({"endfor", "else"});
    --loops_;
    T9_TRY(s.body, std::move(inner));
    if (take().text == "endfor") return {};
    T9_TRY(s.orelse, last_body("endfor"));
    return {};
  }

  Status if_(Stmt& s) {
    s.kind = Stmt::Kind::kIf;
    for (;;) {
      T9_TRY(ExprPtr test, tuple({.with_cond = false}));
      T9_TRY(Body then, block_body({"elif", "else", "endif"}));
      s.branches.emplace_back(std::move(test), std::move(then));
      std::string tag = take().text;
      if (tag == "elif") continue;
      if (tag == "else") {
        T9_TRY(s.orelse, last_body("endif"));
      }
      return {};
    }
  }

  Status set(Stmt& s) {
    T9_TRY(s.target, assign_target({.names_only = true}));
    if (skip_op("=")) {
      s.kind = Stmt::Kind::kSet;
      T9_TRY(s.value, tuple({}));
      return {};
    }
    s.kind = Stmt::Kind::kSetBlock;
    T9_TRY(s.filter, filter_chain(nullptr, false));
    T9_TRY(s.body, last_body("endset"));
    return {};
  }

  Status signature(Stmt& s) {
    T9_TRY(expect_op("("));
    while (!current().op(")")) {
      if (!s.params.empty()) T9_TRY(expect_op(","));
      T9_TRY(std::string name, expect_name());
      s.params.push_back(intern(name));
      if (skip_op("=")) {
        T9_TRY(ExprPtr value, expression());
        s.defaults.push_back(std::move(value));
      } else if (!s.defaults.empty()) {
        return fail("non-default argument follows default argument");
      }
    }
    return expect_op(")");
  }

  Status macro(Stmt& s) {
    s.kind = Stmt::Kind::kMacro;
    T9_TRY(s.name, expect_name());
    s.name_id = intern(s.name);
    T9_TRY(signature(s));
    T9_TRY(s.body, detached_body("endmacro"));
    return {};
  }

  Status call(Stmt& s) {
    s.kind = Stmt::Kind::kCallBlock;
    if (current().op("(")) T9_TRY(signature(s));
    T9_TRY(s.value, expression());
    if (s.value->kind != Expr::Kind::kCall) return syntax_error(s.line, "expected call");
    T9_TRY(s.body, detached_body("endcall"));
    return {};
  }

  // A body that runs as a function of its own: loop controls do not reach out of it.
  Result<Body> detached_body(std::string_view end) {
    int loops = std::exchange(loops_, 0);
    Result<Body> out = last_body(end);
    loops_ = loops;
    return out;
  }

  Status generation(Stmt& s) {
    s.kind = Stmt::Kind::kScope;
    T9_TRY(s.body, detached_body("endgeneration"));
    return {};
  }

  Status filter(Stmt& s) {
    s.kind = Stmt::Kind::kFilterBlock;
    T9_TRY(s.filter, filter_chain(nullptr, true));
    T9_TRY(s.body, last_body("endfilter"));
    return {};
  }

  Status with(Stmt& s) {
    s.kind = Stmt::Kind::kWith;
    while (current().kind != TokenKind::kBlockEnd) {
      if (!s.targets.empty()) T9_TRY(expect_op(","));
      T9_TRY(ExprPtr target, assign_target({.names_only = true}));
      s.targets.push_back(std::move(target));
      T9_TRY(expect_op("="));
      T9_TRY(ExprPtr value, expression());
      s.exprs.push_back(std::move(value));
    }
    T9_TRY(s.body, last_body("endwith"));
    return {};
  }

  Status print(Stmt& s) {
    while (current().kind != TokenKind::kBlockEnd) {
      if (!s.exprs.empty()) T9_TRY(expect_op(","));
      T9_TRY(ExprPtr value, expression());
      s.exprs.push_back(std::move(value));
    }
    return {};
  }

  Status block(Stmt& s) {
    s.kind = Stmt::Kind::kBlock;
    T9_TRY(s.name, expect_name());
    s.scoped = skip_name("scoped");
    if (skip_name("required"))
      return fail("required blocks need a child template, and a chat template is only one");
    if (std::find(blocks_.begin(), blocks_.end(), s.name) != blocks_.end()) {
      return fail(fmt::format("block '{}' defined twice", s.name));
    }
    blocks_.push_back(s.name);
    T9_TRY(s.body, detached_body("endblock"));
    skip_name(s.name);
    return {};
  }

  // The value counts when rendering; HTML escaping is not a chat template's business, so only "off"
  // is accepted.
  Status autoescape(Stmt& s) {
    s.kind = Stmt::Kind::kScope;
    T9_TRY(ExprPtr on, expression());
    if (on->kind != Expr::Kind::kConst || truthy(on->value)) {
      return fail("'autoescape' can only be false in a chat template");
    }
    T9_TRY(s.body, last_body("endautoescape"));
    return {};
  }

  Status loop_control(Stmt& s, bool is_break) {
    if (loops_ == 0)
      return syntax_error(s.line,
                          fmt::format("'{}' outside loop", is_break ? "break" : "continue"));
    s.kind = is_break ? Stmt::Kind::kBreak : Stmt::Kind::kContinue;
    return {};
  }

  int loops_ = 0;  // enclosing for bodies
  std::vector<std::string> blocks_;
};

}  // namespace

Result<Tree> parse(std::string_view source) {
  T9_TRY(std::vector<Token> tokens, tokenize(source));
  T9_TRY(Tree tree, Parser(std::move(tokens)).run());
  T9_TRY(resolve_scopes(&tree));
  return tree;
}

}  // namespace tempo9::chat::jinja
