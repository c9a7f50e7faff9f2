// `tempo9 schema check`: would a reply held to this schema be allowed to be this instance?
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.h"
#include "grammar/check.h"

namespace tempo9::cli {
namespace {

constexpr const char* kSchemaUsage =
    "usage: tempo9 schema check --schema FILE --instance FILE\n"
    "Exit code 0: the instance is accepted, 1: it is not, 2: the schema is refused (path and "
    "keyword).";

Result<std::string> read_input(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return make_error(ErrorCode::kIo, "schema: cannot open {}", path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return make_error(ErrorCode::kIo, "schema: cannot read {}", path);
  return text;
}

}  // namespace

int run_schema(const std::vector<std::string>& args, const Environment&) {
  if (args.size() == 1 && (args[0] == "--help" || args[0] == "-h")) {
    fmt::print("{}\n", kSchemaUsage);
    return finish_output(kExitOk);
  }
  std::string schema_path, instance_path;
  if (args.empty() || args[0] != "check")
    return report(fmt::format("schema: expected check; {}", kSchemaUsage), kExitUsage);
  for (size_t i = 1; i < args.size(); i += 2) {
    std::string* path = args[i] == "--schema"     ? &schema_path
                        : args[i] == "--instance" ? &instance_path
                                                  : nullptr;
    if (path == nullptr || i + 1 == args.size())
      return report(fmt::format("schema: found {}; {}", args[i], kSchemaUsage), kExitUsage);
    *path = args[i + 1];
  }
  if (schema_path.empty() || instance_path.empty())
    return report(fmt::format("schema: a file is missing; {}", kSchemaUsage), kExitUsage);
  const auto schema = read_input(schema_path);
  if (!schema) return report(schema.error().message, kExitUsage);
  const auto instance = read_input(instance_path);
  if (!instance) return report(instance.error().message, kExitFailure);
  const auto result = grammar::check_instance(*schema, *instance);
  if (!result) return report(fmt::format("schema: {}", result.error().message), kExitUsage);
  if (result->accepted) {
    fmt::print("accepted\n");
    return finish_output(kExitOk);
  }
  fmt::print("not accepted: {}\n", result->reason);
  return finish_output(kExitFailure);
}

}  // namespace tempo9::cli
