// The tools of a Responses request, brought to the functions that chat templates and output parsers
// know, and calls of those functions back to what the client declared.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/message.h"

namespace tempo9::server::openai {

using chat::Json;

// What stands behind a function that the model sees.
struct ToolOrigin {
  enum class Kind { kFunction, kCustom, kToolSearch };
  Kind kind = Kind::kFunction;
  std::string name;        // the client's
  std::string name_space;  // empty: none
};

// function: as it is. custom: a function with one string, "input"; a grammar is told in the
// description. namespace: its tools, as "<namespace>__<name>". tool_search that the client runs: a
// function; tools with defer_loading wait until a tool_search_output brings them. Hosted tools are
// left out with a warning.
class ResponseTools {
 public:
  // tools: null or an array. Errors: kInvalidArgument naming the place.
  static Result<ResponseTools> from_json(const Json& tools);

  // Those that a tool_search_output or additional_tools item brings in mid-conversation, as one
  // text for the model. Ones already known are listed again but not declared twice.
  Result<std::string> load(const Json& tools, const std::string& where);

  const std::vector<chat::Tool>& shown() const { return shown_; }    // at the prompt's front
  const std::vector<chat::Tool>& loaded() const { return loaded_; }  // in mid-conversation
  const std::vector<std::string>& warnings() const { return warnings_; }

  // The function's name that the model sees.
  static std::string visible_name(std::string_view name_space, std::string_view name);
  // Of what the model called: also when it wrote a namespace with another joint, or left it out
  // where that is clear.
  ToolOrigin origin(const std::string& visible) const;

 private:
  enum class Place { kFront, kLoaded };
  Status add(const Json& entry, const std::string& where, const std::string& name_space,
             Place place, std::vector<chat::Tool>* added);
  Status add_namespace(const Json& entry, const std::string& where, Place place,
                       std::vector<chat::Tool>* added);
  void skip(const std::string& type, const std::string& where);
  bool declare(const chat::Tool& tool, ToolOrigin origin);  // false: known already

  bool client_searches_ = false;
  std::vector<chat::Tool> shown_, loaded_;
  std::map<std::string, ToolOrigin> origins_;  // by visible name
  std::vector<std::string> warnings_;
};

}  // namespace tempo9::server::openai
