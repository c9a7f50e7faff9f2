#include "server/dialects/openai_responses_items.h"

#include <map>
#include <memory>
#include <unordered_set>
#include <utility>

#include "chat/exact_json.h"

namespace tempo9::server::openai {

std::optional<std::string> referenced_id(const Json& item) {
  if (!item.is_object()) return std::nullopt;
  const Json& type = field_of(item, "type");
  const Json& id = field_of(item, "id");
  const bool has_no_type = (type.is_null() || type == "") && !item.contains("role");
  if (!id.is_string() || (type != "item_reference" && !has_no_type)) return std::nullopt;
  return id.get<std::string>();
}

void StoredItems::add(const Json& items, const ResponseStore& store) {
  if (!items.is_array()) return;
  std::map<std::shared_ptr<const StoredResponse>, std::unordered_set<std::string>> wanted;
  for (const Json& item : items) {
    const auto id = referenced_id(item);
    if (!id || items_.contains(*id)) continue;
    if (auto stored = store.find_item(*id)) wanted[std::move(stored)].insert(*id);
  }
  for (const auto& [stored, ids] : wanted) {
    const auto keep = [&](Json& list) {
      for (Json& item : list) {
        const Json& id = field_of(item, "id");
        if (id.is_string() && ids.contains(id.get_ref<const std::string&>())) {
          items_.emplace(id.get<std::string>(), std::move(item));
        }
      }
    };
    Json seen = *chat::parse_exactly(stored->items);
    keep(seen);
    Json response = *chat::parse_exactly(stored->response);
    keep(response["output"]);
  }
}

const Json* StoredItems::find(const std::string& id) const {
  const auto found = items_.find(id);
  return found == items_.end() ? nullptr : &found->second;
}

}  // namespace tempo9::server::openai
