#include "engine/script_template.h"

#include <gtest/gtest.h>

namespace tempo9::engine {
namespace {

// What it renders is tested where the template language is (server's tests); here: the marks that
// script mode promises.
TEST(ScriptTemplate, SpeaksChatMlAndHermes) {
  const std::string_view text = script_chat_template();
  for (const char* mark : {"<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>",
                           "<tool_response>", "<tools>", "add_generation_prompt"}) {
    EXPECT_NE(text.find(mark), std::string_view::npos) << mark;
  }
}

}  // namespace
}  // namespace tempo9::engine
