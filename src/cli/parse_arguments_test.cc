#include "cli/parse_arguments.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace tempo9::cli {
namespace {

TEST(ParseArguments, ValuesHelpAndErrors) {
  CLI::App app("about");
  int n = 0;
  app.add_option("--n", n);
  EXPECT_TRUE(parse_arguments(app, {"--n", "3"}).value_or(false));
  EXPECT_EQ(n, 3);
  EXPECT_FALSE(parse_arguments(app, {"--help"}).value_or(true));
  const auto wrong = parse_arguments(app, {"--n", "x"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(wrong.error().message.find("--n"), std::string::npos);
}

TEST(ParseArguments, NearestWord) {
  EXPECT_EQ(nearest("serv", {"serve", "show"}), "serve");
  EXPECT_EQ(nearest("xyzzyplugh", {"serve", "show"}), "");
}

}  // namespace
}  // namespace tempo9::cli
