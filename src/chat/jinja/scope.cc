#include "chat/jinja/scope.h"

#include <algorithm>
#include <map>
#include <set>

#include "chat/jinja/builtins.h"
#include "chat/jinja/lexer.h"

namespace tempo9::chat::jinja {
namespace {

struct Symbols {
  const Symbols* parent = nullptr;
  std::map<NameId, Load> loads;
  std::set<NameId> stores;

  bool known(NameId name) const {
    return loads.contains(name) || (parent != nullptr && parent->known(name));
  }
  void load(NameId name) {
    if (!known(name)) loads[name] = Load::kContext;
  }
  void store(NameId name) {
    stores.insert(name);
    if (loads.contains(name)) return;
    loads[name] = parent != nullptr && parent->known(name) ? Load::kAlias : Load::kMissing;
  }
  void parameter(NameId name) {
    stores.insert(name);
    loads[name] = Load::kParameter;
  }
  // Joins the branches of an if: a name that only some branch stores begins with its outer value in
  // all.
  void join(const std::vector<Symbols>& branches) {
    std::set<NameId> fresh;
    for (const Symbols& branch : branches) {
      std::set_difference(branch.stores.begin(), branch.stores.end(), stores.begin(), stores.end(),
                          std::inserter(fresh, fresh.end()));
    }
    for (const Symbols& branch : branches) {
      for (const auto& [name, load] : branch.loads) loads[name] = load;
      stores.insert(branch.stores.begin(), branch.stores.end());
    }
    for (NameId name : fresh) {
      loads[name] = parent != nullptr && parent->known(name) ? Load::kAlias : Load::kContext;
    }
  }
  Scope scope() const {
    Scope out;
    for (const auto& [name, load] : loads) out.names.push_back({name, load});
    return out;
  }
};

template <typename F>
void for_each_child(const Expr& e, F&& f) {
  auto visit = [&](const ExprPtr& child) {
    if (child) f(*child);
  };
  for (const ExprPtr& child : e.operands) visit(child);
  for (const ExprPtr& child : e.call.positional) visit(child);
  for (const auto& [key, child] : e.call.keyword) visit(child);
  visit(e.call.dyn_args);
  visit(e.call.dyn_kwargs);
}

void load_names(const Expr& e, Symbols* symbols) {
  if (e.kind == Expr::Kind::kName || e.kind == Expr::Kind::kNsRef) symbols->load(e.name_id);
  for_each_child(e, [&](const Expr& child) { load_names(child, symbols); });
}

enum class As { kStore, kParameter };
void store_names(const Expr& target, As as, Symbols* symbols) {
  if (target.kind == Expr::Kind::kTuple) {
    for (const ExprPtr& item : target.operands) store_names(*item, as, symbols);
  } else if (target.kind == Expr::Kind::kNsRef) {
    symbols->load(target.name_id);
  } else if (as == As::kParameter) {
    symbols->parameter(target.name_id);
  } else {
    symbols->store(target.name_id);
  }
}

void declare(const Body& body, Symbols* symbols);

// What one statement means to the frame it stands in. Bodies with a frame of their own are not
// entered.
void declare(const Stmt& s, Symbols* symbols) {
  switch (s.kind) {
    case Stmt::Kind::kOutput:
      for (const ExprPtr& e : s.exprs) load_names(*e, symbols);
      break;
    case Stmt::Kind::kIf: {
      // Every elif stands inside the first if, so all branches but the first test start from the
      // same names.
      load_names(*s.branches.front().first, symbols);
      std::vector<Symbols> branches;
      for (size_t i = 0; i < s.branches.size(); ++i) {
        Symbols branch = *symbols;
        if (i != 0) load_names(*s.branches[i].first, &branch);
        declare(s.branches[i].second, &branch);
        branches.push_back(std::move(branch));
      }
      branches.push_back(*symbols);
      declare(s.orelse, &branches.back());
      symbols->join(branches);
      break;
    }
    case Stmt::Kind::kFor:
      load_names(*s.value, symbols);
      break;
    case Stmt::Kind::kSet:
      load_names(*s.value, symbols);
      store_names(*s.target, As::kStore, symbols);
      break;
    case Stmt::Kind::kSetBlock:
      store_names(*s.target, As::kStore, symbols);
      break;
    case Stmt::Kind::kMacro:
      symbols->store(s.name_id);
      break;
    case Stmt::Kind::kCallBlock:
      load_names(*s.value, symbols);
      break;
    case Stmt::Kind::kFilterBlock:
      load_names(*s.filter, symbols);
      break;
    case Stmt::Kind::kWith:
      for (const ExprPtr& e : s.exprs) load_names(*e, symbols);
      break;
    default:
      break;
  }
}

void declare(const Body& body, Symbols* symbols) {
  for (const StmtPtr& s : body) declare(*s, symbols);
}

// Is `name` read in the body before the body stores it? Blocks are not entered.
class Undeclared {
 public:
  explicit Undeclared(NameId name) : name_(name) {}
  bool in(const Body& body) {
    for (const StmtPtr& s : body) visit(*s);
    return found_;
  }

 private:
  void visit(const Expr& e) {
    if (e.kind == Expr::Kind::kName && e.name_id == name_ && !stored_) found_ = true;
    for_each_child(e, [this](const Expr& child) { visit(child); });
  }
  void visit(const ExprPtr& e) {
    if (e) visit(*e);
  }
  void store(const Expr& target) {
    if (target.kind == Expr::Kind::kName && target.name_id == name_) stored_ = true;
    for (const ExprPtr& item : target.operands) store(*item);
  }
  void visit(const Stmt& s) {
    if (s.kind == Stmt::Kind::kBlock) return;
    if (s.target) store(*s.target);
    for (const ExprPtr& t : s.targets) store(*t);
    for (NameId param : s.params) stored_ = stored_ || param == name_;
    for (const ExprPtr& e : s.exprs) visit(e);
    for (const ExprPtr& e : s.defaults) visit(e);
    visit(s.value);
    visit(s.test);
    visit(s.filter);
    for (const auto& [test, then] : s.branches) {
      visit(test);
      in(then);
    }
    in(s.body);
    in(s.orelse);
  }

  NameId name_;
  bool stored_ = false, found_ = false;
};

class Resolver {
 public:
  explicit Resolver(Tree* tree) : tree_(*tree) {}

  Status run() {
    Symbols root;
    declare(tree_.body, &root);
    tree_.scope = root.scope();
    return enter(tree_.body, root, false);
  }

 private:
  // soft: inside an if, where an unknown filter is only an error when it is reached.
  Status check(const Expr& e, bool soft) {
    if (e.kind == Expr::Kind::kFilter && !soft && find_filter(e.name) == nullptr) {
      return syntax_error(e.line, fmt::format("No filter named '{}'.", e.name));
    }
    if (e.kind == Expr::Kind::kTest && !soft && find_test(e.name) == nullptr) {
      return syntax_error(e.line, fmt::format("No test named '{}'.", e.name));
    }
    Status status;
    for_each_child(e, [&](const Expr& child) {
      if (status) status = check(child, soft || e.kind == Expr::Kind::kCond);
    });
    return status;
  }
  Status check(const ExprPtr& e, bool soft) {
    if (!e) return {};
    return check(*e, soft);
  }

  Status enter(Body& body, const Symbols& symbols, bool soft) {
    for (StmtPtr& s : body) T9_TRY(enter(*s, symbols, soft));
    return {};
  }

  // A body in a frame of its own, with the names that `own` says already in it.
  Status inner(Body& body, Symbols own, Scope* scope) {
    declare(body, &own);
    *scope = own.scope();
    return enter(body, own, false);
  }

  Status enter(Stmt& s, const Symbols& outer, bool soft) {
    for (const ExprPtr& e : s.exprs) T9_TRY(check(e, soft));
    for (const ExprPtr& e : s.defaults) T9_TRY(check(e, false));
    T9_TRY(check(s.value, soft));
    T9_TRY(check(s.filter, false));
    T9_TRY(check(s.test, false));
    Symbols own;
    own.parent = &outer;
    switch (s.kind) {
      case Stmt::Kind::kIf:
        for (auto& [test, then] : s.branches) {
          T9_TRY(check(test, true));
          T9_TRY(enter(then, outer, true));
        }
        return enter(s.orelse, outer, true);
      case Stmt::Kind::kFor:
        return enter_for(s, outer);
      case Stmt::Kind::kMacro:
      case Stmt::Kind::kCallBlock:
        return enter_macro(s, std::move(own));
      case Stmt::Kind::kFilterBlock:
        load_names(*s.filter, &own);
        return inner(s.body, std::move(own), &s.scope);
      case Stmt::Kind::kWith:
        for (const ExprPtr& target : s.targets) store_names(*target, As::kParameter, &own);
        return inner(s.body, std::move(own), &s.scope);
      case Stmt::Kind::kBlock:
        if (!s.scoped) own.parent = nullptr;
        return inner(s.body, std::move(own), &s.scope);
      case Stmt::Kind::kSetBlock:
      case Stmt::Kind::kScope:
        return inner(s.body, std::move(own), &s.scope);
      default:
        return {};
    }
  }

  Status enter_for(Stmt& s, const Symbols& outer) {
    T9_TRY(refuse_loop_target(s));
    Symbols own;
    own.parent = &outer;
    s.extended = s.recursive || Undeclared(tree_.loop).in(s.body);
    if (s.extended) own.parameter(tree_.loop);
    store_names(*s.target, As::kParameter, &own);
    T9_TRY(inner(s.body, own, &s.scope));
    if (s.test) {
      Symbols test;
      test.parent = &outer;
      store_names(*s.target, As::kParameter, &test);
      load_names(*s.test, &test);
      s.test_scope = test.scope();
    }
    Symbols orelse;
    orelse.parent = &outer;
    return inner(s.orelse, std::move(orelse), &s.orelse_scope);
  }

  Status refuse_loop_target(const Stmt& s) const {
    if (s.target && stores_loop(*s.target)) {
      return syntax_error(s.line, "Can't assign to special loop variable in for-loop target");
    }
    for (const ExprPtr& t : s.targets) {
      if (s.kind != Stmt::Kind::kWith && stores_loop(*t))
        return syntax_error(s.line, "Can't assign to special loop variable");
    }
    auto all = [this](const Body& body) -> Status {
      for (const StmtPtr& child : body) T9_TRY(refuse_loop_target(*child));
      return {};
    };
    T9_TRY(all(s.body));
    T9_TRY(all(s.orelse));
    for (const auto& [test, then] : s.branches) T9_TRY(all(then));
    return {};
  }

  bool stores_loop(const Expr& target) const {
    if (target.kind == Expr::Kind::kName) return target.name_id == tree_.loop;
    return target.kind == Expr::Kind::kTuple &&
           std::any_of(target.operands.begin(), target.operands.end(),
                       [this](const ExprPtr& e) { return stores_loop(*e); });
  }

  Status enter_macro(Stmt& s, Symbols own) {
    for (NameId param : s.params) own.parameter(param);
    for (const ExprPtr& value : s.defaults) load_names(*value, &own);
    auto has = [&](NameId name) {
      return std::find(s.params.begin(), s.params.end(), name) != s.params.end();
    };
    s.uses_caller = Undeclared(tree_.caller).in(s.body);
    s.explicit_caller = has(tree_.caller);
    s.uses_kwargs = !has(tree_.kwargs) && Undeclared(tree_.kwargs).in(s.body);
    s.uses_varargs = !has(tree_.varargs) && Undeclared(tree_.varargs).in(s.body);
    if (s.uses_caller && s.explicit_caller) {
      auto at = static_cast<size_t>(std::find(s.params.begin(), s.params.end(), tree_.caller) -
                                    s.params.begin());
      if (at + s.defaults.size() < s.params.size()) {
        return syntax_error(s.line,
                            "When defining macros or call blocks the special \"caller\" argument "
                            "must be omitted or be given a default.");
      }
    }
    if (s.uses_caller && !s.explicit_caller) own.parameter(tree_.caller);
    if (s.uses_kwargs) own.parameter(tree_.kwargs);
    if (s.uses_varargs) own.parameter(tree_.varargs);
    return inner(s.body, std::move(own), &s.scope);
  }

  Tree& tree_;
};

}  // namespace

Status resolve_scopes(Tree* tree) { return Resolver(tree).run(); }

}  // namespace tempo9::chat::jinja
