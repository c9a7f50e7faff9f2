#include "grammar/lark.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "grammar/testing/byte_vocab.h"

namespace tempo9::grammar {
namespace {

// Codex's.
constexpr const char* kPatch = R"(start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
)";
// Of OpenAI's guide to custom tools.
constexpr const char* kMath = R"(start: expr
expr: term (SP ADD SP term)* -> add
    | term
term: factor (SP MUL SP factor)* -> mul
    | factor
factor: INT
SP: " "
ADD: "+"
MUL: "*"
%import common.INT
)";

struct LarkCase {
  const char* grammar;
  std::vector<std::string> texts, others;
};

// The verdicts are those of the Python package lark 1.3.1 (Earley, dynamic_complete).
const LarkCase kLarkCases[] = {
    {kPatch,
     {"*** Begin Patch\n*** Add File: a.py\n+print(\"ä\")\n+\n*** End Patch",
      "*** Begin Patch\n*** Update File: a\n@@ def f():\n-x\n+y\n z\n*** End of File\n*** End "
      "Patch\n",
      "*** Begin Patch\n*** Delete File: a\n*** Update File: b\n*** Move to: c\n*** End Patch\n"},
     {"", "*** Begin Patch\n*** End Patch",
      "*** Begin Patch\n*** Add File: a.py\nprint()\n*** End Patch", "*** Add File: a\n+x\n",
      "*** Begin Patch\n*** Add File: \n+x\n*** End Patch"}},
    {kMath, {"1", "4 + 4", "1 + 2 * 33 * 4 + 5"}, {"1+2", "1 + ", "a", "* 1", "1 - 2"}},
    {"start: \"a\"i \"B\" [\"c\"]\n", {"aB", "ABc"}, {"ab", "aBC", "aBcc"}},
    {"start: X~2 Y~1..3 Z*\nX: \"x\"\nY: \"0\"..\"9\"\nZ: /[a-c]z/i\n",
     {"xx1", "xx123", "xx12azBZ"},
     {"x1", "xx", "xx1234", "xx1dz"}},
    {R"(?start: pair ("," pair)*
!pair.2: KEY ":" value
value: ESCAPED_STRING | SIGNED_NUMBER | "[" [value ("," value)*] "]"
KEY: CNAME
%import common (CNAME, ESCAPED_STRING, SIGNED_NUMBER)
%import common.WS
%ignore WS
// a comment
)",
     {"a: 1", " a:[1 , \"x\\\"y\", [ ]],\n b : -2.5e3 "},
     {"a", "a: ,", "a: [1,]", "a: \"x", "1a: 2"}},
    {"start: /a.b/s \"\\n\" /\\d{2}/\n", {"a\nb\n12", "axb\n00"}, {"ab\n12", "axb12"}},
    {"start: list\nlist: \"(\" list* \")\"\n", {"()", "(()(()))"}, {"(", "())", ""}},
    {"start: s\ns: s \"a\" | \"b\"\n", {"b", "baa"}, {"a", "ab"}},
    {"start: \"\\u00e4\\x41\\t\\\"\\\\\"\n%import common.NEWLINE -> NL\n", {"äA\t\"\\"}, {"äA"}},
};

class LarkTest : public testing::Test {
 protected:
  Grammar compile(std::string_view source, Spelling spelling) {
    const auto rules = lark_to_ebnf(source, spelling, "p-");
    EXPECT_TRUE(rules) << source << ": " << rules.error().message;
    auto compiled = compiler_->ebnf(fmt::format("root ::= p-text\n{}", *rules));
    EXPECT_TRUE(compiled) << compiled.error().message << "\n" << *rules;
    return *compiled;
  }
  Result<Compiler> compiler_ = Compiler::make(byte_vocab());
};

TEST_F(LarkTest, TextsOfTheGrammarAndNoOthers) {
  for (const LarkCase& c : kLarkCases) {
    const Grammar plain = compile(c.grammar, Spelling::kPlain);
    for (const std::string& text : c.texts) EXPECT_TRUE(accepts(plain, text)) << text;
    for (const std::string& text : c.others) EXPECT_FALSE(accepts(plain, text)) << text;
  }
}

TEST_F(LarkTest, InsideAJsonString) {
  for (const LarkCase& c : kLarkCases) {
    const Grammar json = compile(c.grammar, Spelling::kJsonString);
    const auto spelled = [](const std::string& text) {
      const std::string quoted = nlohmann::json(text).dump();
      return quoted.substr(1, quoted.size() - 2);
    };
    for (const std::string& text : c.texts) EXPECT_TRUE(accepts(json, spelled(text))) << text;
    for (const std::string& text : c.others) EXPECT_FALSE(accepts(json, spelled(text))) << text;
  }
}

TEST_F(LarkTest, WhatIsNoGrammarIsRefusedWithItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no rule named start"},
      {"start: (", "line 1: found "},
      {"start: \"a", "line 1: found a string"},
      {"\nstart: /a", "line 2: found a regular"},
      {"begin: \"a\"", "no rule named start"},
      {"start: nothing", "line 1: nothing is used"},
      {"start: \"a\"\nstart: \"b\"", "line 2: start is defined twice"},
      {"start \"a\"", "line 1: found \"a\", expected \":\""},
      {"start: \"b\"..\"a\"", "line 1: "},
      {"start: \"a\"~3..1", "line 1: "},
      {"X: y\nstart: X\ny: \"a\"", "line 1: found \"y\", expected a terminal"},
      {"start: /(/", "line 1: /(/: "},
      {"start: \"a\" | | )", "line 1: found \")\""},
      {"start: 'a'", "line 1: found '''"},
      {"start: \"\\u00\"", "line 1: found \\u"},
  };
  for (const auto& [source, reason] : cases) {
    const auto rules = lark_to_ebnf(source, Spelling::kPlain, "");
    ASSERT_FALSE(rules) << source;
    EXPECT_EQ(rules.error().code, ErrorCode::kInvalidArgument) << source;
    EXPECT_NE(rules.error().message.find(reason), std::string::npos)
        << source << " gave " << rules.error().message;
  }
}

TEST_F(LarkTest, WhatCannotBeHeldIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"start: sep{\"a\"}\nsep{x}: x", "a template"},
      {"%declare A\nstart: A", "%declare"},
      {"%import python.NAME\nstart: NAME", "an import"},
      {"%import common.NOTHING\nstart: NOTHING", "common.NOTHING"},
      {"start: /a(?=b)/", "look-around"},
      {"start: /a/x", "the flag"},
      {"start: \"a\"~6000", "more than 5000 times"},
  };
  for (const auto& [source, what] : cases) {
    const auto rules = lark_to_ebnf(source, Spelling::kPlain, "");
    ASSERT_FALSE(rules) << source;
    EXPECT_EQ(rules.error().code, ErrorCode::kUnsupported) << source << rules.error().message;
    EXPECT_NE(rules.error().message.find(what), std::string::npos) << rules.error().message;
  }
  const auto deep = lark_to_ebnf("start: " + std::string(5000, '('), Spelling::kPlain, "");
  ASSERT_FALSE(deep);
}

}  // namespace
}  // namespace tempo9::grammar
