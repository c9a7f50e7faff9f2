#include "server/structure.h"

#include <gtest/gtest.h>

#include "server/testing/fake_engine.h"

namespace tempo9::server {
namespace {

class StructureTest : public ::testing::Test {
 protected:
  Structure read(std::string_view body) {
    const Json json = Json::parse(body);
    Fields fields(json);
    Structure structure = read_format(fields, "response_format");
    if (structure.kind == Structure::Kind::kNone) structure = read_structured_outputs(fields);
    status_ = fields.status();
    return structure;
  }
  std::string error(std::string_view body) {
    const Structure structure = read(body);
    if (!status_) return status_.error().message;
    engine::GenerateRequest request;
    const Status held = hold_to(*service_, structure, {}, &request);
    return held ? "" : held.error().message;
  }
  bool fits(std::string_view body, std::string_view text) {
    engine::GenerateRequest request;
    EXPECT_TRUE(hold_to(*service_, read(body), thinking_of(*service_, false, false), &request))
        << body;
    auto constraint = request.rules->start();
    return constraint && (*constraint)->accept_text(text).value_or(false) &&
           (*constraint)->can_end();
  }
  testing::FakeEngine engine_;
  std::shared_ptr<Service> service_ = *Service::create(engine_, {});
  Status status_;
};

TEST_F(StructureTest, EveryFormIsHeld) {
  constexpr std::string_view kChat =
      R"({"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"integer"}}}})";
  EXPECT_TRUE(fits(kChat, "12"));
  EXPECT_FALSE(fits(kChat, "\"12\""));
  EXPECT_TRUE(fits(
      R"({"response_format":{"type":"json_schema","name":"n","schema":{"type":"null"}}})", "null"));
  constexpr std::string_view kObject =
      R"({"response_format":{"type":"json_schema","schema":{"type":"object","properties":{"a":{}}}}})";
  EXPECT_TRUE(fits(kObject, R"({"a":1})"));
  EXPECT_FALSE(fits(kObject, R"({"a":1,"b":2})")) << "keys that nobody declared";
  EXPECT_TRUE(fits(R"({"response_format":{"type":"json_object"}})", R"({"a":1})"));
  EXPECT_FALSE(fits(R"({"response_format":{"type":"json_object"}})", "[1]"));
  EXPECT_TRUE(fits(R"({"guided_regex":"^a+$"})", "aa"));
  EXPECT_FALSE(fits(R"({"guided_regex":"a+"})", "aab"));
  EXPECT_TRUE(fits(R"({"guided_choice":["a\"b","c"]})", "a\"b"));
  EXPECT_TRUE(fits(R"({"structured_outputs":{"grammar":"root ::= \"x\""}})", "x"));
  EXPECT_TRUE(fits(R"({"guided_json":"{\"type\":\"null\"}"})", "<think>so</think>\nnull"));
}

TEST_F(StructureTest, NothingAskedIsNothingHeld) {
  engine::GenerateRequest request;
  for (const char* body :
       {"{}", R"({"response_format":{"type":"text"}})", R"({"response_format":null})"}) {
    EXPECT_TRUE(hold_to(*service_, read(body), {}, &request));
    EXPECT_EQ(request.rules, nullptr);
  }
}

TEST_F(StructureTest, ErrorsBeginWithTheField) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"response_format":"json"})", "response_format: "},
      {R"({"response_format":{"type":"yaml"}})",
       "response_format.type: found the string \"yaml\", expected "},
      {R"({"response_format":{"type":"json_schema"}})",
       "response_format.json_schema.schema: found nothing"},
      {R"({"response_format":{"type":"json_schema","json_schema":{}}})",
       "response_format.json_schema.schema: found nothing"},
      {R"({"response_format":{"type":"json_schema","schema":{"items":{"type":"x"}}}})",
       "response_format.schema: #/items: type: found \"x\""},
      {R"({"guided_regex":"("})", "guided_regex: "},
      {R"({"guided_grammar":"root ::= ("})", "guided_grammar: "},
      {R"({"guided_choice":[1]})", "guided_choice: "},
      {R"({"structured_outputs":{"regex":1}})", "structured_outputs.regex: "},
      {R"({"structured_outputs":{"regex":"a","choice":["b"]}})", "structured_outputs.choice: "},
      {R"({"structured_outputs":{"structural_tag":"x"}})", "structured_outputs.structural_tag: "},
  };
  for (const auto& [body, start] : cases)
    EXPECT_TRUE(error(body).starts_with(start)) << body << " gave " << error(body);
}

}  // namespace
}  // namespace tempo9::server
