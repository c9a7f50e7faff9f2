#include "cli/bench_report.h"

#include <gtest/gtest.h>

namespace tempo9::cli {
namespace {

engine::BenchResult decode_result() {
  engine::BenchResult result;
  result.kind = engine::BenchResult::Kind::kDecode;
  result.n = 100;
  result.rows = 8;
  result.depth = 512;
  result.seconds = {4.0, 2.0, 5.0};
  result.work = 100 * 2e8;
  return result;
}

TEST(BenchReport, RatesAndShare) {
  const BenchLine line = bench_line(decode_result(), 1e10);
  EXPECT_DOUBLE_EQ(line.tokens_per_second.median, 200);  // 800 tokens in 4 s
  EXPECT_DOUBLE_EQ(line.tokens_per_second.lowest, 160);
  EXPECT_DOUBLE_EQ(line.tokens_per_second.highest, 400);
  EXPECT_DOUBLE_EQ(line.share_of_roof, 0.5);  // 25 steps/s of 2e8 bytes against 1e10
}

TEST(BenchReport, ShapeOfResults) {
  EXPECT_EQ(bench_json(bench_line(decode_result(), 1e10)).dump(),
            "{\"kind\":\"decode\",\"n\":100,\"rows\":8,\"depth\":512,\"tok_s\":200.0,"
            "\"range\":[160.0,400.0],\"share_of_roof\":0.5}");
  engine::BenchResult result = decode_result();
  result.kind = engine::BenchResult::Kind::kPrefill;
  EXPECT_EQ(bench_json(bench_line(result, 1e10))["kind"], "prefill");
}

TEST(BenchReport, PartsOfTheTime) {
  engine::BenchResult result = decode_result();  // 2400 tokens in 11 s
  result.parts = {{"attention", 6.6}, {"head", 2.2}};
  EXPECT_EQ(bench_json(bench_line(result, 1e10))["parts"].dump(),
            "[{\"part\":\"attention\",\"us_per_token\":2750.0,\"share\":0.6},"
            "{\"part\":\"head\",\"us_per_token\":916.6666666666667,\"share\":0.2},"
            "{\"part\":\"rest\",\"us_per_token\":916.6666666666667,\"share\":0.2}]");
  const std::string text = bench_text(bench_line(result, 1e10));
  for (const char* part : {"2750.0 us a token", "60.0 %  attention", "20.0 %  rest"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

TEST(BenchReport, ShapeOfRoofs) {
  const RoofLine line{ops::Roof::kInt8Dots, "avx512", 2, {1.5e12, 1e12, 2e12}};
  EXPECT_EQ(
      roof_json(line).dump(),
      "{\"kind\":\"int8_dot\",\"threads\":2,\"isa\":\"avx512\",\"unit\":\"G multiply-adds/s\","
      "\"rate\":1500.0,\"range\":[1000.0,2000.0]}");
  EXPECT_EQ(roof_json({ops::Roof::kF32Fmas, "", 1, {}})["kind"], "f32_fma");
  EXPECT_EQ(roof_json({ops::Roof::kRead, "", 1, {}})["kind"], "read");
  EXPECT_EQ(roof_json({ops::Roof::kRead, "", 1, {}})["unit"], "GB/s");
}

TEST(BenchReport, LinesForPeople) {
  const std::string text = bench_text(bench_line(decode_result(), 1e10));
  for (const char* part :
       {"decode", " 100 ", " 8 ", " 512 ", "200.0", "160.0 - 400.0", "50.0 % of read bandwidth"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  const std::string roof = roof_text({ops::Roof::kRead, "avx2", 2, {5.3e10, 5e10, 5.4e10}});
  for (const char* part : {"read bandwidth", " 2 ", "53.0", "50.0 - 54.0", "GB/s"})
    EXPECT_NE(roof.find(part), std::string::npos) << part << " in: " << roof;
}

}  // namespace
}  // namespace tempo9::cli
