#include "sched/step_cost.h"

#include <gtest/gtest.h>

namespace tempo9::sched {
namespace {

TEST(StepCost, FirstSlicesAreSmallAndDouble) {
  StepCost cost;
  EXPECT_EQ(cost.rows_beside_replies(), 16u);
  cost.observe(1, 16, 0);
  EXPECT_EQ(cost.rows_beside_replies(), 32u);
  for (int i = 0; i < 10; ++i) cost.observe(1, 16, 0);
  EXPECT_EQ(cost.rows_beside_replies(), 64u);  // nothing known: no further
}

TEST(StepCost, ASliceFillsTheGapThatIsPromised) {
  StepCost cost;
  for (int i = 0; i < 50; ++i) {
    cost.observe(4, 0, 20);
    cost.observe(4, 64, 20 + 64 * 0.5);
  }
  EXPECT_EQ(cost.bound_ms(), 120);
  EXPECT_NEAR(cost.rows_beside_replies(), (0.85 * 120 - 20) / 0.5, 2);
  // A slower machine: three steps of its own are the bound then.
  for (int i = 0; i < 200; ++i) {
    cost.observe(4, 0, 100);
    cost.observe(4, 8, 100 + 8 * 10);
  }
  EXPECT_NEAR(cost.bound_ms(), 300, 1);
  EXPECT_NEAR(cost.rows_beside_replies(), (0.85 * 300 - 100) / 10, 2);
}

TEST(StepCost, OneSlowStepSaysLittleAndManySayAll) {
  StepCost cost;
  for (int i = 0; i < 50; ++i) cost.observe(1, 64, 64);
  const uint32_t before = cost.rows_beside_replies();
  cost.observe(1, 64, 6400);  // the machine paused
  EXPECT_GT(cost.rows_beside_replies(), before * 3 / 4);
  EXPECT_LT(cost.rows_beside_replies(), before);
  for (int i = 0; i < 50; ++i) cost.observe(1, 64, 64);
  EXPECT_NEAR(cost.rows_beside_replies(), before, before / 50.0);
  for (int i = 0; i < 8; ++i) cost.observe(1, 64, 4 * 64);  // others took half of it, and more
  EXPECT_NEAR(cost.rows_beside_replies(), before / 4.0, before / 20.0);
}

TEST(StepCost, RowsBesideRepliesAreEstimatedByRowsAlone) {
  StepCost cost;
  cost.observe(0, 512, 512 * 2);
  cost.observe(4, 0, 20);
  EXPECT_NEAR(cost.rows_beside_replies(), (0.85 * 120 - 20) / (1.3 * 2), 1);
}

TEST(StepCost, OneStepInAHundredMayReadAShortPromptWhole) {
  StepCost cost;
  const auto few = [&] { cost.observe(4, 1, 120); };
  for (int i = 0; i < 50; ++i) cost.observe(4, 8, 80);
  ASSERT_LT(cost.rows_beside_replies(), 64u);
  EXPECT_EQ(cost.rows_of_short_prompt(), 64u);
  cost.observe(4, 64, 800);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(cost.rows_of_short_prompt(), 0u);
    few();
  }
  EXPECT_EQ(cost.rows_of_short_prompt(), 64u);
}

TEST(StepCost, SomethingIsAlwaysRead) {
  StepCost cost;
  for (int i = 0; i < 50; ++i) cost.observe(1, 64, 1e6);
  EXPECT_EQ(cost.rows_beside_replies(), 1u);
  for (int i = 0; i < 50; ++i) cost.observe(0, 64, 1e6);
  EXPECT_EQ(cost.rows_alone(), 64u);
}

TEST(StepCost, AStepWithoutRepliesTakesASecondAtMost) {
  StepCost cost;
  for (int i = 0; i < 50; ++i) cost.observe(0, 512, 512 * 5);
  EXPECT_NEAR(cost.rows_alone(), 200, 5);
}

}  // namespace
}  // namespace tempo9::sched
