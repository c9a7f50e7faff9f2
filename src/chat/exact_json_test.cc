#include "chat/exact_json.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace tempo9::chat {
namespace {

TEST(ExactJson, NumbersKeepTheirDigits) {
  const std::vector<std::string> texts = {
      "18446744073709551615",
      "18446744073709551616",
      "-9223372036854775808",
      "-9223372036854775809",
      "123456789012345678901234567890",
      "[1,[-99999999999999999999],2]",
      R"({"b":99999999999999999999,"a":{"z":[],"y":{}}})",
      R"({"a\"b":"c","d":[true,null,1.5]})",
      "[2.50,1e3,-0.0,3.141592653589793238]",
      "1e400",
      R"([-0,0,-1E+999,1.0,{"1e400":"\"1e400"},0.1000000000000000055,-1e400])",
      "1" + std::string(400, '0')};
  for (const std::string& text : texts) {
    const auto value = parse_exactly(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(dump_exactly(*value), text);
  }
}

TEST(ExactJson, IsTheLibrarysParserOtherwise) {
  for (std::string text :
       {R"({"a": [1, -2.5, 1000.0, {"b": "\u00e9"}, []], "a": 2, "c": {}})", "[]", "3", "\"x\"",
        "[[1],[2,[3]],{\"k\":[{\"l\":1},{\"m\":2}]}]", "{", "[1,]", "", "nul", "{} {}"}) {
    const Json want = Json::parse(text, nullptr, false);
    const auto got = parse_exactly(text);
    ASSERT_EQ(got.has_value(), !want.is_discarded()) << text;
    if (got) {
      EXPECT_EQ(dump_exactly(*got), want.dump()) << text;
    }
  }
  EXPECT_FALSE(parse_exactly(std::string_view("{}\0", 3)));
}

TEST(ExactJson, NumbersBeyondAllBoundsDoNotHideOtherFaults) {
  for (const std::string text :
       {"[1e400,]", "[01e400]", "1e400e5", "[1e400", "--1e400", "{\"a\":1e400 \"b\":1}", "1.e400"})
    EXPECT_FALSE(parse_exactly(text)) << text;
}

TEST(ExactJson, MadePlain) {
  Json value = *parse_exactly("[2.50,[123456789012345678901234567890],{\"a\":-0}]");
  EXPECT_TRUE(make_plain(&value));
  EXPECT_EQ(value, Json::parse("[2.5,[1.2345678901234568e29],{\"a\":-0.0}]"));
  Json large = *parse_exactly("[-1e400]");
  EXPECT_FALSE(make_plain(&large));
  EXPECT_EQ(large[0], Json(-std::numeric_limits<double>::max()));
}

}  // namespace
}  // namespace tempo9::chat
