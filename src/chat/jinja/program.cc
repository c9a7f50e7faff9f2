#include "chat/jinja/program.h"

#include <unordered_map>
#include <utility>

#include "chat/jinja/interpreter.h"
#include "chat/jinja/parser.h"

namespace tempo9::chat::jinja {
namespace {

// Values are built and destroyed by recursion.
bool shallow(const Json& value, uint32_t levels) {
  if (!value.is_structured()) return true;
  if (levels == 0) return false;
  for (const Json& item : value) {
    if (!shallow(item, levels - 1)) return false;
  }
  return true;
}

}  // namespace

Result<Program> Program::compile(std::string_view source) {
  T9_TRY(Tree tree, parse(source));
  Program program;
  program.tree_ = std::make_shared<const Tree>(std::move(tree));
  return program;
}

Result<Text> Program::render(const Variables& variables, const Limits& limits) const {
  constexpr uint32_t kMaxLevels = kMaxValueDepth - 50;  // room for what the template puts around it
  if (!shallow(variables.outside, kMaxLevels) || !shallow(variables.trusted, kMaxLevels)) {
    return make_error(ErrorCode::kInvalidArgument, "the request nests JSON deeper than {} levels",
                      kMaxLevels);
  }
  std::unordered_map<std::string, Value> values;
  for (const auto& [name, value] : variables.trusted.items())
    values.emplace(name, from_json(value, false));
  for (const auto& [name, value] : variables.outside.items())
    values.emplace(name, from_json(value, true));
  return Interpreter(*tree_, limits, std::move(values), variables.now).run();
}

}  // namespace tempo9::chat::jinja
