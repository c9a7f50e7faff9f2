#include "chat/stable.h"

#include <gtest/gtest.h>

namespace tempo9::chat {
namespace {

std::string without(std::string text) { return text.erase(0, billing_stamp(text)); }

TEST(Stable, StampsInAllTheirShapes) {
  const std::string stamp = "x-anthropic-billing-header: cc_version=9.9.9; cch=ab12c;";
  EXPECT_EQ(without(stamp), "");
  EXPECT_EQ(without(stamp + "\nYou are a helper."), "You are a helper.");
  EXPECT_EQ(without(stamp + "\r\n\r\nYou are."), "You are.");
  EXPECT_EQ(without("\n " + stamp + "\n" + stamp + "\nYou are."), "You are.");
  EXPECT_EQ(without("X-Anthropic-Billing-Header:x\nYou"), "You");
  EXPECT_EQ(without(stamp + "\n  indented"), "  indented");
}

TEST(Stable, TheSameWordsElsewhereAreText) {
  for (const char* text :
       {"The x-anthropic-billing-header: line is sent first.", "x-anthropic-billing-headers", "x-",
        "", " \n", "You are.\nx-anthropic-billing-header: cch=1;\n"}) {
    EXPECT_EQ(without(text), text);
  }
}

Message message(const std::string& role, const std::string& text) {
  return *message_from_json({{"role", role}, {"content", text}}, "m");
}

TEST(Stable, OnlySystemTextIsTouched) {
  const std::string text = "x-anthropic-billing-header: cch=1;\nrest";
  const auto messages =
      without_stamps({message("system", text), message("developer", text), message("user", text)});
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0].text, "rest");
  EXPECT_EQ(messages[1].text, "rest");
  EXPECT_EQ(messages[2].text, text);
}

TEST(Stable, BlocksAndMessagesThatWereNothingElseGo) {
  const Json blocks = {{{"type", "text"}, {"text", "x-anthropic-billing-header: cch=1;"}},
                       {{"type", "text"}, {"text", "You are."}, {"cache_control", {}}}};
  auto messages = without_stamps(
      {*message_from_json({{"role", "system"}, {"content", blocks}}, "m"),
       message("system", "x-anthropic-billing-header: cch=2;"), message("user", "")});
  ASSERT_EQ(messages.size(), 2u);
  ASSERT_EQ(messages[0].parts.size(), 1u);
  EXPECT_EQ(messages[0].joined_text(), "You are.");
  EXPECT_EQ(messages[1].role, "user");
}

}  // namespace
}  // namespace tempo9::chat
