#include "server/json_body.h"

#include <gtest/gtest.h>

#include <string>

namespace tempo9::server {
namespace {

std::string error_of(std::string_view body) {
  const auto parsed = parse_body(body);
  return parsed ? "" : parsed.error().message;
}

TEST(ParseBody, TakesObjects) {
  const auto body = parse_body(R"({"b": 1, "a": [true, null, "x"]})");
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(dump(*body), R"({"b":1,"a":[true,null,"x"]})") << "order is kept";
  EXPECT_EQ(error_of("\xEF\xBB\xBF{}"), "") << "a byte order mark is skipped";
}

TEST(ParseBody, RefusesWhatIsNone) {
  EXPECT_NE(error_of("").find("found nothing"), std::string::npos);
  EXPECT_NE(error_of("[1]").find("found an array"), std::string::npos);
  EXPECT_NE(error_of("{\"a\":}").find("at byte 6"), std::string::npos) << error_of("{\"a\":}");
  EXPECT_NE(error_of("{\"prompt\":\"\xFF\"}").find("0xFF at offset 11"), std::string::npos);
  const std::string utf16("\xFF\xFE{\0}\0", 6);
  EXPECT_NE(error_of(utf16).find("0xFF at offset 0"), std::string::npos);
  EXPECT_NE(error_of("{\"a\":1e999}").find("too large"), std::string::npos)
      << error_of("{\"a\":1e999}");
  EXPECT_NE(error_of("{\"a\":NaN}"), "");
  EXPECT_NE(error_of("{} x"), "");
}

// What new TextEncoder().encode(JSON.parse(text).a) gives in JavaScript.
TEST(ParseBody, HalfASurrogatePairBecomesAReplacement) {
  const std::pair<const char*, const char*> cases[] = {
      {R"(x\ud83d)", "x\xEF\xBF\xBD"},
      {R"(\uDE00x)", "\xEF\xBF\xBDx"},
      {R"(\ud83d\ud83d\ude00)", "\xEF\xBF\xBD\xF0\x9F\x98\x80"},
      {R"(\ud83d\n\ude00)", "\xEF\xBF\xBD\n\xEF\xBF\xBD"},
      {R"(\ud83d\u0041)",
       "\xEF\xBF\xBD"
       "A"},
      {R"(\ud83d\ude00)", "\xF0\x9F\x98\x80"},
      {R"(\\ud83d)", "\\ud83d"},
      {R"(\\\ud83d)", "\\\xEF\xBF\xBD"},
  };
  for (const auto& [text, expected] : cases) {
    const auto body = parse_body(fmt::format(R"({{"a":"{}"}})", text));
    ASSERT_TRUE(body) << text << ": " << body.error().message;
    EXPECT_EQ((*body)["a"], expected) << text;
  }
  EXPECT_NE(error_of(R"({"a":"\ud8)"), "");
  EXPECT_NE(error_of(R"({"a":"\ud83g"})"), "");
}

TEST(ParseBody, DepthAndKeysAreBounded) {
  const auto nested = [](size_t depth) {
    return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_EQ(error_of(nested(127)), "");
  EXPECT_NE(error_of(nested(128)).find("nested deeper than 128"), std::string::npos);
  EXPECT_NE(error_of(std::string(1 << 20, '[')).find("nested deeper"), std::string::npos);
  EXPECT_EQ(error_of("{\"a\":\"" + std::string(1000, '[') + "\\\"[[\"}"), "")
      << "brackets in strings do not count";
  std::string keys = "{";
  for (int i = 0; i < 9000; ++i) keys += fmt::format("\"{}\":1,", i);
  keys.back() = '}';
  EXPECT_NE(error_of(keys).find("more than 8192 keys"), std::string::npos);
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(find_invalid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), std::string_view::npos);
  // Overlong, surrogate, beyond U+10FFFF, cut short, lone continuation.
  for (const char* bad : {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                          "\xF0\x9F\x98", "\x80", "\xFF"}) {
    EXPECT_EQ(find_invalid_utf8(std::string("ok") + bad), 2u) << bad;
  }
}

TEST(Dump, InvalidUtf8BecomesReplacements) { EXPECT_EQ(dump(Json("\xFF")), "\"\xEF\xBF\xBD\""); }

TEST(Describe, NamesKindAndValue) {
  EXPECT_EQ(describe(Json(nullptr)), "null");
  EXPECT_EQ(describe(Json(1.5)), "the number 1.5");
  EXPECT_EQ(describe(Json("hot")), "the string \"hot\"");
  EXPECT_EQ(describe(Json::array()), "an empty array");
  // Cut between characters: 39 letters, then one of two bytes.
  const std::string text = std::string(39, 'x') + "\xC3\xA9\xC3\xA9";
  EXPECT_EQ(describe(Json(text)), "the string \"" + std::string(39, 'x') + "...\"");
}

TEST(StringAt, AbsentIsEmptyUnlessItIsNeeded) {
  const Json object = {{"s", "x"}, {"n", nullptr}, {"i", 3}};
  EXPECT_EQ(*string_at(object, "s", "o"), "x");
  EXPECT_EQ(*needed_string_at(object, "s", "o"), "x");
  for (const char* key : {"n", "absent"}) {
    EXPECT_EQ(*string_at(object, key, "o"), "");
    EXPECT_EQ(needed_string_at(object, key, "o").error().message,
              fmt::format("o.{}: found nothing, expected a string", key));
  }
  const char* wrong = "o.i: found the number 3, expected a string";
  EXPECT_EQ(string_at(object, "i", "o").error().message, wrong);
  EXPECT_EQ(needed_string_at(object, "i", "o").error().message, wrong);
}

class FieldsTest : public ::testing::Test {
 protected:
  // The error that reading one field of type T gives; "" if none.
  template <typename T>
  static std::string error(const char* text, T* out) {
    const Json object = Json::parse(text);
    Fields fields(object);
    fields.read("x", out);
    const Status status = fields.status();
    return status ? "" : status.error().message;
  }
  static std::string int_error(const char* text, int64_t* out) {
    const Json object = Json::parse(text);
    Fields fields(object);
    fields.read("x", 1, 10, out);
    const Status status = fields.status();
    return status ? "" : status.error().message;
  }
};

TEST_F(FieldsTest, AbsentAndNullKeepTheDefault) {
  float number = 7;
  EXPECT_EQ(error(R"({})", &number), "");
  EXPECT_EQ(error(R"({"x": null})", &number), "");
  EXPECT_EQ(number, 7);
}

TEST_F(FieldsTest, WrongTypesAreNamed) {
  float number = 0;
  EXPECT_EQ(error(R"({"x": "hot"})", &number), "x: found the string \"hot\", expected a number");
  EXPECT_EQ(error(R"({"x": 1e300})", &number),
            "x: found the number 1e+300, expected a number of ordinary size");
  bool flag = false;
  EXPECT_EQ(error(R"({"x": 1})", &flag), "x: found the number 1, expected true or false");
  std::string text;
  EXPECT_EQ(error(R"({"x": {}})", &text), "x: found an empty object, expected a string");
}

TEST_F(FieldsTest, WholeNumbers) {
  int64_t value = 0;
  EXPECT_EQ(int_error(R"({"x": 3.0})", &value), "");
  EXPECT_EQ(value, 3);
  EXPECT_EQ(int_error(R"({"x": 3.5})", &value),
            "x: found the number 3.5, expected a whole number from 1 to 10");
  EXPECT_NE(int_error(R"({"x": 0})", &value), "");
  EXPECT_NE(int_error(R"({"x": 11})", &value), "");
  EXPECT_NE(int_error(R"({"x": 18446744073709551615})", &value), "");
  EXPECT_NE(int_error(R"({"x": 1e30})", &value), "");
  EXPECT_NE(int_error(R"({"x": true})", &value), "");
  uint64_t seed = 0;
  EXPECT_EQ(error(R"({"x": 18446744073709551615})", &seed), "");
  EXPECT_EQ(seed, UINT64_MAX);
  EXPECT_EQ(error(R"({"x": -1})", &seed), "");
  EXPECT_EQ(seed, UINT64_MAX);
}

TEST_F(FieldsTest, ArraysNameTheElement) {
  const Json object = Json::parse(R"({"x": [1, 2, "3"]})");
  Fields fields(object, "outer.");
  std::vector<int32_t> out;
  fields.read("x", 0, 9, &out);
  EXPECT_EQ(fields.status().error().message,
            "outer.x[2]: found the string \"3\", expected a whole number from 0 to 9");
}

TEST_F(FieldsTest, RefusesOnlyWhatAsksForSomething) {
  const Json object =
      Json::parse(R"({"a": null, "b": false, "c": [], "d": {}, "e": [1], "f": true})");
  Fields fields(object);
  for (const char* key : {"a", "b", "c", "d", "missing"}) fields.refuse(key, "not available");
  EXPECT_TRUE(fields.status());
  fields.refuse("e", "not available");
  EXPECT_EQ(fields.status().error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(fields.status().error().message, "e: not available");
}

}  // namespace
}  // namespace tempo9::server
