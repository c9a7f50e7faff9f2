#include "chat/forms.h"

#include <gtest/gtest.h>

namespace tempo9::chat {
namespace {

Messages messages(const char* json) { return *messages_from_json(Json::parse(json)); }

// "role:text" of each message, calls as names in brackets.
std::string shape(const Messages& all) {
  std::string out;
  for (const Message& m : all) {
    out += (out.empty() ? "" : " | ");
    out += m.role + ":" + m.joined_text();
    for (const ToolCall& c : m.tool_calls) out += "[" + c.name + "]";
  }
  return out;
}

constexpr const char* kCalls = R"([{"role":"user","content":"q"},
  {"role":"assistant","content":"t","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\": 1}"}},{"id":"2","function":{"name":"g","arguments":{}}}]},
  {"role":"tool","tool_call_id":"2","content":"R2"},{"role":"tool","tool_call_id":"1","content":"R1"},{"role":"user","content":"z"}])";

TEST(Forms, LateSystemsBecomeUserParts) {
  EXPECT_EQ(
      shape(fold_late_systems(messages(
          R"([{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"system","content":"n"}])"))),
      "system:s | user:a | user:[System message]\nn\n[End of system message]");
}

TEST(Forms, NeighboursMerge) {
  EXPECT_EQ(
      shape(merge_turns(messages(
          R"([{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":"c"}])"))),
      "user:a\n\nb | assistant:c");
  Messages mixed = merge_turns(messages(
      R"([{"role":"user","content":[{"type":"image","x":1}]},{"role":"user","content":"b"}])"));
  ASSERT_EQ(mixed.size(), 1u);
  EXPECT_EQ(mixed[0].parts.size(), 3u);  // the picture, an empty line, the text
}

TEST(Forms, FirstSystemFolds) {
  EXPECT_EQ(shape(fold_first_system(
                messages(R"([{"role":"system","content":"s"},{"role":"user","content":"a"}])"))),
            "user:s\n\na");
  EXPECT_EQ(shape(fold_first_system(messages(
                R"([{"role":"system","content":"s"},{"role":"assistant","content":"a"}])"))),
            "user:s | assistant:a");
}

TEST(Forms, CallsOneByOneWithTheirResults) {
  EXPECT_EQ(shape(split_calls(messages(kCalls))),
            "user:q | assistant:t[f] | tool:R1 | assistant:[g] | tool:R2 | user:z");
}

TEST(Forms, CallsAsText) {
  EXPECT_EQ(shape(calls_as_text(messages(kCalls))),
            "user:q | "
            "assistant:t\n<tool_call>\n{\"name\":\"f\",\"arguments\":{\"a\":1}}\n</"
            "tool_call>\n<tool_call>\n{\"name\":\"g\",\"arguments\":{}}\n</tool_call>"
            " | user:<tool_response>\nR2\n</tool_response> | "
            "user:<tool_response>\nR1\n</tool_response> | user:z");
}

TEST(Forms, ShortIdsMatchEachOther) {
  Messages m = short_call_ids(messages(kCalls));
  EXPECT_EQ(m[1].tool_calls[0].id.size(), 9u);
  EXPECT_EQ(m[1].tool_calls[0].id, m[3].tool_call_id);
  EXPECT_EQ(m[1].tool_calls[1].id, m[2].tool_call_id);
  EXPECT_NE(m[2].tool_call_id, m[3].tool_call_id);
}

}  // namespace
}  // namespace tempo9::chat
