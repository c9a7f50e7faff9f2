#include "cli/doctor/report.h"

#include <gtest/gtest.h>

namespace tempo9::cli {
namespace {

TEST(DoctorReport, LinesNameThingFoundExpectedAndWhatToDo) {
  EXPECT_EQ(text_of({.name = "gpu", .found = "none"}), "ok    gpu          none\n");
  EXPECT_EQ(text_of({.name = "port",
                     .level = Level::kFail,
                     .found = "taken",
                     .expected = "a free one",
                     .advice = "--port 0"}),
            "fail  port         taken\n"
            "                   expected: a free one\n"
            "                   do: --port 0\n");
}

TEST(DoctorReport, TheWorstCounts) {
  EXPECT_EQ(worst({}), Level::kOk);
  EXPECT_EQ(worst({{.level = Level::kOk}, {.level = Level::kWarn}}), Level::kWarn);
  EXPECT_EQ(worst({{.level = Level::kFail}, {.level = Level::kWarn}}), Level::kFail);
}

TEST(DoctorReport, JsonHasTheSameKeysForAll) {
  const auto json = json_of(
      {{.name = "a", .found = "x"}, {.name = "b", .level = Level::kWarn, .details = {{"n", 3}}}});
  EXPECT_EQ(json["status"], "warn");
  EXPECT_EQ(json["version"], T9_VERSION);
  ASSERT_EQ(json["checks"].size(), 2u);
  for (const auto& check : json["checks"]) {
    for (const char* key : {"name", "status", "found", "expected", "advice", "details"}) {
      EXPECT_TRUE(check.contains(key)) << key;
    }
    EXPECT_TRUE(check["details"].is_object());
  }
  EXPECT_EQ(json["checks"][1]["details"]["n"], 3);
}

}  // namespace
}  // namespace tempo9::cli
