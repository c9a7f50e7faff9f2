// Rules of whole replies, over compiled grammars.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
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

// The same for values within the text: what a rule "NAME[capture] ::= ..." wrote must keep the
// schema of that name.
using NamedSchemas = std::vector<std::pair<std::string, std::shared_ptr<const Schema>>>;
std::shared_ptr<const Rules> grammar_rules(Grammar grammar, NamedSchemas schemas);

// The reply keeps one of the two; both, while it can still become either.
std::shared_ptr<const Rules> either(std::shared_ptr<const Rules> a, std::shared_ptr<const Rules> b);

// The same rules, for a reply whose beginning stands in the prompt.
std::shared_ptr<const Rules> begun_with(std::shared_ptr<const Rules> rules, std::string text);

// The reply is free, until a call of one of these tools begins as {"name": "...", "arguments": in
// a tag, in a fence or at the start of a line. From there on its arguments are the value that the
// grammar's rule "value" (captured) writes; behind them it is free again.
struct CallArguments {
  std::string name;
  Grammar grammar;
  std::shared_ptr<const Schema> schema;  // strict: held too; none: the grammar is all
};
std::shared_ptr<const Rules> call_rules(std::vector<CallArguments> tools,
                                        const tokenizer::Tokenizer* tokenizer);

// If text ends with the beginning of a call, up to the colon before its arguments: its name.
std::string_view call_opening(std::string_view text);

}  // namespace tempo9::grammar
