// t9_render_template: JSON Lines in, JSON Lines out, for tests that compare the template language
// with Jinja2. In:  {"template": "...", "variables": {...}, "trusted": {...}, "now": "..."}   (all
// but template optional) Out: {"segments": [["text", is_template], ...]} or {"stage": "compile" |
// "render", "error": "..."}
#include <iostream>
#include <string>

#include "chat/jinja/program.h"

namespace {

using tempo9::chat::Json;

Json fail(const char* stage, const tempo9::Error& error) {
  return {{"stage", stage}, {"error", error.message}};
}

Json answer(const Json& request) {
  using tempo9::chat::jinja::Program;
  tempo9::Result<Program> program = Program::compile(request.value("template", std::string()));
  if (!program) return fail("compile", program.error());
  tempo9::chat::jinja::Variables variables;
  variables.outside = request.value("variables", Json::object());
  variables.trusted = request.value("trusted", Json::object());
  variables.now = request.value("now", std::string());
  tempo9::Result<tempo9::chat::jinja::Text> text = program->render(variables);
  if (!text) return fail("render", text.error());
  Json segments = Json::array();
  text->for_each_run([&](std::string_view run, bool outside) {
    segments.push_back(Json::array({run, !outside}));
  });
  return {{"segments", segments}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    Json request = Json::parse(line, nullptr, false);
    Json out = request.is_object() ? answer(request)
                                   : Json{{"stage", "input"}, {"error", "not a JSON object"}};
    std::cout << out.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  }
  return 0;
}
