#include "cpu/features.h"

#include <gtest/gtest.h>

#include "cpu/cpu.h"

namespace tempo9::cpu {
namespace {

using Names = std::vector<std::string_view>;

TEST(Features, WhatIsMissingIsNamedInOrder) {
  const std::vector<Feature> some = {{"avx2", true}, {"fma", false}, {"f16c", true}};
  EXPECT_EQ(missing_features("", some), Names{});
  EXPECT_EQ(missing_features("avx2 f16c", some), Names{});
  EXPECT_EQ(missing_features("avx2 fma f16c", some), Names{"fma"});
  EXPECT_EQ(missing_features("vnni fma", some), (Names{"vnni", "fma"})) << "unknown is missing";
}

// A table that needs what nothing detects could never be chosen.
TEST(Features, TablesNeedWhatIsDetected) {
  std::vector<Feature> all = detect_features();
  for (Feature& feature : all) feature.has = true;
  for (const TableInfo& table : describe_tables()) {
    EXPECT_EQ(missing_features(table.needs, all), Names{}) << table.name;
  }
}

TEST(Features, TablesWithoutGapsAreTheOnesThatRun) {
  Names complete;
  for (const TableInfo& table : describe_tables()) {
    if (table.missing.empty()) complete.push_back(table.name);
  }
  Names available;
  for (const KernelTable* table : available_tables()) available.push_back(table->name);
  EXPECT_EQ(complete, available);
  EXPECT_EQ(describe_tables().back().name, "scalar");
  EXPECT_TRUE(describe_tables().back().missing.empty());
}

}  // namespace
}  // namespace tempo9::cpu
