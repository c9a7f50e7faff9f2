#include "engine/script.h"

#include <gtest/gtest.h>

#include "base/testing/temp_folder.h"

namespace tempo9::engine {
namespace {

TEST(Script, ReadsEveryField) {
  const auto lines = parse_script(
      "\xEF\xBB\xBF{\"text\": \"hi <|im_end|>\"}\r\n"
      "\n"
      R"({"pieces": ["a", {"b64": "8J+Ymg=="}, {"b64": "/w"}, ""], "when": "x", "format": "hermes",)"
      R"( "prefill_ms": 12.5, "delay_ms": 3, "finish": "error"})",
      "f");
  ASSERT_TRUE(lines) << lines.error().message;
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ((*lines)[0].number, 1u);
  EXPECT_EQ((*lines)[0].text, "hi <|im_end|>");
  EXPECT_FALSE((*lines)[0].has_pieces);
  EXPECT_EQ((*lines)[0].finish, ScriptFinish::kStop);
  const ScriptLine& line = (*lines)[1];
  EXPECT_EQ(line.number, 3u);
  EXPECT_EQ(line.pieces, (std::vector<std::string>{"a", "\xF0\x9F\x98\x9A", "\xFF", ""}));
  EXPECT_EQ(line.when, "x");
  EXPECT_EQ(line.format, "hermes");
  EXPECT_EQ(line.prefill_ms, 12.5);
  EXPECT_EQ(line.delay_ms, 3.0);
  EXPECT_EQ(line.finish, ScriptFinish::kError);
}

TEST(Script, ABadLineIsNamedByItsNumber) {
  const std::pair<const char*, const char*> cases[] = {
      {"{\"text\": ", "not JSON"},
      {"[1]", "found array, expected an object"},
      {"{}", "found neither"},
      {R"({"text": "a", "pieces": []})", "found both"},
      {R"({"text": 1})", "text: found number, expected a string"},
      {R"({"text": "a", "delay": 1})", "unknown field \"delay\""},
      {R"({"text": "a", "delay_ms": -1})", "delay_ms: found -1"},
      {R"({"text": "a", "delay_ms": "1"})", "delay_ms: found string"},
      {R"({"text": "a", "prefill_ms": 1e99})", "prefill_ms: found 1e+99"},
      {R"({"text": "a", "finish": "eos"})", "finish: found eos"},
      {R"({"text": "a", "format": ""})", "format: found \"\""},
      {R"({"text": "a", "when": null})", "when: found null"},
      {R"({"pieces": "a"})", "pieces: found string"},
      {R"({"pieces": ["a", 3]})", "pieces[1]: found number"},
      {R"({"pieces": [{"b65": "a"}]})", "pieces[0]: found another object"},
      {R"({"pieces": [{"b64": "a"}]})", "not base64"},
      {R"({"pieces": [{"b64": "ab=c"}]})", "not base64"},
      {R"({"pieces": [{"b64": "a b="}]})", "not base64"},
      {R"({"pieces": [{"b64": "=="}]})", "not base64"},
      {"{\"text\": \"\xFF\"}", "not JSON"},
  };
  for (const auto& [text, what] : cases) {
    const auto lines = parse_script("{\"text\": \"fine\"}\n" + std::string(text) + "\n", "f.jsonl");
    ASSERT_FALSE(lines) << text;
    EXPECT_EQ(lines.error().code, ErrorCode::kCorrupt);
    EXPECT_TRUE(lines.error().message.starts_with("f.jsonl:2: ")) << lines.error().message;
    EXPECT_NE(lines.error().message.find(what), std::string::npos) << lines.error().message;
  }
}

TEST(Script, FilesAreRead) {
  const TempFolder folder;
  const auto lines = read_script(folder.write("script.jsonl", "{\"text\": \"a\"}"));
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->size(), 1u);
  const auto missing = read_script(folder.file("missing.jsonl"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace tempo9::engine
