#include "store/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tempo9::store {
namespace {

TEST(Catalogue, IsSortedAndSensible) {
  const auto models = known_models();
  ASSERT_FALSE(models.empty());
  EXPECT_TRUE(std::ranges::is_sorted(models, {}, &KnownModel::n_bytes));
  std::set<std::string_view> names;
  for (const KnownModel& model : models) {
    EXPECT_TRUE(names.insert(model.name).second) << model.name;
    // owner/repo:variant, so that what is measured here is what pull fetches.
    EXPECT_EQ(std::ranges::count(model.name, '/'), 1) << model.name;
    EXPECT_EQ(std::ranges::count(model.name, ':'), 1) << model.name;
    EXPECT_GT(model.n_bytes, 100'000'000u) << model.name;
    EXPECT_GE(model.context_length, 8192u) << model.name;
    EXPECT_GT(model.n_layers * model.n_kv_heads * model.head_dim, 0u) << model.name;
    EXPECT_LE(model.n_window_layers, model.n_layers) << model.name;
    EXPECT_EQ(model.n_window_layers > 0, model.window > 0) << model.name;
    EXPECT_FALSE(model.purpose.empty()) << model.name;
  }
}

}  // namespace
}  // namespace tempo9::store
