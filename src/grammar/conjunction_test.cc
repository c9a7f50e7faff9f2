#include "grammar/conjunction.h"

#include <gtest/gtest.h>

namespace tempo9::grammar {
namespace {

TEST(Conjunction, ReferencesAndAllOfAreFollowedInTheOrderOfTheDocument) {
  const auto schema = Schema::parse(
      R"({"type":"object","$ref":"#/$defs/a","allOf":[{"minProperties":1},{"$ref":"#/$defs/a"},{}],
          "$defs":{"a":{"$ref":"#","maxProperties":2}}})");
  ASSERT_TRUE(schema);
  const auto flat = flattened(*schema, {{&schema->root()}});
  ASSERT_TRUE(flat);
  ASSERT_EQ(flat->size(), 3u);
  EXPECT_EQ((*flat)[0].schema, &schema->root());
  EXPECT_TRUE((*flat)[1].schema->contains("maxProperties"));
  EXPECT_TRUE((*flat)[2].schema->contains("minProperties"));
}

TEST(Conjunction, FalseAndNotAnythingAreKeptByNothing) {
  for (const char* text : {"false", R"({"allOf":[false]})", R"({"not":true})", R"({"not":{}})"}) {
    const auto schema = Schema::parse(text);
    EXPECT_FALSE(flattened(*schema, {{&schema->root()}})) << text;
  }
  const auto open = Schema::parse(R"({"title":"x"})");
  EXPECT_TRUE(flattened(*open, {{&open->root()}})->empty());
}

TEST(Conjunction, AlternativesAreChosenOnce) {
  const auto schema =
      Schema::parse(R"({"anyOf":[{"type":"null"},{"$ref":"#"}],"if":true,"then":{"minimum":1}})");
  const auto flat = flattened(*schema, {{&schema->root()}});
  const auto any = alternatives(*flat);
  ASSERT_TRUE(any);
  ASSERT_EQ(any->size(), 2u);
  const auto branch = flattened(*schema, any->branch(1));
  const auto condition = alternatives(*branch);
  ASSERT_TRUE(condition);  // the "if" is left
  EXPECT_EQ(condition->size(), 2u);
  EXPECT_FALSE(alternatives(*flattened(*schema, condition->branch(0))));
}

}  // namespace
}  // namespace tempo9::grammar
