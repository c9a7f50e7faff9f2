#include "server/chat_job.h"

#include <gtest/gtest.h>

#include "server/testing/fake_engine.h"

namespace tempo9::server {
namespace {

using chat::Json;
using chat::ToolChoice;

class ChatJobTest : public ::testing::Test {
 protected:
  ChatJobTest() {
    engine_.info_.chat_template =
        "{% for t in tools or [] %}<{{ t.function.name }}>{% endfor %}"
        "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}";
    service_ = Service::create(engine_, {}).value();
  }
  static chat::RenderInput input(const char* tools = "[]") {
    chat::RenderInput out;
    out.messages =
        chat::messages_from_json(Json::parse(R"([{"role": "user", "content": "hi"}])")).value();
    out.tools = chat::tools_from_json(Json::parse(tools)).value();
    return out;
  }
  std::string prompt(const ChatJob& job) {
    return service_->tokenizer().decode(job.request.prompt, true);
  }

  testing::FakeEngine engine_;
  std::shared_ptr<Service> service_;
};

constexpr const char* kTwoTools = R"([{"name": "f"}, {"name": "g"}])";

TEST_F(ChatJobTest, PromptParserAndScriptTexts) {
  ChatJob job;
  ASSERT_TRUE(prepare_chat(*service_, input(kTwoTools), {}, true, &job));
  EXPECT_EQ(prompt(job), "<f><g>user:hi;");
  EXPECT_EQ(job.parser.parser.tools.size(), 2u);
  EXPECT_EQ(job.request.match_text, "hi");
  EXPECT_EQ(job.request.echo_text, "hi");
  EXPECT_TRUE(job.request.spell_control);
  EXPECT_FALSE(job.one_call);
}

TEST_F(ChatJobTest, AListIsForQuestionsThatMayBeAnsweredWithSeveralCalls) {
  engine_.info_.is_script = false;
  const auto has_list = [&](const chat::RenderInput& asked, bool parallel,
                            std::optional<uint32_t> n_logprobs = {}) {
    ChatJob job;
    job.request.n_logprobs = n_logprobs;
    EXPECT_TRUE(prepare_chat(*service_, asked, {}, parallel, &job));
    return job.call_list != nullptr;
  };
  EXPECT_TRUE(has_list(input(kTwoTools), true));
  EXPECT_FALSE(has_list(input(kTwoTools), false));
  EXPECT_FALSE(has_list(input(), true)) << "no tools";
  EXPECT_FALSE(has_list(input(kTwoTools), true, 0)) << "the client sees each token";
  chat::RenderInput with_result = input(kTwoTools);
  with_result.messages.push_back(with_result.messages.front());
  with_result.messages.back().role = "tool";
  EXPECT_FALSE(has_list(with_result, true)) << "an answer is wanted";
}

TEST_F(ChatJobTest, OnlyWhatMayBeCalledIsShown) {
  ChatJob job;
  ASSERT_TRUE(
      prepare_chat(*service_, input(kTwoTools), {ToolChoice::Kind::kAuto, "", {"g"}}, true, &job));
  EXPECT_EQ(prompt(job), "<g>user:hi;");
  ASSERT_EQ(job.parser.parser.tools.size(), 1u);
  ChatJob none;
  ASSERT_TRUE(
      prepare_chat(*service_, input(kTwoTools), {ToolChoice::Kind::kNone, "", {}}, true, &none));
  EXPECT_EQ(prompt(none), "user:hi;");
  EXPECT_TRUE(none.parser.parser.tools.empty());
}

TEST_F(ChatJobTest, ToolsOfTheConversationAreCallableAndNotInFront) {
  ChatJob job;
  job.parser.parser.tools = chat::tools_from_json(Json::parse(R"([{"name": "late"}])")).value();
  ASSERT_TRUE(prepare_chat(*service_, input(kTwoTools), {ToolChoice::Kind::kNamed, "late", {}},
                           true, &job));
  EXPECT_EQ(prompt(job), "<f><g>user:hi;");
  EXPECT_EQ(job.parser.parser.tools.size(), 3u);
  EXPECT_TRUE(job.one_call);
}

TEST_F(ChatJobTest, ChoicesOfWhatIsNotThereAreRefused) {
  for (const ToolChoice& choice : {ToolChoice{ToolChoice::Kind::kNamed, "h", {}},
                                   ToolChoice{ToolChoice::Kind::kAuto, "", {"f", "h"}}}) {
    ChatJob job;
    const Status status = prepare_chat(*service_, input(kTwoTools), choice, true, &job);
    ASSERT_FALSE(status);
    EXPECT_TRUE(status.error().message.starts_with("tool_choice: ")) << status.error().message;
  }
  ChatJob job;
  EXPECT_FALSE(prepare_chat(*service_, input(), {ToolChoice::Kind::kRequired, "", {}}, true, &job));
}

TEST(ReplaceMedia, TheNewestUserMessageIsRefusedOthersGetANote) {
  const char* text = R"([{"role": "user", "content": [{"type": "image_url"}]},
                         {"role": "user", "content": "x"},
                         {"role": "tool", "content": [{"type": "text", "text": "t"}, {"type": "input_image"}]}])";
  auto messages = chat::messages_from_json(Json::parse(text)).value();
  ASSERT_TRUE(replace_media("messages", &messages));
  EXPECT_EQ(messages[0].parts[0].type, "text");
  EXPECT_NE(messages[2].joined_text().find("input_image left out"), std::string::npos);
  messages = chat::messages_from_json(Json::parse(text)).value();
  messages.erase(messages.begin() + 1);
  const Status status = replace_media("input", &messages);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(status.error().message.starts_with("input[0].content[0]: "));
}

TEST(ReplaceMedia, PartsOfUnknownTypesAreNotLostInSilence) {
  auto messages = chat::messages_from_json(Json::parse(R"([
      {"role": "tool", "content": [{"type": "json", "json": {}}]},
      {"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "a"}]},
      {"role": "user", "content": "x"}])"))
                      .value();
  ASSERT_TRUE(replace_media("messages", &messages));
  EXPECT_NE(messages[0].joined_text().find("json left out"), std::string::npos);
  EXPECT_EQ(messages[1].joined_text(), "a");
  messages = chat::messages_from_json(
                 Json::parse(R"([{"role": "user", "content": [{"type": "texts", "text": "x"}]}])"))
                 .value();
  const Status status = replace_media("messages", &messages);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(status.error().message.starts_with("messages[0].content[0]: "))
      << status.error().message;
}

TEST(ApplyEffort, WordsToTemplateVariables) {
  Json kwargs = Json::object();
  ASSERT_TRUE(apply_effort("e", "none", &kwargs));
  EXPECT_EQ(kwargs, Json::parse(R"({"enable_thinking": false})"));
  kwargs = Json::object();
  ASSERT_TRUE(apply_effort("e", "high", &kwargs));
  EXPECT_EQ(kwargs, Json::parse(R"({"reasoning_effort": "high"})"));
  kwargs = Json::parse(R"({"reasoning_effort": "mine", "enable_thinking": true})");
  const Json given = kwargs;
  ASSERT_TRUE(apply_effort("e", "low", &kwargs));
  ASSERT_TRUE(apply_effort("e", "none", &kwargs));
  ASSERT_TRUE(apply_effort("e", "", &kwargs));
  EXPECT_EQ(kwargs, given) << "what is said exactly wins";
  const Status status = apply_effort("reasoning.effort", "colossal", &kwargs);
  ASSERT_FALSE(status);
  EXPECT_TRUE(status.error().message.starts_with("reasoning.effort: found \"colossal\""));
}

}  // namespace
}  // namespace tempo9::server
