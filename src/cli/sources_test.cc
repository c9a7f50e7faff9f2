#include "cli/sources.h"

#include <gtest/gtest.h>

#include "base/testing/temp_folder.h"

namespace tempo9::cli {
namespace {

TEST(Sources, AMirrorGetsNoToken) {
  const TempFolder folder;
  Environment environment{.hf_endpoint = "http://hub.example/",
                          .hf_token_path = folder.write("token", "secret\n")};
  const store::SourceOptions plain = source_options("", environment);
  EXPECT_EQ(plain.hugging_face, "http://hub.example");
  EXPECT_EQ(plain.ollama, "https://registry.ollama.ai");
  EXPECT_EQ(plain.token, "secret");
  const store::SourceOptions mirrored = source_options("http://mirror.example//", environment);
  EXPECT_EQ(mirrored.hugging_face, "http://mirror.example");
  EXPECT_EQ(mirrored.ollama, mirrored.hugging_face);
  EXPECT_EQ(mirrored.token, "");
  environment.hf_token = "first";
  EXPECT_EQ(source_options("", environment).token, "first");
}

TEST(Sources, PulledModelsLieInTheDataFolder) {
  EXPECT_EQ(models_folder({.data_home = "/data"}), "/data/tempo9/models");
}

}  // namespace
}  // namespace tempo9::cli
