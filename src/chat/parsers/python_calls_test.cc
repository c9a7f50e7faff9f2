#include "chat/parsers/python_calls.h"

#include <gtest/gtest.h>

#include "chat/exact_json.h"

namespace tempo9::chat {
namespace {

std::string read_python(std::string_view text) {
  PythonScanner scanner;
  for (size_t i = 0; i < text.size(); ++i) {
    const PythonScanner::Step step = scanner.feed(text[i]);
    if (step == PythonScanner::Step::kError) return "error at " + std::to_string(i);
    if (step != PythonScanner::Step::kEnd) continue;
    if (i + 1 < text.size()) return "ends at " + std::to_string(i);
    const auto calls = parse_python_calls(text, {});
    if (!calls) return "no calls";
    std::string out;
    for (const ParsedCall& call : *calls) out += call.name + dump_exactly(call.arguments);
    return out;
  }
  return "more";
}

// Expected values are what Python's own ast.literal_eval gives for the arguments.
TEST(PythonCalls, Literals) {
  EXPECT_EQ(read_python("f(a=1, b=-2.5, c='x', d=\"y\", e=True, g=False, h=None)"),
            R"(f{"a":1,"b":-2.5,"c":"x","d":"y","e":true,"g":false,"h":null})");
  EXPECT_EQ(read_python("[f(a=[1, (2, 3), []], b={'k': {'l': 'm'}, 1: 2}), g()]"),
            R"(f{"a":[1,[2,3],[]],"b":{"k":{"l":"m"},"1":2}}g{})");
  EXPECT_EQ(
      read_python(R"(f(a='it\'s', b="\"\n\t\\", c='\x41\u00e9\U0001f600', d='a\qb'))"),
      "f{\"a\":\"it's\",\"b\":\"\\\"\\n\\t\\\\\",\"c\":\"A\u00e9\U0001F600\",\"d\":\"a\\\\qb\"}");
  EXPECT_EQ(read_python("f(a='''x'y''z''', b=\"\", c='a' 'b')"),
            R"(f{"a":"x'y''z","b":"","c":"ab"})");
  EXPECT_EQ(read_python("f(a=123456789012345678901234567890, b=true, c=null)"),
            R"(f{"a":123456789012345678901234567890,"b":true,"c":null})");
  EXPECT_EQ(read_python("search.call(query=\"x)]\")"), R"(search{"query":"x)]"})");
  EXPECT_EQ(read_python("[ f ( a = 1 , ) , ]"), R"(f{"a":1})");
}

TEST(PythonCalls, WhatIsNone) {
  EXPECT_EQ(read_python("[1]"), "error at 2");
  EXPECT_EQ(read_python("[]"), "no calls");
  EXPECT_EQ(read_python("f(1)"), "no calls");
  EXPECT_EQ(read_python("f(a=b)"), "no calls");
  EXPECT_EQ(read_python("f(a=1"), "more");
  EXPECT_EQ(read_python("f(a='"), "more");
  EXPECT_EQ(read_python("[f(a=1)"), "more");
  EXPECT_EQ(read_python("f(a=1]"), "error at 5");
  EXPECT_EQ(read_python("[f() g()]"), "error at 5");
  EXPECT_EQ(read_python("f()x"), "ends at 2");
}

}  // namespace
}  // namespace tempo9::chat
