#include "chat/parsers/exact_json.h"

#include <gtest/gtest.h>

namespace tempo9::chat {
namespace {

TEST(ExactJson, NumbersKeepTheirDigits) {
  for (std::string text :
       {"18446744073709551615", "18446744073709551616", "-9223372036854775808",
        "-9223372036854775809", "123456789012345678901234567890", "[1,[-99999999999999999999],2]",
        R"({"b":99999999999999999999,"a":{"z":[],"y":{}}})", R"({"a\"b":"c","d":[true,null,1.5]})",
        "[2.50,1e3,-0.0,3.141592653589793238]"}) {
    const auto value = parse_exactly(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(dump_exactly(*value), text);
  }
}

TEST(ExactJson, IsTheLibrarysParserOtherwise) {
  for (std::string text :
       {R"({"a": [1, -2.5, 1000.0, {"b": "\u00e9"}, []], "a": 2, "c": {}})", "[]", "3", "\"x\"",
        "[[1],[2,[3]],{\"k\":[{\"l\":1},{\"m\":2}]}]", "{", "[1,]", "", "1e400", "nul", "{} {}"}) {
    const Json want = Json::parse(text, nullptr, false);
    const auto got = parse_exactly(text);
    ASSERT_EQ(got.has_value(), !want.is_discarded()) << text;
    if (got) {
      EXPECT_EQ(dump_exactly(*got), want.dump()) << text;
    }
  }
  EXPECT_FALSE(parse_exactly(std::string_view("{}\0", 3)));
}

}  // namespace
}  // namespace tempo9::chat
