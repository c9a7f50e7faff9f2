// Script engines from create() to a reply. Models: tests with real and tiny files, elsewhere.
#include "engine/build.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "base/testing/temp_folder.h"
#include "gguf/test_writer.h"

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

// A vocabulary in the first of two shards, tensors in both.
std::string write_shards(const TempFolder& folder) {
  for (const uint16_t no : {uint16_t{0}, uint16_t{1}}) {
    gguf::TestWriter w;
    if (no == 0) {
      w.string("general.architecture", "qwen2").string("tokenizer.ggml.model", "gpt2");
      w.string("tokenizer.ggml.pre", "qwen2");
      w.array("tokenizer.ggml.tokens", gguf::strings({"a", "b", "ab"}));
      w.array("tokenizer.ggml.token_type", gguf::numbers<int32_t>(gguf::Kind::kI32, {1, 1, 1}));
      w.array("tokenizer.ggml.merges", gguf::strings({"a b"}));
    }
    w.u16("split.no", no).u16("split.count", 2).i32("split.tensors.count", 2);
    const auto bytes = w.f32(no == 0 ? "x" : "y", 8).build();
    folder.write(fmt::format("m-{:05}-of-00002.gguf", no + 1),
                 {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return folder.file("m-00001-of-00002.gguf");
}

TEST(Build, AModelOfWhichAnyShardWasChangedIsNotLoadedAgain) {
  const ScriptFile script("{\"text\": \"ab\"}\n");
  const TempFolder folder;
  EngineOptions options;
  options.script_path = script.path;
  options.model_path = write_shards(folder);
  options.idle_unload = std::chrono::milliseconds(1);
  const auto engine = Engine::create(options);
  ASSERT_TRUE(engine) << engine.error().message;
  const auto ask_the_unloaded = [&](const std::function<void()>& before) {
    while ((*engine)->stats().is_loaded) std::this_thread::yield();
    before();
    const auto done = std::make_shared<std::promise<Event::Finish>>();
    GenerateRequest request;
    request.prompt = {0, 1};
    EXPECT_TRUE((*engine)->submit(request, [done](Event&& event) {
      if (event.finish) done->set_value(*event.finish);
    }));
    return done->get_future().get();
  };
  EXPECT_NE(ask_the_unloaded([] {}).reason, FinishReason::kError);
  const std::string second = folder.file("m-00002-of-00002.gguf");
  const Event::Finish finish = ask_the_unloaded(
      [&] { std::filesystem::resize_file(second, std::filesystem::file_size(second) + 1); });
  ASSERT_EQ(finish.reason, FinishReason::kError);
  EXPECT_TRUE(finish.error->message.starts_with(second + ": was changed")) << finish.error->message;
}

}  // namespace
}  // namespace tempo9::engine
