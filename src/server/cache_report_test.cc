#include "server/cache_report.h"

#include <gtest/gtest.h>

namespace tempo9::server {
namespace {

TEST(CacheReportJson, SaysWhereAndWhy) {
  engine::CacheReport report{
      .prompt_tokens = 9,
      .cached = {.live = 1, .ram = 2, .disk = 3},
      .alike_tokens = 6,
      .difference = {{.before = "a", .was = "b\xf0\x9f", .now = "c", .place = ""}},
      .cause = "other text"};
  const Json json = cache_report_json(report);
  EXPECT_EQ(json["cached_tokens"].dump(), "6");
  EXPECT_EQ(json["cached_tokens_by_source"].dump(), R"({"live":1,"ram":2,"ssd":3})");
  EXPECT_EQ(json["first_difference"]["token"].dump(), "6");
  EXPECT_EQ(json["first_difference"]["was"].get<std::string>(),
            "b\xef\xbf\xbd");  // half a character
  EXPECT_TRUE(json["first_difference"]["place"].is_null());
  EXPECT_EQ(json["likely_cause"].get<std::string>(), "other text");
  EXPECT_TRUE(cache_report_json({})["first_difference"].is_null());
}

TEST(CacheReportJson, TheHeaderAsks) {
  EXPECT_TRUE(wants_cache_report({.explain = "cache"}));
  EXPECT_FALSE(wants_cache_report({}));
  EXPECT_FALSE(wants_timing({.explain = "cache"}));
  for (const char* both : {"cache, timing", "timing,cache", " timing , cache"}) {
    EXPECT_TRUE(wants_cache_report({.explain = both})) << both;
    EXPECT_TRUE(wants_timing({.explain = both})) << both;
  }
  EXPECT_FALSE(wants_timing({.explain = "timings, ,"}));
}

TEST(TimingJson, RatesAreOfThePartsTheyName) {
  engine::Usage usage{.prompt_tokens = 120, .cached_tokens = 20, .completion_tokens = 11};
  usage.timing = {.now = 4, .started = 1, .first_token = 2};
  const Json json = timing_json(usage);
  EXPECT_EQ(json["queued_seconds"], 1.0);
  EXPECT_EQ(json["prompt_tokens_per_second"], 100.0);
  EXPECT_EQ(json["generated_tokens_per_second"], 5.0);
  EXPECT_TRUE(timing_json({})["generated_tokens_per_second"].is_null());
}

}  // namespace
}  // namespace tempo9::server
