#include "server/dialects/openai_responses_input.h"

#include <gtest/gtest.h>

namespace tempo9::server::openai {
namespace {

struct ReadItems {
  std::vector<chat::Message> messages;
  std::vector<std::string> warnings;
  ResponseTools tools;
  Status status;
};

ReadItems read(const char* json, ItemReader::Lookup lookup = nullptr) {
  ReadItems out;
  ItemReader reader(&out.tools, std::move(lookup), &out.warnings);
  const Json items = Json::parse(json);
  for (size_t i = 0; i < items.size() && out.status; ++i)
    out.status = reader.read(items[i], fmt::format("input[{}]", i));
  out.messages = std::move(reader.messages());
  return out;
}

TEST(ReasoningText, ComesBackFromItsEncryptedForm) {
  for (const std::string text : {"", "a", "ab", "abc", "abcd", "ü 🧑‍💻 \n\"x\""}) {
    EXPECT_EQ(decode_reasoning(encode_reasoning(text)), text);
  }
  // RFC 4648, section 10.
  EXPECT_TRUE(encode_reasoning("foobar").ends_with("Zm9vYmFy"));
  EXPECT_TRUE(encode_reasoning("fooba").ends_with("Zm9vYmE"));
  EXPECT_EQ(decode_reasoning("gAAAAABo"), std::nullopt);
  EXPECT_EQ(decode_reasoning("t9r1.!"), std::nullopt);
  EXPECT_EQ(decode_reasoning("t9r1._w"), std::nullopt) << "byte FF";
}

TEST(ItemReader, OneTurnOfTheModelIsOneMessage) {
  const auto got = read(R"([
    {"role": "user", "content": "go"},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}], "content": null},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I "},
                                                         {"type": "output_text", "text": "look."}]},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\":1}"},
    {"type": "function_call", "call_id": "c2", "name": "g", "namespace": "ns", "arguments": ""},
    {"type": "function_call_output", "call_id": "c1", "output": "one"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "two"}]},
    {"type": "message", "role": "assistant", "content": "Done."}])");
  ASSERT_TRUE(got.status) << got.status.error().message;
  ASSERT_EQ(got.messages.size(), 5u);
  const chat::Message& turn = got.messages[1];
  EXPECT_EQ(turn.role, "assistant");
  EXPECT_EQ(turn.reasoning_content, "hm");
  EXPECT_EQ(turn.text, "I look.");
  ASSERT_EQ(turn.tool_calls.size(), 2u);
  EXPECT_EQ(turn.tool_calls[0].arguments, "{\"a\":1}");
  EXPECT_EQ(turn.tool_calls[1].name, "ns__g");
  EXPECT_EQ(turn.tool_calls[1].arguments, Json::object());
  EXPECT_EQ(got.messages[2].tool_call_id, "c1");
  EXPECT_EQ(got.messages[3].role, "tool");
  EXPECT_EQ(got.messages[3].joined_text(), "two");
  EXPECT_EQ(got.messages[4].text, "Done.");
}

TEST(ItemReader, TwoTextsOfTheAssistantStayTwoTurns) {
  const auto got = read(
      R"([{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"},
          {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "t"}]},
          {"role": "assistant", "content": "c"}])");
  ASSERT_EQ(got.messages.size(), 3u);
  EXPECT_EQ(got.messages[2].reasoning_content, "t");
  EXPECT_EQ(got.messages[2].text, "c");
}

TEST(ItemReader, ReasoningIsTakenFromWhereverItStands) {
  const std::string ours = encode_reasoning("kept");
  const auto got =
      read((R"([{"type": "reasoning", "summary": [], "encrypted_content": ")" + ours + R"("},
           {"role": "user", "content": "x"},
           {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}])")
               .c_str());
  ASSERT_EQ(got.messages.size(), 2u) << "what only its maker can read makes no turn";
  EXPECT_EQ(got.messages[0].reasoning_content, "kept");
}

TEST(ItemReader, CallsOfEveryKindAndTheirResults) {
  const auto got = read(R"([
    {"type": "custom_tool_call", "call_id": "1", "name": "patch", "input": "*** \"x\""},
    {"type": "custom_tool_call_output", "call_id": "1", "output": "ok"},
    {"type": "local_shell_call", "id": "l", "call_id": "2", "action": {"type": "exec", "command": ["ls"]}},
    {"type": "local_shell_call_output", "id": "2", "output": "files"},
    {"type": "shell_call", "call_id": "3", "action": {"commands": ["ls"]}},
    {"type": "shell_call_output", "call_id": "3", "output": [{"stdout": "a"}]},
    {"type": "apply_patch_call", "call_id": "4", "operation": {"type": "delete_file", "path": "p"}},
    {"type": "apply_patch_call_output", "call_id": "4", "status": "completed"},
    {"type": "tool_search_call", "call_id": "5", "execution": "client", "arguments": {"query": "q"}},
    {"type": "tool_search_output", "call_id": "5", "tools": [{"type": "function", "name": "late"}]},
    {"type": "mcp_call", "id": "6", "server_label": "s", "name": "n", "arguments": "{}", "output": "res"}])");
  ASSERT_TRUE(got.status) << got.status.error().message;
  ASSERT_EQ(got.messages.size(), 12u);
  const char* calls[] = {"patch", "local_shell", "shell", "apply_patch", "tool_search", "s__n"};
  for (size_t i = 0; i < 6; ++i) {
    ASSERT_EQ(got.messages[2 * i].tool_calls.size(), 1u);
    EXPECT_EQ(got.messages[2 * i].tool_calls[0].name, calls[i]);
    EXPECT_EQ(got.messages[2 * i + 1].role, "tool");
    EXPECT_EQ(got.messages[2 * i].tool_calls[0].id, got.messages[2 * i + 1].tool_call_id);
  }
  EXPECT_EQ(got.messages[0].tool_calls[0].arguments["input"], "*** \"x\"");
  EXPECT_EQ(got.messages[2].tool_calls[0].arguments, Json::parse(R"({"command": ["ls"]})"));
  EXPECT_EQ(got.messages[3].joined_text(), "files");
  EXPECT_EQ(got.messages[5].joined_text(), R"([{"stdout":"a"}])");
  EXPECT_EQ(got.messages[7].joined_text(), "completed");
  EXPECT_NE(got.messages[9].joined_text().find("\"late\""), std::string::npos);
  EXPECT_EQ(got.tools.loaded().size(), 1u);
  EXPECT_EQ(got.messages[11].joined_text(), "res");
}

TEST(ItemReader, HostedItemsAreSkippedWithOneWarningAKind) {
  const auto got = read(R"([{"type": "web_search_call"}, {"type": "web_search_call"},
                            {"type": "compaction", "encrypted_content": "x"}, {"type": "ghost_snapshot"}])");
  EXPECT_TRUE(got.status);
  EXPECT_TRUE(got.messages.empty());
  EXPECT_EQ(got.warnings.size(), 3u);
}

TEST(ItemReader, ReferencesAreLookedUp) {
  const Json kept{{"type", "message"}, {"role", "assistant"}, {"content", "kept"}};
  const auto lookup = [&](const std::string& id) { return id == "msg_1" ? &kept : nullptr; };
  const auto got = read(R"([{"type": "item_reference", "id": "msg_1"}, {"id": "msg_1"}])", lookup);
  ASSERT_EQ(got.messages.size(), 2u);
  EXPECT_EQ(got.messages[0].text, "kept");
  const auto missing = read(R"([{"type": "item_reference", "id": "msg_2"}])", lookup);
  ASSERT_FALSE(missing.status);
  EXPECT_EQ(missing.status.error().code, ErrorCode::kNotFound);
  // A stored item cannot send the reader round in circles.
  const Json itself{{"type", "item_reference"}, {"id", "a"}};
  const auto circle = read(R"([{"id": "a"}])", [&](const std::string&) { return &itself; });
  EXPECT_FALSE(circle.status);
}

TEST(ItemReader, PicturesStayParts) {
  const auto got = read(R"([{"type": "function_call_output", "call_id": "c", "output": [
      {"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": "data:,"}]}])");
  ASSERT_EQ(got.messages.size(), 1u);
  ASSERT_EQ(got.messages[0].parts.size(), 2u);
  EXPECT_EQ(got.messages[0].parts[1].type, "input_image");
}

TEST(ItemReader, ErrorsNameThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {R"([5])", "input[0]: "},
      {R"([{}])", "input[0].type: "},
      {R"([{"type": "massage"}])", "input[0].type: "},
      {R"([{"type": "message"}])", "input[0].role: "},
      {R"([{"role": "tool", "content": ""}])", "input[0].role: "},
      {R"([{"role": "user", "content": 5}])", "input[0].content: "},
      {R"([{"role": "user", "content": [{"type": "x"}]}])", "input[0].content[0].type: "},
      {R"([{"role": "user", "content": [{"type": "input_text"}]}])", "input[0].content[0].text: "},
      {R"([{"role": "assistant", "content": [{"type": "input_image"}]}])", "input[0].content: "},
      {R"([{"type": "function_call", "name": "f", "arguments": 5}])", "input[0].arguments: "},
      {R"([{"type": "function_call_output", "call_id": 5, "output": ""}])", "input[0].call_id: "},
      {R"([{"type": "custom_tool_call", "name": "f", "input": {}}])", "input[0].input: "},
      {R"([{"type": "tool_search_output", "tools": 1}])", "input[0].tools: "},
  };
  for (const auto& [json, place] : cases) {
    const auto got = read(json);
    ASSERT_FALSE(got.status) << json;
    EXPECT_TRUE(got.status.error().message.starts_with(place)) << got.status.error().message;
  }
}

}  // namespace
}  // namespace tempo9::server::openai
