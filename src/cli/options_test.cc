#include "cli/options.h"

#include <gtest/gtest.h>

namespace tempo9::cli {
namespace {

Result<ParsedOptions> parse_serve(std::vector<std::string> args, Environment environment = {}) {
  return parse_serve_options(args, environment);
}

std::string serve_error(std::vector<std::string> args) {
  const auto parsed = parse_serve(std::move(args));
  if (parsed) return "";
  EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
  return parsed.error().message;
}

TEST(Options, Defaults) {
  const auto parsed = parse_serve({"--gguf", "F.gguf"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  const ServeOptions& options = parsed->options;
  EXPECT_EQ(options.engine.model_path, "F.gguf");
  EXPECT_EQ(options.engine.max_batch, 16u);
  EXPECT_EQ(options.engine.max_length, 0u);
  EXPECT_EQ(options.engine.kv_type, "i16");
  EXPECT_EQ(options.server.port, 11435);
  EXPECT_EQ(options.server.host, "127.0.0.1");
}

engine::EngineOptions offload(Environment environment) {
  const auto parsed = parse_serve({"F.gguf"}, std::move(environment));
  EXPECT_TRUE(parsed);
  return parsed ? parsed->options.engine : engine::EngineOptions{};
}

TEST(Options, TheKvCacheIsKeptOnDiskUnlessSwitchedOff) {
  EXPECT_EQ(offload({.cache_home = "/c"}).kv_folder, "/c/tempo9/kv");
  EXPECT_EQ(offload({.cache_home = "/c"}).kv_disk_bytes, 16'000'000'000u);
  EXPECT_EQ(offload({}).kv_folder, "");  // nowhere to put it
  EXPECT_EQ(offload({.kv_offload = "1", .kv_offload_path = "/p", .cache_home = "/c"}).kv_folder,
            "/p");
  EXPECT_EQ(offload({.kv_offload_gb = "0.064", .kv_offload_path = "/p"}).kv_disk_bytes,
            64'000'000u);
  EXPECT_EQ(offload({.kv_offload = "0", .kv_offload_path = "/p", .cache_home = "/c"}).kv_folder,
            "");
  EXPECT_EQ(offload({.kv_offload_gb = "0", .cache_home = "/c"}).kv_folder, "");
}

TEST(Options, OddOffloadVariablesAreNamed) {
  for (const char* text : {"many", "-1", "1G", "", "nan", "1e99"}) {
    const auto parsed = parse_serve({"F.gguf"}, {.kv_offload_gb = text});
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kIo);
    EXPECT_NE(parsed.error().message.find("AS_KV_OFFLOAD_GB"), std::string::npos);
  }
  EXPECT_FALSE(parse_serve({"F.gguf"}, {.kv_offload = "yes"}));
}

TEST(Options, AllFlags) {
  const auto parsed = parse_serve({"F.gguf",
                                   "--name",
                                   "n",
                                   "--port=0",
                                   "--max-length",
                                   "99",
                                   "--max-batch",
                                   "3",
                                   "--threads",
                                   "2",
                                   "--kv-type",
                                   "f32",
                                   "--pooling",
                                   "last",
                                   "--memory",
                                   "2G",
                                   "--chat-template-file",
                                   "t",
                                   "--tool-parser",
                                   "qwen3-coder",
                                   "--host",
                                   "0.0.0.0",
                                   "--api-key",
                                   "k",
                                   "--allow-origin",
                                   "http://a",
                                   "--allow-origin",
                                   "http://b",
                                   "--allow-host",
                                   "c",
                                   "--speculation-k",
                                   "0"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  const ServeOptions& options = parsed->options;
  EXPECT_EQ(options.engine.model_path, "F.gguf");
  EXPECT_EQ(options.name, "n");
  EXPECT_EQ(options.tool_parser, "qwen3-coder");
  EXPECT_EQ(options.engine.pooling, "last");
  EXPECT_EQ(options.engine.max_length, 99u);
  EXPECT_EQ(options.engine.n_threads, 2u);
  EXPECT_EQ(options.engine.memory_bytes, uint64_t{2} << 30);
  EXPECT_EQ(options.server.api_keys, std::vector<std::string>{"k"});
  EXPECT_EQ(options.server.allow_origins, (std::vector<std::string>{"http://a", "http://b"}));
}

TEST(Options, WrongOnesNameTheRightOnes) {
  EXPECT_NE(serve_error({}).find("--gguf"), std::string::npos);
  EXPECT_NE(
      serve_error({"F.gguf", "--tool-parser", "x"}).find("found \"x\", expected one of harmony"),
      std::string::npos);
  EXPECT_NE(serve_error({"F.gguf", "--prot", "1"}).find("did you mean --port?"), std::string::npos)
      << serve_error({"F.gguf", "--prot", "1"});
  EXPECT_NE(serve_error({"F.gguf", "--max_length=5"}).find("did you mean --max-length?"),
            std::string::npos);
  EXPECT_NE(serve_error({"F.gguf", "--kv-type", "f64"}).find("i16, q8_0, f16 or f32"),
            std::string::npos);
  EXPECT_NE(serve_error({"F.gguf", "--pooling", "max"}).find("mean, last or cls"),
            std::string::npos);
  EXPECT_NE(serve_error({"F.gguf", "--tower", "x"}).find("not available yet"), std::string::npos);
  EXPECT_NE(serve_error({"F.gguf", "--ollama", "x"}).find("found two models"), std::string::npos);
  EXPECT_NE(serve_error({"F.gguf", "--unix-socket", "s", "--port", "1"}).find("--unix-socket"),
            std::string::npos);
  EXPECT_NE(serve_error({"F.gguf", "--tls-key", "k"}).find("--tls-cert"), std::string::npos);
  EXPECT_NE(serve_error({"F.gguf", "--log-level", "loud"}).find("warning, info or debug"),
            std::string::npos);
  EXPECT_NE(serve_error({"F.gguf", "--log-format", "xml"}).find("text or json"), std::string::npos);
  EXPECT_NE(serve_error({"F.gguf", "--idle-unload", "-1"}), "");
  EXPECT_NE(serve_error({"F.gguf", "--speculation-k", "2"}).find("not available yet"),
            std::string::npos);
  EXPECT_NE(serve_error({"F.gguf", "--port", "65536"}), "");
  EXPECT_NE(serve_error({"F.gguf", "--port", "-1"}), "");
  EXPECT_NE(serve_error({"F.gguf", "--port", "http"}), "");
  EXPECT_NE(serve_error({"F.gguf", "--port"}), "");
  EXPECT_NE(serve_error({"F.gguf", "--max-length", "0"}), "");
  EXPECT_NE(serve_error({"F.gguf", "--max-batch", "0"}), "");
  EXPECT_NE(serve_error({"F.gguf", "--threads", "0"}), "");
  EXPECT_NE(serve_error({"F.gguf", "--memory", "lots"}), "");
  EXPECT_NE(serve_error({"F.gguf", "--api-key", ""}), "");
  EXPECT_NE(serve_error({"F.gguf", "--gguf", "G.gguf"}).find("two model files"), std::string::npos);
  EXPECT_NE(serve_error({"F.gguf", "G.gguf"}).find("second model file"), std::string::npos);
}

TEST(Options, Environment) {
  Environment environment;
  environment.threads = "3";
  environment.api_key = "k";
  environment.isa = "scalar";
  auto parsed = parse_serve({"F.gguf"}, environment);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->options.engine.n_threads, 3u);
  EXPECT_EQ(parsed->options.engine.isa, "scalar");
  EXPECT_EQ(parsed->options.server.api_keys, std::vector<std::string>{"k"});
  parsed = parse_serve({"F.gguf", "--threads", "1", "--api-key", "flag"}, environment);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->options.engine.n_threads, 1u) << "the flag wins";
  EXPECT_EQ(parsed->options.server.api_keys, std::vector<std::string>{"flag"});
  for (const char* wrong : {"0", "-1", "two", "2 ", "99999999999"}) {
    environment.threads = wrong;
    const auto failed = parse_serve({"F.gguf"}, environment);
    ASSERT_FALSE(failed) << wrong;
    EXPECT_EQ(failed.error().code, ErrorCode::kIo);
    EXPECT_NE(failed.error().message.find("TEMPO9_THREADS"), std::string::npos);
  }
}

TEST(Options, OllamasStoreIsWhereItSays) {
  EXPECT_EQ(ollama_folder({.ollama_models = "/m", .home = "/h"}), "/m");
  EXPECT_TRUE(ollama_folder({.home = "/h"}).ends_with("ollama/models"));
  const auto parsed = parse_serve({"--ollama", "x"}, {.ollama_models = "/nonexistent"});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(parse_serve({"--list-ollama"})->list_ollama);
}

TEST(Options, HelpIsNoError) {
  const auto parsed = parse_serve({"--help"});
  ASSERT_TRUE(parsed);
  ASSERT_TRUE(parsed->help);
  for (const char* flag : {"--gguf", "--port", "--script", "TEMPO9_CPU_ISA"}) {
    EXPECT_NE(parsed->help->find(flag), std::string::npos) << flag;
  }
  EXPECT_EQ(parsed->help->find("--tower"), std::string::npos);
}

TEST(Options, Sizes) {
  EXPECT_EQ(parse_bytes("1073741824").value(), uint64_t{1} << 30);
  EXPECT_EQ(parse_bytes("6G").value(), uint64_t{6} << 30);
  EXPECT_EQ(parse_bytes("6GiB").value(), uint64_t{6} << 30);
  EXPECT_EQ(parse_bytes("512mb").value(), uint64_t{512} << 20);
  for (const char* wrong : {"", "0", "G", "-1G", "1.5G", "1GG", "99999999T", "1 G", "1B B"}) {
    EXPECT_FALSE(parse_bytes(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace tempo9::cli
