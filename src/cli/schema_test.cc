#include <gtest/gtest.h>

#include "base/testing/temp_folder.h"
#include "cli/cli.h"

namespace tempo9::cli {
namespace {

class SchemaCommandTest : public testing::Test {
 protected:
  int check(std::string_view schema, std::string_view instance) {
    return run_schema({"check", "--schema", folder_.write("s.json", schema), "--instance",
                       folder_.write("i.json", instance)},
                      {});
  }
  TempFolder folder_;
};

TEST_F(SchemaCommandTest, ExitCodesSayWhatWasFound) {
  EXPECT_EQ(check(R"({"type":"integer"})", "3"), 0);
  EXPECT_EQ(check(R"({"type":"integer"})", "\"3\""), 1);
  EXPECT_EQ(check(R"({"type":"integer"})", "{"), 1);
  EXPECT_EQ(check(R"({"type":"strnig"})", "3"), 2);
  EXPECT_EQ(check("{", "3"), 2);
}

TEST_F(SchemaCommandTest, WrongUsageIsNoVerdict) {
  EXPECT_EQ(run_schema({}, {}), kExitUsage);
  EXPECT_EQ(run_schema({"check"}, {}), kExitUsage);
  EXPECT_EQ(run_schema({"check", "--schema"}, {}), kExitUsage);
  EXPECT_EQ(run_schema({"check", "--schema", "/no/such", "--instance", "/no/such"}, {}),
            kExitUsage);
  EXPECT_EQ(run_schema({"--help"}, {}), kExitOk);
}

}  // namespace
}  // namespace tempo9::cli
