// `tempo9 schema check`: would a reply held to this schema be allowed to be this instance?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.h"
#include "cli/parse_arguments.h"
#include "cli/text_file.h"
#include "grammar/check.h"

namespace tempo9::cli {

int run_schema(const std::vector<std::string>& args, const Environment&) {
  std::string verb, schema_path, instance_path;
  CLI::App app("Tells whether a reply held to this schema would be allowed to be this instance.",
               "tempo9 schema");
  app.add_option("verb", verb, "what to do")->required()->type_name("check");
  app.add_option("--schema", schema_path, "the JSON schema")->required()->type_name("F");
  app.add_option("--instance", instance_path, "the JSON text")->required()->type_name("F");
  app.footer(
      "Exit code 0: the instance is accepted, 1: it is not, 2: the schema is refused (path and "
      "keyword).");
  const auto goes_on = parse_arguments(app, args);
  if (!goes_on) return report(fmt::format("schema: {}", goes_on.error().message), kExitUsage);
  if (!*goes_on) {
    fmt::print("{}", app.help());
    return finish_output(kExitOk);
  }
  if (verb != "check") {
    return report(fmt::format("schema: found \"{}\", expected check", verb), kExitUsage);
  }
  const auto schema = read_text_file("schema: --schema", schema_path);
  if (!schema) return report(schema.error().message, kExitUsage);
  const auto instance = read_text_file("schema: --instance", instance_path);
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
