#include "chat/parsers/call.h"

#include <algorithm>
#include <array>
#include <utility>

#include "chat/exact_json.h"
#include "chat/parsers/json_scanner.h"
#include "chat/parsers/schema.h"

namespace tempo9::chat {

const Tool* find_tool(const std::vector<Tool>& tools, std::string_view name) {
  auto it =
      std::find_if(tools.begin(), tools.end(), [&](const Tool& tool) { return tool.name == name; });
  return it == tools.end() ? nullptr : &*it;
}

namespace {

// An object, its JSON text, or nothing at all.
std::optional<Json> arguments_of(const Json& value) {
  if (value.is_object()) return value;
  if (value.is_null()) return Json::object();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return Json::object();
  std::optional<Json> inner = parse_exactly(text);
  if (!inner || !inner->is_object()) return std::nullopt;
  return inner;
}

bool only_known_keys(const Json& object) {
  constexpr std::array<std::string_view, 6> kKnown = {"name", "arguments", "parameters",
                                                      "type", "function",  "id"};
  return std::all_of(object.items().begin(), object.items().end(), [&](const auto& item) {
    return std::find(kKnown.begin(), kKnown.end(), item.key()) != kKnown.end();
  });
}

std::optional<ParsedCall> parse_call(const Json& value, const std::vector<Tool>& tools,
                                     CallPlace place) {
  if (!value.is_object()) return std::nullopt;
  bool bare = place == CallPlace::kBare;
  if (bare && !only_known_keys(value)) return std::nullopt;
  if (bare && value.contains("type") && value["type"] != "function") return std::nullopt;
  // {"type": "function", "function": {"name": ..., "arguments": ...}}
  if (auto function = value.find("function"); function != value.end() && function->is_object()) {
    if (bare && value.contains("name")) return std::nullopt;
    return parse_call(*function, tools, place);
  }
  auto name = value.find("name");
  if (name == value.end() && !bare) name = value.find("function");
  if (name == value.end() || !name->is_string()) return std::nullopt;
  const auto& tool_name = name->get_ref<const std::string&>();
  const Tool* tool = find_tool(tools, tool_name);
  if (tool_name.empty() || (bare && tool == nullptr)) return std::nullopt;
  auto arguments = value.find("arguments");
  if (arguments == value.end()) arguments = value.find("parameters");
  if (arguments == value.end() && bare) return std::nullopt;
  std::optional<Json> object = arguments == value.end() ? Json::object() : arguments_of(*arguments);
  if (!object) return std::nullopt;
  if (tool != nullptr) object = coerce(*object, tool->parameters);
  return ParsedCall{tool_name, std::move(*object)};
}

}  // namespace

std::optional<std::vector<ParsedCall>> parse_calls(std::string_view json,
                                                   const std::vector<Tool>& tools,
                                                   CallPlace place) {
  std::optional<Json> value = parse_exactly(mend_strings(json));
  if (!value) return std::nullopt;
  std::vector<ParsedCall> calls;
  auto add = [&](const Json& item) {
    std::optional<ParsedCall> call = parse_call(item, tools, place);
    if (call) calls.push_back(std::move(*call));
    return call.has_value();
  };
  if (!value->is_array()) {
    if (!add(*value)) return std::nullopt;
    return calls;
  }
  for (const Json& item : *value) {
    if (!add(item)) return std::nullopt;
  }
  if (calls.empty()) return std::nullopt;
  return calls;
}

std::string make_call_id(uint64_t seed, int index) {
  constexpr std::string_view kAlphabet =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string id = "call_";
  // SplitMix64 (Steele, Lea, Flood 2014).
  uint64_t state = seed ^ (static_cast<uint64_t>(index) * 0xD1342543DE82EF95ULL);
  for (int i = 0; i < 24; ++i) {
    state += 0x9E3779B97F4A7C15ULL;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    id += kAlphabet[(z ^ (z >> 31)) % kAlphabet.size()];
  }
  return id;
}

void append_call(const ParsedCall& call, int index, uint64_t id_seed, std::vector<Event>* out) {
  out->emplace_back(std::in_place_type<ToolCallBegin>, index, make_call_id(id_seed, index),
                    call.name);
  out->emplace_back(std::in_place_type<ToolCallArgsDelta>, index, dump_exactly(call.arguments));
  out->emplace_back(std::in_place_type<ToolCallEnd>, index);
}

}  // namespace tempo9::chat
