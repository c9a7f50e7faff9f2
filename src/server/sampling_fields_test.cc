#include "server/sampling_fields.h"

#include <gtest/gtest.h>

namespace tempo9::server {
namespace {

TEST(SamplingFields, EachFieldReachesItsParameter) {
  const Json body = {{"temperature", 0.5},      {"top_p", 0.25}, {"top_k", 7},
                     {"min_p", 0.125},          {"repeat", 1.5}, {"frequency_penalty", -0.5},
                     {"presence_penalty", 0.75}};
  Fields fields(body);
  sampling::Params params;
  read_sampling(fields, "repeat", &params);
  ASSERT_TRUE(fields.status());
  EXPECT_EQ(params.temperature, 0.5f);
  EXPECT_EQ(params.top_p, 0.25f);
  EXPECT_EQ(params.top_k, 7);
  EXPECT_EQ(params.min_p, 0.125f);
  EXPECT_EQ(params.repetition_penalty, 1.5f);
  EXPECT_EQ(params.frequency_penalty, -0.5f);
  EXPECT_EQ(params.presence_penalty, 0.75f);
}

TEST(SamplingFields, TopKHasALowestValue) {
  const Json body = {{"top_k", -2}};
  Fields fields(body);
  sampling::Params params;
  read_sampling(fields, "repeat", &params);
  EXPECT_TRUE(fields.status().error().message.starts_with("top_k: found")) << "named";
}

}  // namespace
}  // namespace tempo9::server
