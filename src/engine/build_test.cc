// Script engines from create() to a reply. Models: tests with real and tiny files, elsewhere.
#include "engine/build.h"

#include <gtest/gtest.h>

#include <future>

#include "base/testing/temp_folder.h"

namespace tempo9::engine {
namespace {

struct ScriptFile {
  explicit ScriptFile(const std::string& content) : path(folder.write("script.jsonl", content)) {}
  TempFolder folder;
  std::string path;
};

TEST(Build, AScriptWithoutAFile) {
  const ScriptFile script("{\"text\": \"hello\", \"format\": \"hermes\"}\n");
  EngineOptions options;
  options.script_path = script.path;
  const auto engine = Engine::create(options);
  ASSERT_TRUE(engine) << engine.error().message;
  const ModelInfo& info = (*engine)->info();
  EXPECT_EQ(info.name, "script");
  EXPECT_EQ(info.max_length, 32768u);
  EXPECT_TRUE(info.is_script);
  EXPECT_TRUE(info.chat_template.has_value());
  EXPECT_EQ(info.script_formats.at(0).line, 1u);
  EXPECT_EQ(info.script_formats.at(0).name, "hermes");

  std::promise<std::string> done;
  std::string text;
  GenerateRequest request;
  request.prompt = {'h', 'i'};
  ASSERT_TRUE((*engine)->submit(request, [&](Event&& event) {
    text += event.text;
    if (event.finish) done.set_value(text + event.format);
  }));
  EXPECT_EQ(done.get_future().get(), "hellohermes");
}

TEST(Build, ABadScriptLineStopsTheStart) {
  const ScriptFile script("{\"text\": \"hello\"}\nnonsense\n");
  EngineOptions options;
  options.script_path = script.path;
  const auto engine = Engine::create(options);
  ASSERT_FALSE(engine);
  EXPECT_TRUE(engine.error().message.starts_with(script.path + ":2: "));
}

TEST(Build, MissingFilesAreNamed) {
  EngineOptions options;
  options.model_path = "/nonexistent/model.gguf";
  const auto engine = Engine::create(options);
  ASSERT_FALSE(engine);
  EXPECT_NE(engine.error().message.find("/nonexistent/model.gguf"), std::string::npos);
}

}  // namespace
}  // namespace tempo9::engine
