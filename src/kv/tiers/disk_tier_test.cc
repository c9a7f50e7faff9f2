#include "kv/tiers/disk_tier.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/testing/file_size_limit.h"
#include "base/testing/temp_folder.h"

namespace tempo9::kv {
namespace {

constexpr uint64_t kTierPageBytes = 1000;
using Tokens = std::vector<TokenId>;

Tokens tokens_from_one(size_t n) {
  Tokens tokens(n);
  std::iota(tokens.begin(), tokens.end(), 1);
  return tokens;
}

std::vector<uint8_t> constant_page(size_t page) {
  return std::vector<uint8_t>(kTierPageBytes, static_cast<uint8_t>(page + 1));
}

struct TierFixture {
  explicit TierFixture(const std::string& folder) {
    auto store = DiskStore::open({folder, 10'000'000, "model", kTierPageBytes});
    EXPECT_TRUE(store);
    tier.emplace(*std::move(store), kTierPageBytes,
                 [this](const std::string& message) { log.push_back(message); });
    tier->set_changed([this] {
      const std::lock_guard lock(mutex);
      is_changed = true;
      changed.notify_all();
    });
  }
  void store(const Tokens& tokens) {
    PrefixKey parent;
    for (size_t page = 0; page < tokens.size() / kPageTokens; ++page) {
      const auto part = std::span(tokens).subspan(page * kPageTokens, kPageTokens);
      PageName name{parent, extend_key(tier->secret(), parent, part), {}};
      std::ranges::copy(part, name.tokens.begin());
      while (!tier->can_store()) std::this_thread::yield();
      tier->store(name, constant_page(page));
      parent = name.key;
    }
    tier->drain(std::chrono::steady_clock::now() + std::chrono::seconds(20));
  }
  std::vector<DiskStore::Found> load(const Tokens& tokens) {
    tier->load({}, tokens);
    std::vector<DiskStore::Found> pages;
    for (;;) {
      DiskTier::Loaded loaded = tier->take_loaded();
      std::ranges::move(loaded.pages, std::back_inserter(pages));
      if (loaded.done) return pages;
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return is_changed; });
      is_changed = false;
    }
  }
  std::mutex mutex;
  std::condition_variable changed;
  bool is_changed = false;
  std::vector<std::string> log;
  std::optional<DiskTier> tier;
};

TEST(DiskTier, PagesComeBackInOrderInTheNextProcess) {
  const TempFolder folder;
  const Tokens tokens = tokens_from_one(40 * kPageTokens + 5);
  TierFixture(folder.path()).store(tokens);
  TierFixture next(folder.path());
  EXPECT_EQ(next.tier->n_known({}, tokens), 40u);
  EXPECT_EQ(next.tier->n_known({}, std::span(tokens).subspan(1)), 0u);
  const auto pages = next.load(tokens);
  ASSERT_EQ(pages.size(), 40u);
  for (size_t i = 0; i < pages.size(); ++i) EXPECT_EQ(pages[i].bytes, constant_page(i));
  EXPECT_EQ(next.tier->stats().n_loaded, 40u);
  EXPECT_TRUE(next.log.empty());
}

TEST(DiskTier, TheLastPageMayBeSharedInPart) {
  const TempFolder folder;
  TierFixture f(folder.path());
  f.store(tokens_from_one(3 * kPageTokens));
  Tokens tokens = tokens_from_one(2 * kPageTokens + 20);
  EXPECT_EQ(f.load(tokens).size(), 3u);
  tokens[2 * kPageTokens + 1] = 0;  // one token in common is not worth a page
  EXPECT_EQ(f.load(tokens).size(), 2u);
}

TEST(DiskTier, ADamagedPageEndsTheLoadIsToldOnceAndForgotten) {
  const TempFolder folder;
  const Tokens tokens = tokens_from_one(6 * kPageTokens);
  TierFixture(folder.path()).store(tokens);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (!is_segment_name(entry.path().filename().string())) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(2 * kTierPageBytes + 17);
    file.put('\xee');
  }
  TierFixture f(folder.path());
  EXPECT_EQ(f.load(tokens).size(), 2u);
  EXPECT_EQ(f.load(tokens).size(), 2u);
  EXPECT_EQ(f.tier->n_known({}, tokens), 2u);
  EXPECT_EQ(f.tier->stats().n_damaged, 1u);
  EXPECT_EQ(f.log.size(), 1u);
}

// The disk is full for a while: what comes behind the page that was lost would never be found.
TEST(DiskTier, NothingIsWrittenBehindAHole) {
  constexpr uint64_t kLargePage = 200'000;  // the index stays below the limit, two pages as well
  const TempFolder folder;
  auto store = DiskStore::open({folder.path(), 100'000'000, "model", kLargePage});
  ASSERT_TRUE(store);
  DiskTier tier(*std::move(store), kLargePage, nullptr, std::chrono::nanoseconds(0));
  const Tokens tokens = tokens_from_one(6 * kPageTokens);
  std::vector<PageName> names;
  for (size_t page = 0; page < 6; ++page) {
    const auto part = std::span(tokens).subspan(page * kPageTokens, kPageTokens);
    const PrefixKey parent = page == 0 ? PrefixKey{} : names.back().key;
    names.push_back({parent, extend_key(tier.secret(), parent, part), {}});
    std::ranges::copy(part, names.back().tokens.begin());
  }
  const auto store_pages = [&](std::initializer_list<size_t> pages) {
    for (const size_t page : pages) {
      tier.store(names[page], std::vector<uint8_t>(kLargePage));
      tier.drain(std::chrono::steady_clock::now() + std::chrono::seconds(20));
    }
  };
  EXPECT_TRUE(tier.knows({}));
  {
    const FileSizeLimit full(5 * kLargePage / 2);
    store_pages({0, 1, 2});
  }
  EXPECT_FALSE(tier.stats().writes);
  EXPECT_TRUE(tier.can_store());  // again
  store_pages({3, 4});
  EXPECT_EQ(tier.stats().n_stored, 2u);
  EXPECT_FALSE(tier.knows(names[4].key));
  store_pages({2, 3, 5});
  EXPECT_EQ(tier.stats().n_stored, 4u);
  EXPECT_EQ(tier.n_known({}, tokens), 4u);
}

// States stand where the pages before them are in another tier.
TEST(DiskTier, WhatIsNoChainNeedsNoParent) {
  const TempFolder folder;
  const auto open = [&](bool is_chain) {
    auto store = DiskStore::open({folder.path(), 10'000'000, "states", kTierPageBytes});
    EXPECT_TRUE(store);
    return std::make_unique<DiskTier>(*std::move(store), kTierPageBytes, nullptr,
                                      std::chrono::minutes(1), is_chain);
  };
  const Tokens tokens = tokens_from_one(kPageTokens);
  const PrefixKey parent{1, 2};
  auto tier = open(/*is_chain=*/false);
  PageName name{parent, extend_key(tier->secret(), parent, tokens), {}};
  std::ranges::copy(tokens, name.tokens.begin());
  tier->store(name, constant_page(7));
  tier->drain(std::chrono::steady_clock::now() + std::chrono::seconds(20));
  tier = nullptr;
  EXPECT_TRUE(open(false)->knows(name.key));
  EXPECT_EQ(open(false)->n_known(parent, tokens), 1u);
}

TEST(DiskTier, ANewLoadEndsTheOneBefore) {
  const TempFolder folder;
  TierFixture f(folder.path());
  f.store(tokens_from_one(8 * kPageTokens));
  f.tier->load({}, tokens_from_one(8 * kPageTokens));
  EXPECT_EQ(f.load(tokens_from_one(2 * kPageTokens)).size(), 2u);
  f.tier->load({}, tokens_from_one(8 * kPageTokens));
  f.tier->stop_loading();
  EXPECT_TRUE(f.tier->take_loaded().done);
  EXPECT_TRUE(f.tier->take_loaded().pages.empty());
}

}  // namespace
}  // namespace tempo9::kv
