// The items of stored responses that a request refers to.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "server/json_body.h"
#include "server/response_store.h"

namespace tempo9::server::openai {

// The id of the item that this one stands for; nothing: it stands for itself.
std::optional<std::string> referenced_id(const Json& item);

// Looked up before any of them is read, so that a stored response is parsed once however many of
// its items are referred to, and what is found does not leave the store half way.
class StoredItems {
 public:
  // Looks up what is referred to; items may be no array.
  void add(const Json& items, const ResponseStore& store);

  const Json* find(const std::string& id) const;  // null: not stored, or not referred to

 private:
  std::unordered_map<std::string, Json> items_;
};

}  // namespace tempo9::server::openai
