#include "server/infill.h"

#include <gtest/gtest.h>

#include "server/testing/fake_engine.h"

namespace tempo9::server {
namespace {

TEST(Infill, AVocabularyWithoutTheTokensIsRefused) {
  testing::FakeEngine engine;
  const auto service = Service::create(engine, {}).value();
  EXPECT_FALSE(knows_infill(*service));
  const auto prompt = infill_prompt(*service, "a", "b");
  ASSERT_FALSE(prompt);
  EXPECT_TRUE(prompt.error().message.starts_with("suffix: ")) << prompt.error().message;
}

}  // namespace
}  // namespace tempo9::server
