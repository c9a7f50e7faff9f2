// From a JSON Schema to grammar rules that write its instances.
//
// The rules hold what letters can hold: types, keys in the order in which the schema declares them,
// ranges of integers, lengths, patterns, lists of values, alternatives. The rest (oneOf's "only
// one", not, if, uniqueItems, contains, dependent...: sums over what was written) lets more
// through, and is held by validate() while the reply grows. What the rules forbid is never an
// instance's fault but its form's: order of keys, white space, spelling of numbers and escapes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/notation.h"
#include "grammar/schema.h"

namespace tempo9::grammar {

// Rules whose names begin with prefix; the value itself is the rule "<prefix>value". In another
// notation than JSON the schema is that of a call's arguments, an object, and notation_rules() are
// needed besides.
// Errors: kNotFound for a schema that no value keeps; kInvalidArgument for one whose rules would be
// too many.
Result<std::string> schema_to_ebnf(const Schema& schema, const SchemaOptions& options,
                                   std::string_view prefix = "", const Notation& notation = {});

}  // namespace tempo9::grammar
