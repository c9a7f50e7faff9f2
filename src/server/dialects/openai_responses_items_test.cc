#include "server/dialects/openai_responses_items.h"

#include <gtest/gtest.h>

#include <chrono>

namespace tempo9::server::openai {
namespace {

TEST(ReferencedId, OfReferencesAlone) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"({"type": "item_reference", "id": "a"})", "a"},
      {R"({"type": null, "id": "a"})", "a"},
      {R"({"type": "", "id": "a"})", "a"},
      {R"({"id": "a"})", "a"},
      {R"({"id": "a", "role": "user"})", ""},
      {R"({"type": "message", "id": "a"})", ""},
      {R"({"type": "item_reference", "id": 5})", ""},
      {R"({"type": "item_reference"})", ""},
      {R"("a")", ""},
      {"null", ""}};
  for (const auto& [item, id] : kCases) {
    EXPECT_EQ(referenced_id(Json::parse(item)).value_or(""), id) << item;
  }
}

TEST(StoredItems, AreWhatWasSeenAndWhatWasSaidOfAnyResponse) {
  ResponseStore store;
  store.put("r1", {.response = R"({"output": [{"id": "b", "x": 2}]})",
                   .items = R"([{"id": "a", "x": 1}, {"id": 5}])",
                   .item_ids = {"a", "b"}});
  store.put("r2", {.response = R"({"output": []})",
                   .items = R"([{"id": "c", "x": 3}, {"id": "d", "x": 4}])",
                   .item_ids = {"c", "d"}});
  StoredItems items;
  items.add(Json::parse(R"([{"id": "b"}, {"id": "c"}, {"id": "none"}, {"id": "b"}, 5])"), store);
  items.add(Json("text"), store);
  items.add(Json::parse(R"([{"id": "a"}, {"id": "c"}])"), store);
  store.erase("r1");
  for (const auto& [id, x] : {std::pair("a", 1), std::pair("b", 2), std::pair("c", 3)}) {
    ASSERT_NE(items.find(id), nullptr) << id;
    EXPECT_EQ((*items.find(id))["x"], x);
  }
  EXPECT_EQ(items.find("none"), nullptr);
  EXPECT_EQ(items.find("d"), nullptr) << "nobody refers to it";
}

// To parse the response for each of them would take half a minute.
TEST(StoredItems, ManyReferencesToOneResponseParseItOnce) {
  constexpr int kItems = 4000;
  Json seen = Json::array(), references = Json::array();
  StoredResponse response{.response = R"({"output": []})", .items = {}, .item_ids = {}};
  for (int i = 0; i < kItems; ++i) {
    const std::string id = fmt::format("msg_{}", i);
    response.item_ids.push_back(id);
    references.push_back({{"type", "item_reference"}, {"id", id}});
    seen.push_back({{"type", "message"}, {"id", id}, {"content", std::string(100, 'x')}});
  }
  response.items = dump(seen);
  ResponseStore store;
  store.put("r", std::move(response));
  const auto began = std::chrono::steady_clock::now();
  StoredItems items;
  items.add(references, store);
  for (const Json& reference : references) {
    ASSERT_NE(items.find(reference["id"].get<std::string>()), nullptr);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

}  // namespace
}  // namespace tempo9::server::openai
