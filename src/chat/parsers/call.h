// From the JSON that a model wrote to a call of a declared tool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/events.h"
#include "chat/message.h"

namespace tempo9::chat {

struct ParsedCall {
  std::string name;
  Json arguments;  // an object, its long integers as exact_json.h has them
};

// Where the JSON stood decides how much is forgiven.
enum class CallPlace {
  kTagged,  // the model said that this is a call: unknown tools and further keys pass, arguments
            // may be missing
  kBare,    // it may be plain data: only a declared tool, with arguments and nothing beside
};

const Tool* find_tool(const std::vector<Tool>& tools, std::string_view name);

// json: one object, or an array of them. No value if any is not a call.
// Arguments given as JSON text become the object; each value gets the type that the tool's schema
// declares.
std::optional<std::vector<ParsedCall>> parse_calls(std::string_view json,
                                                   const std::vector<Tool>& tools, CallPlace place);

// Values made to fit the schema where nothing is lost by it: "5" for an integer becomes 5, 5 for a
// string "5", text of an array or object that object. What does not fit stays as it is.
Json coerce(const Json& value, const Json& schema);

// Unique for each seed and index: "call_" and 24 letters and digits.
std::string make_call_id(uint64_t seed, int index);

// Begin, arguments and end of one call.
void append_call(const ParsedCall& call, int index, uint64_t id_seed, std::vector<Event>* out);

}  // namespace tempo9::chat
