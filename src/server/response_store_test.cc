#include "server/response_store.h"

#include <gtest/gtest.h>

namespace tempo9::server {
namespace {

StoredResponse entry(const std::string& response, std::vector<std::string> ids = {}) {
  return {.response = response, .items = "[]", .item_ids = std::move(ids)};
}

TEST(ResponseStore, KeepsFindsAndForgets) {
  ResponseStore store;
  EXPECT_EQ(store.get("a"), nullptr);
  store.put("a", entry("A", {"msg_1"}));
  ASSERT_NE(store.get("a"), nullptr);
  EXPECT_EQ(store.get("a")->response, "A");
  ASSERT_NE(store.find_item("msg_1"), nullptr);
  EXPECT_EQ(store.find_item("msg_1")->response, "A");
  EXPECT_TRUE(store.erase("a"));
  EXPECT_FALSE(store.erase("a"));
  EXPECT_EQ(store.get("a"), nullptr);
  EXPECT_EQ(store.find_item("msg_1"), nullptr);
  EXPECT_EQ(store.n_bytes(), 0u);
}

// A second turn repeats the items of the first: they are found as long as either is there.
TEST(ResponseStore, ItemsBelongToTheNewestResponse) {
  ResponseStore store;
  store.put("a", entry("A", {"msg_1"}));
  store.put("b", entry("B", {"msg_1", "msg_2"}));
  EXPECT_TRUE(store.erase("a"));
  ASSERT_NE(store.find_item("msg_1"), nullptr);
  EXPECT_EQ(store.find_item("msg_1")->response, "B");
}

TEST(ResponseStore, TheOldestGoFirst) {
  ResponseStore store(1 << 20, 3);
  for (const char* id : {"a", "b", "c", "d"}) store.put(id, entry(id));
  EXPECT_EQ(store.get("a"), nullptr);
  for (const char* id : {"b", "c", "d"}) EXPECT_NE(store.get(id), nullptr) << id;
}

TEST(ResponseStore, BytesAreBounded) {
  constexpr size_t kMax = 100'000;
  ResponseStore store(kMax);
  for (int i = 0; i < 100; ++i) {
    store.put(std::to_string(i), entry(std::string(10'000, 'x'), {"item" + std::to_string(i)}));
    EXPECT_LE(store.n_bytes(), kMax);
  }
  EXPECT_NE(store.get("99"), nullptr);
  EXPECT_EQ(store.get("0"), nullptr);
  EXPECT_EQ(store.find_item("item0"), nullptr);
  // One that would need all of it, and more, leaves the others where they are.
  store.put("huge", entry(std::string(kMax, 'x')));
  EXPECT_EQ(store.get("huge"), nullptr);
  EXPECT_NE(store.get("99"), nullptr);
}

// Who holds an entry may go on reading it.
TEST(ResponseStore, EntriesOutliveTheirRemoval) {
  ResponseStore store;
  store.put("a", entry("A"));
  const auto held = store.get("a");
  store.erase("a");
  EXPECT_EQ(held->response, "A");
}

}  // namespace
}  // namespace tempo9::server
