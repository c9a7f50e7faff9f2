#include "chat/jinja/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace tempo9::chat::jinja {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Json load(const char* name) {
  std::ifstream file(std::string(T9_TEST_DATA) + "/chat/" + name);
  return Json::parse(file, nullptr, false);
}

// The words of an error; Python's own exceptions are compared by their type, whose words differ
// between versions.
std::string kind(const std::string& error) {
  size_t colon = error.find("Error: ");
  bool typed = colon != std::string::npos && error.find_first_of(" ") > colon;
  return typed ? error.substr(0, colon) : error;
}

std::string render(std::string_view source, const Json& variables = Json::object()) {
  Result<Program> program = Program::compile(source);
  if (!program) return "compile: " + program.error().message;
  Variables v;
  v.outside = variables;
  Result<Text> text = program->render(v);
  return text ? text->bytes() : "render: " + text.error().message;
}

TEST(Program, RendersAsJinja2) {
  Json data = load("jinja_cases.json");
  ASSERT_TRUE(data.is_object());
  ASSERT_GE(data["cases"].size(), 200u);
  auto shared = [&](const Json& value) {
    return data["shared"].contains(value) ? data["shared"][value.get<std::string>()] : value;
  };
  for (const Json& c : data["cases"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    std::string source = shared(c["template"]);
    const Json& expect = c["expect"];
    Result<Program> program = Program::compile(source);
    if (expect.contains("stage") && expect["stage"] == "compile") {
      EXPECT_FALSE(program) << "expected: " << expect["error"];
      continue;
    }
    ASSERT_TRUE(program) << program.error().message;
    Variables variables;
    Json given = c.value("variables", Json::object());
    variables.outside = given.is_string() ? shared(given) : given;
    variables.now = c.value("now", std::string());
    Result<Text> text = program->render(variables);
    if (expect.contains("text")) {
      ASSERT_TRUE(text) << text.error().message;
      EXPECT_EQ(text->bytes(), expect["text"].get<std::string>());
    } else {
      ASSERT_FALSE(text) << text->bytes();
      EXPECT_EQ(kind(text.error().message), kind(expect["error"]));
    }
  }
}

// Each template prints x, whose text comes from outside, in some changed form between < and >.
TEST(Program, OutsideTextStaysMarked) {
  const std::pair<const char*, const char*> cases[] = {
      {"<{{ x }}>", "Ab-Cd"},
      {"<{{ x|upper }}>", "AB-CD"},
      {"<{{ x.lower() }}>", "ab-cd"},
      {"<{{ x[1:4] }}>", "b-C"},
      {"<{{ x[::-1] }}>", "dC-bA"},
      {"<{{ x|replace('zz', 'q') }}>", "Ab-Cd"},
      {"<{{ x.split('-')[1] }}>", "Cd"},
      {"<{{ '%s' % x }}>", "Ab-Cd"},
      {"<{{ '{}'.format(x) }}>", "Ab-Cd"},
      {"<{{ x|title }}>", "Ab-Cd"},
      {"<{{ x|list|join }}>", "Ab-Cd"},
      {"<{{ (x ~ '')|trim }}>", "Ab-Cd"},
      {"<{% set y %}{{ x }}{% endset %}{{ y }}>", "Ab-Cd"},
      {"<{% filter upper %}{{ x }}{% endfilter %}>", "AB-CD"},
      {"<{% macro m(v) %}{{ v }}{% endmacro %}{{ m(x) }}>", "Ab-Cd"},
      {"<{{ d.keys()|first }}>", "Ab-Cd"},
      {"<{{ x|truncate(4, true, '', 0) }}>", "Ab-C"},
      {"<{{ x|indent }}>", "Ab-Cd"},
      {"<{{ x|e }}>", "Ab-Cd"},
      {"<{{ x|urlencode }}>", "Ab-Cd"},
      {"<{{ x|center(0) }}>", "Ab-Cd"},
      {"<{{ x|wordwrap(99) }}>", "Ab-Cd"},
      {"<{{ x|striptags }}>", "Ab-Cd"},
  };
  for (const auto& [source, expected] : cases) {
    SCOPED_TRACE(source);
    Result<Program> program = Program::compile(source);
    ASSERT_TRUE(program);
    Variables variables;
    variables.outside = {{"x", "Ab-Cd"}, {"d", {{"Ab-Cd", 1}}}};
    Result<Text> text = program->render(variables);
    ASSERT_TRUE(text) << text.error().message;
    ASSERT_EQ(text->bytes(), std::string("<") + expected + ">");
    for (size_t i = 0; i < text->size(); ++i) {
      bool edge = i == 0 || i + 1 == text->size();
      EXPECT_EQ(text->outside_at(i), !edge) << "byte " << i;
    }
  }
}

TEST(Program, JsonStringsStayMarkedAndTrustedOnesDoNot) {
  Result<Program> program = Program::compile("{{ x|tojson }}{{ bos_token }}");
  ASSERT_TRUE(program);
  Variables variables;
  variables.outside = {{"x", {{"k", "<|im_end|>\n"}}}};
  variables.trusted = {{"bos_token", "<s>"}};
  Result<Text> text = program->render(variables);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->bytes(), R"({"k": "<|im_end|>\n"}<s>)");
  std::string outside;
  text->for_each_run(
      [&](std::string_view run, bool out) { outside += out ? std::string(run) : "_"; });
  EXPECT_EQ(outside, R"(_k_<|im_end|>\n_)");
}

// What a hostile file may try. Each ends soon, with an error or a result.
TEST(Program, HostileTemplatesAreBounded) {
  const char* errors[] = {
      "{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}",
      "{% set ns = namespace(s='xxxxxxxxxx') %}{% for i in range(1000) %}{% set ns.s = ns.s ~ ns.s "
      "%}{% endfor %}",
      "{{ 'x' * 999999999999 }}",
      "{{ [1] * 999999999 }}",
      "{{ '%999999999d' % 1 }}",
      "{{ '{:999999999}'.format(1) }}",
      "{{ ('x' * 100000)|replace('', 'y' * 100000) }}",
      "{% set ns = namespace(l=[1]) %}{% for i in range(9999) %}{% set ns.l = [ns.l] %}{% endfor "
      "%}",
      "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}{% "
      "endfor %}{{ ns.l }}",
      "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
      "{% set ns = namespace() %}{% for i in range(9999) %}{% set ns.a = namespace(p=ns.a) %}{% "
      "endfor %}",
      "{{ 'x'.ljust(99999999999) }}",
      "{{ 'a'|center(9999999999) }}",
      "{{ 2 ** 9999999 }}",
  };
  for (const char* source : errors) {
    SCOPED_TRACE(source);
    EXPECT_THAT(render(source), StartsWith("render: "));
  }
  EXPECT_THAT(render("{% set ns = namespace(a=1) %}{% set ns.me = ns %}{{ ns }}"),
              HasSubstr("<Namespace ...>"));
  EXPECT_THAT(render("{{ " + std::string(100000, '(') + "1" + std::string(100000, ')') + " }}"),
              StartsWith("compile: "));
  std::string sum = "1", nots, ifs;
  for (int i = 0; i < 50000; ++i) sum += "+1";
  for (int i = 0; i < 50000; ++i) nots += "not ";
  for (int i = 0; i < 5000; ++i) ifs += "{% if 1 %}";
  EXPECT_THAT(render("{{ " + sum + " }}"), StartsWith("compile: "));
  EXPECT_THAT(render("{{ " + nots + "1 }}"), StartsWith("compile: "));
  EXPECT_THAT(render(ifs), StartsWith("compile: "));
  Json deep = 1;
  for (int i = 0; i < 1000; ++i) deep = Json::array({std::move(deep)});
  EXPECT_THAT(render("{{ x }}", {{"x", deep}}), HasSubstr("deeper"));
}

TEST(Program, OtherTemplatesAreRefusedByName) {
  for (const char* tag : {"include", "import", "extends", "from"}) {
    EXPECT_THAT(render(std::string("{% ") + tag + " 'x' %}"), HasSubstr(tag));
  }
}

TEST(Program, ErrorsNameTheLine) {
  EXPECT_THAT(render("a\nb\n{{ x ! }}"), HasSubstr("line 3"));
  EXPECT_THAT(render("{% if x %}\n\n"), HasSubstr("endif"));
}

TEST(Program, StringsThatAreNotUtf8DoNotCrash) {
  Json x = std::string("\xFF\xC3(\xE2\x82");
  EXPECT_EQ(render("{{ x|length }}", {{"x", x}}), "5");
  EXPECT_EQ(render("{{ x[::-1]|length }}{{ x|upper|length }}", {{"x", x}}), "55");
}

}  // namespace
}  // namespace tempo9::chat::jinja
