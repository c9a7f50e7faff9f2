// Every byte that comes back is the byte that was stored, whatever happens to the files.
#include "kv/tiers/disk_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "base/testing/file_size_limit.h"
#include "base/testing/temp_folder.h"

namespace tempo9::kv {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kStorePageBytes = 40'000;
constexpr uint64_t kCap = 8'000'000;

using Tokens = std::vector<TokenId>;

std::unique_ptr<DiskStore> open(const TempFolder& folder, uint64_t cap = kCap,
                                const std::string& identity = "model") {
  auto store = DiskStore::open({folder.path(), cap, identity, kStorePageBytes});
  EXPECT_TRUE(store) << store.error().message;
  return store ? *std::move(store) : nullptr;
}

// Sequence s is s, s + 1, s + 2...: page i of it.
Tokens tokens_of(int sequence, int page) {
  Tokens tokens(kPageTokens);
  for (size_t i = 0; i < kPageTokens; ++i) {
    tokens[i] = sequence * 100'000 + page * 32 + static_cast<TokenId>(i);
  }
  return tokens;
}

std::vector<uint8_t> random_page(int sequence, int page) {
  std::mt19937 random(static_cast<uint32_t>(sequence * 1000 + page));
  std::vector<uint8_t> bytes(kStorePageBytes);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

Status put(DiskStore* store, int sequence, int n_pages) {
  PrefixKey parent;
  for (int page = 0; page < n_pages; ++page) {
    const Tokens tokens = tokens_of(sequence, page);
    PageName name{parent, extend_key(store->secret(), parent, tokens), {}};
    std::ranges::copy(tokens, name.tokens.begin());
    T9_TRY(store->put(name, random_page(sequence, page)));
    parent = name.key;
  }
  return {};
}

// How many pages from the first on are there; none may be wrong.
int n_found(DiskStore* store, int sequence, int n_pages) {
  PrefixKey parent;
  for (int page = 0; page < n_pages; ++page) {
    const auto found = store->find(parent, tokens_of(sequence, page), kPageTokens);
    if (!found || !*found) return page;
    EXPECT_EQ((*found)->bytes, random_page(sequence, page)) << "sequence " << sequence;
    parent = (*found)->name.key;
  }
  return n_pages;
}

uint64_t bytes_in(const TempFolder& folder) {
  uint64_t total = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) total += entry.file_size();
  return total;
}

std::vector<std::string> segments_in(const TempFolder& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (is_segment_name(entry.path().filename().string())) paths.push_back(entry.path().string());
  }
  return paths;
}

TEST(DiskStore, WhatWasStoredIsThereForTheNextProcess) {
  const TempFolder folder;
  {
    const auto store = open(folder);
    ASSERT_TRUE(put(store.get(), 1, 30));
    EXPECT_EQ(n_found(store.get(), 1, 30), 30);
    ASSERT_TRUE(put(store.get(), 1, 30));  // once more changes nothing
  }
  const auto store = open(folder);
  EXPECT_EQ(n_found(store.get(), 1, 30), 30);
  EXPECT_EQ(n_found(store.get(), 2, 30), 0);
  EXPECT_EQ(store->keys()->size(), 30u);
  EXPECT_LT(bytes_in(folder), 30 * kStorePageBytes + 600'000);
}

TEST(DiskStore, APageThatOnlyBeginsAlikeIsFound) {
  const TempFolder folder;
  const auto store = open(folder);
  ASSERT_TRUE(put(store.get(), 1, 1));
  Tokens tokens = tokens_of(1, 0);
  tokens[20] = 7;
  const auto found = store->find({}, tokens, 4);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->bytes, random_page(1, 0));
  EXPECT_TRUE(*store->find({}, std::span(tokens).first(20), 20));
  EXPECT_FALSE(*store->find({}, tokens, 21));
}

TEST(DiskStore, AnotherModelSeesNothing) {
  const TempFolder folder;
  const auto one = open(folder, kCap, "one"), other = open(folder, kCap, "other");
  ASSERT_TRUE(put(one.get(), 1, 3));
  EXPECT_EQ(n_found(other.get(), 1, 3), 0);
  ASSERT_TRUE(put(other.get(), 1, 2));  // the same names beside each other
  EXPECT_EQ(n_found(one.get(), 1, 3), 3);
  EXPECT_EQ(n_found(other.get(), 1, 3), 2);
}

TEST(DiskStore, TheCapHoldsWhileWritingAndTheOldestGoes) {
  const TempFolder folder;
  const auto store = open(folder, 4'000'000);
  for (int sequence = 0; sequence < 16; ++sequence) {
    ASSERT_TRUE(put(store.get(), sequence, 10));
    ASSERT_LE(bytes_in(folder), 4'000'000u);
    EXPECT_EQ(n_found(store.get(), 0, 1), 1);  // used all the time, so it stays
  }
  EXPECT_EQ(n_found(store.get(), 15, 10), 10);
  EXPECT_EQ(n_found(store.get(), 3, 10), 0);
  EXPECT_FALSE(store->take_removed().empty());
}

TEST(DiskStore, ASmallerCapHoldsFromTheStart) {
  const TempFolder folder;
  ASSERT_TRUE(put(open(folder).get(), 1, 150));
  EXPECT_GT(bytes_in(folder), 6'000'000u);
  const auto store = open(folder, 2'000'000);
  EXPECT_LE(bytes_in(folder), 2'000'000u);
  ASSERT_TRUE(put(store.get(), 2, 10));
  EXPECT_EQ(n_found(store.get(), 2, 10), 10);
  EXPECT_LE(bytes_in(folder), 2'000'000u);
}

TEST(DiskStore, ACapTooSmallForAPageIsSaid) {
  const TempFolder folder;
  const auto store = DiskStore::open({folder.path(), 100'000, "model", kStorePageBytes});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kResourceExhausted);
}

TEST(DiskStore, AFolderThatCannotBeUsedIsSaid) {
  const TempFolder folder;
  const std::string file = folder.write("file", "x");
  const auto store = DiskStore::open({file + "/kv", kCap, "model", kStorePageBytes});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kIo);
}

// A folder that has another use keeps its mode and its files; only one of its own becomes private.
TEST(DiskStore, AFolderOfOthersIsLeftAsItIs) {
  const TempFolder folder;
  const auto mode = [&](const std::string& path) { return fs::status(path).permissions(); };
  const auto all = fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec;
  const auto open_at = [](const std::string& path) {
    return DiskStore::open({path, kCap, "model", kStorePageBytes});
  };
  const std::string empty = folder.file("empty"), shared = folder.file("shared");
  for (const std::string& path : {empty, shared}) {
    fs::create_directory(path);
    fs::permissions(path, all);
  }
  EXPECT_TRUE(open_at(empty));
  EXPECT_EQ(mode(empty), fs::perms::owner_all);
  std::ofstream(shared + "/notes.txt") << "the user's";
  const auto refused = open_at(shared);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(shared + "/tempo9-kv"), std::string::npos);
  EXPECT_EQ(mode(shared), all);
  EXPECT_EQ(std::distance(fs::directory_iterator(shared), {}), 1);
  EXPECT_TRUE(open_at(shared + "/tempo9-kv"));
}

TEST(DiskStore, AnotherProgramsIndexIsNotTakenForDamage) {
  const TempFolder folder;
  {
    auto theirs = SqlConnection::open(folder.file("index.sqlite"));
    ASSERT_TRUE(theirs);
    ASSERT_TRUE(theirs->execute("CREATE TABLE photos (name TEXT); PRAGMA user_version = 77"));
  }
  std::ifstream file(folder.file("index.sqlite"), std::ios::binary);
  const std::string before((std::istreambuf_iterator<char>(file)), {});
  const auto refused = DiskStore::open({folder.path(), kCap, "model", kStorePageBytes});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("another program's"), std::string::npos);
  std::ifstream again(folder.file("index.sqlite"), std::ios::binary);
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(again)), {}), before);
}

// B42: flipped bytes anywhere, cut and foreign files.
TEST(DiskStore, DamageIsAMissAndNeverAWrongByte) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const TempFolder folder;
  folder.write("0000.kvseg", "foreign");
  folder.write("notes.txt", "the user's");
  for (int round = 0; round < 25; ++round) {
    {
      const auto store = open(folder);
      ASSERT_NE(store, nullptr);
      n_found(store.get(), 1, 20);
      ASSERT_TRUE(put(store.get(), 1, 20));
      ASSERT_TRUE(put(store.get(), 2, 5));
    }
    std::vector<std::string> files = segments_in(folder);
    files.push_back(folder.file("index.sqlite"));
    for (int flip = 0; flip < 3; ++flip) {
      const std::string& path = files[random() % files.size()];
      const auto size = static_cast<int64_t>(fs::file_size(path));
      if (size == 0) continue;
      if (random() % 4 == 0) {
        fs::resize_file(path, static_cast<uintmax_t>(size) * (random() % 100) / 100);
        continue;
      }
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      const auto at = static_cast<int64_t>(random() % static_cast<uint64_t>(size));
      file.seekg(at);
      const int byte = file.get();
      file.seekp(at);
      file.put(static_cast<char>(byte ^ (1 << random() % 8)));
    }
  }
  EXPECT_TRUE(fs::exists(folder.file("notes.txt")));
  EXPECT_FALSE(fs::exists(folder.file("0000.kvseg")));
}

TEST(DiskStore, TwoProcessesShareAFolder) {
  const TempFolder folder;
  const auto a = open(folder, 3'000'000), b = open(folder, 3'000'000);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(put(a.get(), i, 6));
    ASSERT_TRUE(put(b.get(), 100 + i, 6));
    ASSERT_LE(bytes_in(folder), 3'000'000u);
  }
  EXPECT_EQ(n_found(a.get(), 109, 6), 6);
  EXPECT_EQ(n_found(b.get(), 9, 6), 6);
  n_found(a.get(), 100, 6);  // evicted by then, or right
}

TEST(DiskStore, AKilledWriterLeavesNothingWrong) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const TempFolder folder;
  int n_survived = 0;
  for (int round = 0; round < 12; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto store = DiskStore::open({folder.path(), 3'000'000, "model", kStorePageBytes});
      for (int i = round * 50; store && put(store->get(), i, 5); ++i) {
      }
      ::_exit(1);
    }
    ::usleep(static_cast<useconds_t>(5'000 + random() % 30'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    const auto store = open(folder, 3'000'000);
    ASSERT_NE(store, nullptr);
    EXPECT_LE(bytes_in(folder), 3'000'000u);
    for (int i = round * 50; i < round * 50 + 50; ++i) n_survived += n_found(store.get(), i, 5);
    EXPECT_EQ(store->n_damaged(), 0u);
  }
  EXPECT_GT(n_survived, 0);
}

// The disk is full: what was written is still read, and writing goes on when there is room.
TEST(DiskStore, AFailedWriteIsSaidAndHurtsNothing) {
  const TempFolder folder;
  const auto store = open(folder);
  ASSERT_TRUE(put(store.get(), 1, 3));
  {
    const FileSizeLimit full(4 * kStorePageBytes + 100);
    EXPECT_FALSE(put(store.get(), 2, 3));
  }
  EXPECT_EQ(n_found(store.get(), 1, 3), 3);
  ASSERT_TRUE(put(store.get(), 2, 3));
  EXPECT_EQ(n_found(store.get(), 2, 3), 3);
}

TEST(DiskStore, WritesThatFailLeaveNoFiles) {
  constexpr uint64_t kLargePage = 1'000'000;  // the index stays below half of it
  const TempFolder folder;
  const auto store = DiskStore::open({folder.path(), 100 * kLargePage, "model", kLargePage});
  ASSERT_TRUE(store) << store.error().message;
  const auto put_page = [&] {
    const Tokens tokens = tokens_of(1, 0);
    PageName name{{}, extend_key((*store)->secret(), {}, tokens), {}};
    std::ranges::copy(tokens, name.tokens.begin());
    return (*store)->put(name, std::vector<uint8_t>(kLargePage));
  };
  const auto n_segments = [&] {
    int n = 0;
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      n += entry.path().extension() == ".kvseg" ? 1 : 0;
    }
    return n;
  };
  {
    const FileSizeLimit full(kLargePage / 2);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(put_page());
  }
  EXPECT_EQ(n_segments(), 0);
  ASSERT_TRUE(put_page());
  EXPECT_EQ(n_segments(), 1);
}

}  // namespace
}  // namespace tempo9::kv
