#include "server/call_list.h"

#include <utility>

#include "grammar/rules.h"

namespace tempo9::server {

std::shared_ptr<const CallList> CallList::make(const Service& service,
                                               const std::vector<chat::Tool>& tools) {
  if (service.engine().info().is_script) return nullptr;
  auto list = std::make_shared<CallList>();
  list->tools_ = tools;
  list->format_ = service.format();
  return list->probe() == nullptr ? nullptr : list;
}

std::unique_ptr<chat::CallProbe> CallList::probe() const {
  auto probe = chat::make_call_probe(format_, tools_);
  return probe ? std::move(*probe) : nullptr;
}

Result<CallList::Begun> CallList::begin(const Service& service,
                                        const engine::GenerateRequest& first, std::string opening) {
  Begun begun;
  begun.opening = std::move(opening);
  const std::vector<engine::TokenId> ids =
      service.encode({{.text = begun.opening, .is_template = false}});
  begun.request = first;
  if (begun.request.rules)
    begun.request.rules = grammar::begun_with(std::move(begun.request.rules), begun.opening);
  begun.n_tokens = static_cast<uint32_t>(ids.size());
  begun.request.prompt.insert(begun.request.prompt.end(), ids.begin(), ids.end());
  std::optional<uint32_t>& max_tokens = begun.request.max_tokens;
  if (begun.request.prompt.size() >= service.engine().info().max_length ||
      (max_tokens && *max_tokens <= begun.n_tokens)) {
    return make_error(ErrorCode::kResourceExhausted, "no room for a list of calls");
  }
  if (max_tokens) *max_tokens -= begun.n_tokens;
  return begun;
}

}  // namespace tempo9::server
