#include "cli/server_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "base/testing/temp_folder.h"
#include "cli/parse_arguments.h"

namespace tempo9::cli {
namespace {

Result<server::ServerOptions> read(const std::vector<std::string>& args,
                                   const Environment& environment = {}) {
  CLI::App app("", "");
  ServerFlags flags;
  flags.add_to(&app);
  EXPECT_TRUE(parse_arguments(app, args));
  return flags.read(environment);
}

using Keys = std::vector<std::string>;

TEST(ServerFlags, WhereKeysComeFrom) {
  const TempFolder folder;
  const std::string file = folder.write("keys", "one\n\ntwo\r\n");
  Environment environment;
  environment.api_key = "three";
  EXPECT_EQ(read({})->api_keys, Keys{});
  EXPECT_EQ(read({}, environment)->api_keys, Keys{"three"});
  EXPECT_EQ(read({"--api-key", "k"}, environment)->api_keys, Keys{"k"});
  EXPECT_EQ(read({"--api-key-file", file}, environment)->api_keys, (Keys{"one", "two"}));
  EXPECT_EQ(read({"--api-key-file", file, "--api-key", "k"})->api_keys, (Keys{"one", "two", "k"}));
  for (const char* key : {"", "a b", "a\nb", "\xc3\xa4"}) {
    EXPECT_FALSE(read({"--api-key", key})) << key;
    environment.api_key = key;
    EXPECT_FALSE(read({}, environment)) << key;
  }
  EXPECT_EQ(read({"--api-key-file", folder.file("none")}).error().code, ErrorCode::kIo);
  EXPECT_EQ(read({"--api-key-file", folder.path()}).error().code, ErrorCode::kIo);
}

TEST(ServerFlags, AddressesExcludeEachOther) {
  EXPECT_EQ(read({"--port", "0"})->port, 0);
  EXPECT_EQ(read({})->host, "127.0.0.1");
  EXPECT_EQ(read({"--unix-socket", "/s"})->unix_socket, "/s");
  for (const char* flag : {"--host", "--port"}) {
    const auto both = read({"--unix-socket", "/s", flag, "1"});
    ASSERT_FALSE(both);
    EXPECT_NE(both.error().message.find(flag), std::string::npos) << both.error().message;
  }
  EXPECT_FALSE(read({"--unix-socket", ""}));
  EXPECT_FALSE(read({"--tls-cert", "c"}));
  EXPECT_EQ(read({"--tls-cert", "c", "--tls-key", "k"})->tls_key, "k");
}

TEST(ServerFlags, TheLogIsThereUnlessAsked) {
  EXPECT_TRUE(read({})->log->wants(server::LogLevel::kWarning));
  EXPECT_FALSE(read({})->log->wants(server::LogLevel::kInfo));
  EXPECT_TRUE(read({"--log-level", "debug"})->log->wants(server::LogLevel::kDebug));
}

}  // namespace
}  // namespace tempo9::cli
