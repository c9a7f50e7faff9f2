#include "chat/parsers/testing/read_reply.h"

namespace tempo9::chat {
namespace {

std::string read_calls(std::string_view reply) {
  return calls_text(read_reply("qwen3-coder", reply));
}

TEST(Qwen3Coder, TheSchemaDecidesTheType) {
  // Without the tag, as models do now and then; Python's spelling of a boolean.
  EXPECT_EQ(read_calls("<function=get_weather><parameter=rows>[{\"q\":\"A?\"}]</parameter>"
                       "<parameter=multi>True</parameter></function>"),
            R"(get_weather{"rows":[{"q":"A?"}],"multi":true})");
  EXPECT_EQ(read_calls("<tool_call>\n<function=get_weather>\n<parameter=city>\n12\n</parameter>\n"
                       "<parameter=days>\n12\n</parameter>\n<parameter=x>\n1.50\n</parameter>\n"
                       "<parameter=rows>\n[{\"a\":true,\"b\":null}]\n</parameter>\n</function>\n"
                       "</tool_call>"),
            R"(get_weather{"city":"12","days":12,"x":1.50,"rows":[{"a":true,"b":null}]})");
  EXPECT_EQ(read_calls("<tool_call><function=get_weather><parameter=rows>[{'a': True, 'b': None}]"
                       "</parameter></function></tool_call>"),
            R"(get_weather{"rows":[{"a":true,"b":null}]})");
  // What is not declared stays text.
  EXPECT_EQ(read_calls("<tool_call><function=f><parameter=a>12</parameter></function></tool_call>"),
            R"(f{"a":"12"})");
}

TEST(Qwen3Coder, OneLineBreakAtEachEndIsTheFormats) {
  EXPECT_EQ(
      read_calls("<tool_call>\n<function=f>\n<parameter=a>\n\n  x\n\n</parameter>\n</function>\n"
                 "</tool_call>"),
      R"(f{"a":"\n  x\n"})");
}

TEST(Qwen3Coder, AValueMayHoldTheMarks) {
  EXPECT_EQ(
      read_calls("<tool_call><function=f><parameter=a>\n</parameter> x </function></tool_call>\n"
                 "</parameter></function></tool_call>"),
      R"(f{"a":"</parameter> x </function></tool_call>"})");
}

TEST(Qwen3Coder, HalfACallIsText) {
  const std::string half = "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n";
  EXPECT_EQ(read_reply("qwen3-coder", half).text, half);
  EXPECT_EQ(read_calls(half + "</function>"), R"(f{"a":"x"})");  // the model left the last mark out
  EXPECT_EQ(read_calls("<function=unknown></function>"), "");
}

}  // namespace
}  // namespace tempo9::chat
