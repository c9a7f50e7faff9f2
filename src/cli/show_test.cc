#include "cli/show.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/testing/temp_folder.h"
#include "cli/cli.h"
#include "gguf/test_writer.h"

namespace tempo9::cli {
namespace {

using gguf::Bytes;
using gguf::Kind;
using gguf::TestWriter;

constexpr std::string_view kTemplate =
    "{% for message in messages %}\n{{ message.content }}\n{% endfor %}\nthe end";

TestWriter model() {
  TestWriter w;
  w.string("general.architecture", "llama")
      .string("general.name", "Tiny")
      .u32("llama.block_count", 2);
  w.u32("llama.context_length", 512).u32("llama.attention.head_count", 4);
  w.string("tokenizer.ggml.model", "gpt2").string("tokenizer.ggml.pre", "qwen2");
  w.array("tokenizer.ggml.tokens", gguf::strings({"a", "b", "ab", "<|end|>", "c", "d", "e"}));
  w.array("tokenizer.ggml.token_type", gguf::numbers<int32_t>(Kind::kI32, {1, 1, 1, 3, 1, 1, 1}));
  w.array("tokenizer.ggml.merges", gguf::strings({"a b"})).u32("tokenizer.ggml.eos_token_id", 3);
  w.u32("tokenizer.ggml.bos_token_id", 99).string("tokenizer.chat_template", kTemplate);
  w.f32("output_norm.weight", 64);
  w.tensor({"token_embd.weight", {64, 7}, 2, std::vector<uint8_t>(7 * 36), {}, {}});
  return w;
}

class ShowTest : public testing::Test {
 protected:
  int show(const TestWriter& writer, const ShowOptions& options = {}) {
    const auto bytes = writer.build();
    {
      std::ofstream file(path_, std::ios::binary);
      file.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    }
    return run_show(path_, out_, err_, options);
  }
  void expect_line(std::string_view line) const {
    EXPECT_NE(fmt::format("\n{}", out_.str()).find(fmt::format("\n{}\n", line)), std::string::npos)
        << "no line \"" << line << "\" in\n"
        << out_.str();
  }
  const TempFolder folder_;
  const std::string path_ = folder_.file("model.gguf");
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ShowTest, SummarisesTheModel) {
  ASSERT_EQ(show(model()), 0) << err_.str();
  expect_line(path_);
  expect_line("  format             GGUF version 3");
  expect_line("  contents           2 tensors, 13 metadata keys");
  expect_line("  architecture       llama");
  expect_line("  name               Tiny");
  expect_line("  layers             2");
  expect_line("  context length     512");
  expect_line("  heads              4");
  expect_line("  parameters         512 at 7.94 bits each");
}

TEST_F(ShowTest, SummarisesTheTokenizer) {
  ASSERT_EQ(show(model()), 0);
  expect_line("  model              gpt2");
  expect_line("  pre-tokenizer      qwen2");
  expect_line("  tokens             7");
  expect_line("  token types        6 normal, 1 control");
  expect_line("  merges             1");
  expect_line("  eos token          3 \"<|end|>\"");
  expect_line("  bos token          99 (outside the vocabulary)");
}

TEST_F(ShowTest, ListsMetadataAndTensors) {
  ASSERT_EQ(show(model()), 0);
  expect_line("  general.architecture         string    \"llama\"");
  expect_line(
      "  tokenizer.ggml.tokens        [string]  [\"a\", \"b\", \"ab\", \"<|end|>\", \"c\", \"d\", "
      "... 7 in all]");
  expect_line("  token_embd.weight   Q4_0                    64 x 7             252 bytes");
  expect_line("  output_norm.weight  F32                         64             256 bytes");
  expect_line("  F32            1 tensors                64 elements   256 bytes");
  expect_line("  Q4_0           1 tensors               448 elements   252 bytes");
}

TEST_F(ShowTest, TemplateIsCutUnlessAskedFor) {
  ASSERT_EQ(show(model()), 0);
  expect_line("  72 bytes, 4 lines; --template prints it whole");
  expect_line("  output format hermes");
  out_.str("");
  ASSERT_EQ(show(model(), {.full_template = true}), 0);
  EXPECT_NE(out_.str().find(fmt::format("\nChat template\n{}\n", kTemplate)), std::string::npos)
      << out_.str();
}

TEST_F(ShowTest, SaysWhenThereIsNoTemplate) {
  TestWriter w;
  ASSERT_EQ(show(w.f32("a", 8)), 0);
  expect_line("  none: the file can complete text, but not chat");
  expect_line("  architecture       not given");
}

TEST_F(ShowTest, NoControlCharactersReachTheTerminal) {
  TestWriter w;
  w.string("general.architecture", "a\x1B[2Jb").u32("k\x1B[1m", 1).f32("t\x07", 8);
  ASSERT_EQ(show(w), 0);
  EXPECT_EQ(out_.str().find('\x1B'), std::string::npos);
  EXPECT_EQ(out_.str().find('\x07'), std::string::npos);
}

TEST_F(ShowTest, ListsShards) {
  ASSERT_EQ(run_show(std::string(T9_TEST_DATA) + "/gguf/split-00002-of-00003.gguf", out_, err_), 0)
      << err_.str();
  expect_line("  shards             3");
  expect_line(fmt::format("    {}/gguf/split-00003-of-00003.gguf", T9_TEST_DATA));
}

TEST_F(ShowTest, CommandLineTakesOneFile) {
  const auto exit_code = [](std::vector<std::string> args) {
    testing::internal::CaptureStderr();
    const int code = run_show(args, Environment());
    return std::make_pair(code, testing::internal::GetCapturedStderr());
  };
  const auto [code, error] = exit_code({});
  EXPECT_EQ(code, kExitUsage);
  EXPECT_TRUE(error.starts_with("tempo9: show: model is required")) << error;
  EXPECT_EQ(exit_code({"a", "b"}).first, kExitUsage);
  EXPECT_NE(exit_code({"--tmplate", "a"}).second.find("did you mean --template?"),
            std::string::npos);
  EXPECT_EQ(exit_code({"/nonexistent.gguf"}).first, kExitFailure);
}

TEST_F(ShowTest, PrintsNothingOfAWrongFile) {
  TestWriter w = model();
  w.version = 1;
  EXPECT_EQ(show(w), 1);
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(err_.str().rfind("tempo9: " + path_ + ": is GGUF version 1", 0), 0u) << err_.str();
}

}  // namespace
}  // namespace tempo9::cli
