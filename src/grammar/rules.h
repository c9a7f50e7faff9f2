// Rules of whole replies, over compiled grammars.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/call_start.h"
#include "grammar/constraint.h"
#include "grammar/grammar.h"
#include "grammar/schema.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::grammar {

// The reply is a text of the grammar. With schema it is a JSON value besides, and keeps the schema
// also where the grammar alone would not see to it: what breaks it is turned down as soon as it
// can be known.
std::shared_ptr<const Rules> grammar_rules(Grammar grammar,
                                           std::shared_ptr<const Schema> schema = nullptr);

// The arguments of a call as JSON, from how they are written. No value: they are none.
using ReadArguments = std::function<std::optional<Json>(std::string_view written)>;

// The same for values within the text: what a rule "NAME[capture] ::= ..." wrote must keep the
// schema of that name. read: for what is not written as JSON.
struct NamedSchema {
  std::string name;
  std::shared_ptr<const Schema> schema;
  ReadArguments read = {};
};
std::shared_ptr<const Rules> grammar_rules(Grammar grammar, std::vector<NamedSchema> schemas);

// The reply keeps one of the two; both, while it can still become either.
std::shared_ptr<const Rules> either(std::shared_ptr<const Rules> a, std::shared_ptr<const Rules> b);

// The same rules, for a reply whose beginning stands in the prompt.
std::shared_ptr<const Rules> begun_with(std::shared_ptr<const Rules> rules, std::string text);

// The reply is free, until a call of one of these tools begins (call_start.h). From there on its
// arguments are the value that the grammar's rule "arguments" (captured) writes, and are over where
// the grammar may end, or a JSON value is whole; behind them the reply is free again.
struct CallArguments {
  std::string name;
  Grammar grammar;
  std::shared_ptr<const Schema> schema;  // strict: held too; none: the grammar is all
  ReadArguments read = {};               // none: they are JSON
};
std::shared_ptr<const Rules> call_rules(std::vector<CallArguments> tools, CallStart start,
                                        const tokenizer::Tokenizer* tokenizer);

}  // namespace tempo9::grammar
