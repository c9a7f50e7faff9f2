#include "engine/mask_worker.h"

#include <gtest/gtest.h>

#include <atomic>

namespace tempo9::engine {
namespace {

class Counting final : public grammar::Constraint {
 public:
  explicit Counting(bool fails) : fails_(fails) {}
  Result<bool> fill_mask(std::span<uint32_t> mask) override {
    if (fails_) return make_error(ErrorCode::kInternal, "broken");
    mask[0] = ++n_filled;
    return true;
  }
  Result<bool> accept(grammar::TokenId) override { return true; }
  Result<bool> accept_text(std::string_view) override { return true; }
  bool can_end() const override { return true; }
  bool ended() const override { return false; }
  uint32_t n_filled = 0;

 private:
  bool fails_;
};

TEST(MaskWorker, EveryJobIsFilledOnceARound) {
  std::vector<MaskJob> jobs;
  for (int i = 0; i < 8; ++i) jobs.emplace_back(std::make_unique<Counting>(i == 3), 40);
  MaskWorker worker;
  for (uint32_t round = 1; round <= 50; ++round) {
    for (MaskJob& job : jobs) worker.add(&job);
    worker.wait();
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (i == 3) {
        EXPECT_FALSE(jobs[i].filled);
      } else {
        EXPECT_TRUE(*jobs[i].filled);
        EXPECT_EQ(jobs[i].mask[0], round);
      }
    }
  }
}

TEST(MaskWorker, IdleItCostsNothingAndEnds) {
  MaskWorker worker;
  worker.wait();
}

}  // namespace
}  // namespace tempo9::engine
