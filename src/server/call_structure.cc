// Tool calls as grammars, in the model's own format (chat/call_syntax.h).
#include <algorithm>
#include <optional>
#include <utility>

#include "chat/call_syntax.h"
#include "chat/exact_json.h"
#include "grammar/lark.h"
#include "grammar/library.h"
#include "grammar/notation.h"
#include "grammar/rules.h"
#include "grammar/schema_ebnf.h"
#include "server/call_pieces.h"
#include "server/custom_tool.h"
#include "server/structure.h"

namespace tempo9::server {
namespace {

// A small model that may go on calling sometimes does so for ever.
constexpr int kMaxMoreCalls = 31;

struct ToolSchema {
  const chat::Tool* tool;
  std::shared_ptr<const grammar::Schema> schema;
  std::string rules;  // of the arguments: "<prefix>value"
  bool strict = false;
};

bool is_strict(const chat::Tool& tool) {
  const auto function = tool.raw.find("function");
  const Json& holder = function != tool.raw.end() && function->is_object() ? *function : tool.raw;
  const auto strict = holder.find("strict");
  return strict != holder.end() && *strict == true;
}

// Arguments are an object, whatever the schema leaves open.
Json arguments_schema(const chat::Tool& tool) {
  Json schema = tool.parameters.is_object() ? tool.parameters : Json::object();
  chat::make_plain(&schema, /*keep_long_integers=*/true);
  if (!schema.contains("type")) schema["type"] = "object";
  if (!tool.parameters.is_object()) schema["properties"] = Json::object();
  return schema;
}

// The rules of a custom tool's text, as "<prefix>text".
Result<std::string> text_rules(const chat::TextGrammar& grammar, grammar::Spelling spelling,
                               const std::string& prefix) {
  if (grammar.syntax == "lark") {
    return grammar::lark_to_ebnf(grammar.definition, spelling, prefix);
  }
  T9_TRY(grammar::RegexNode node, grammar::parse_regex(grammar.definition));
  T9_TRY(node, grammar::matching_text(node));
  return fmt::format("{}text ::= {}\n", prefix, grammar::to_ebnf(node, spelling));
}

// A custom tool's arguments are one string that matches its grammar. No value: it cannot be held,
// and its text is left to the model.
Result<std::optional<std::string>> custom_rules(const Service& service, const chat::Tool& tool,
                                                size_t index, const std::string& prefix,
                                                const grammar::Notation& notation) {
  using grammar::Place;
  const bool as_it_is = notation.style == grammar::Notation::Style::kParameters;
  const Place place = as_it_is ? Place::kText : Place::kValue;
  auto rules = text_rules(*tool.grammar, grammar::spelling(notation, place), prefix);
  if (rules) {
    const grammar::Brackets marks = grammar::object_brackets(notation, Place::kArguments);
    return std::optional(fmt::format(
        "{}{}value ::= {} {} {} {} {} {} {}\n", *rules, prefix, marks.open, notation.key_begin,
        grammar::key_literal(kCustomInput, notation, Place::kArguments), notation.key_end,
        grammar::text_of(prefix + "text", notation, place), notation.value_end, marks.close));
  }
  if (tool.grammar->strict || rules.error().code != ErrorCode::kUnsupported) {
    return make_error(ErrorCode::kInvalidArgument, "tools[{}].format.definition: {}", index,
                      rules.error().message);
  }
  service.log(fmt::format("tools[{}] ({}): {}; its text is left to the model", index, tool.name,
                          rules.error().message));
  return std::optional<std::string>();
}

Result<ToolSchema> read_tool(const Service& service, const chat::Tool& tool, size_t index,
                             const std::string& prefix, const grammar::Notation& notation) {
  ToolSchema out{.tool = &tool, .schema = nullptr, .rules = {}, .strict = is_strict(tool)};
  if (tool.grammar) {
    T9_TRY(auto rules, custom_rules(service, tool, index, prefix, notation));
    if (rules) {
      out.rules = std::move(*rules);
      return out;
    }
  }
  grammar::SchemaOptions options{.lenient = !out.strict, .closed_objects = true};
  const auto make = [&](Json schema) -> Status {
    T9_TRY(grammar::Schema read, grammar::Schema::read(std::move(schema), options));
    out.schema = std::make_shared<const grammar::Schema>(std::move(read));
    T9_TRY(out.rules, grammar::schema_to_ebnf(*out.schema, options, prefix, notation));
    return {};
  };
  Status made = make(arguments_schema(tool));
  if (!made && !out.strict) {
    service.log(fmt::format("tools[{}] ({}): {}; its arguments are left to the model", index,
                            tool.name, made.error().message));
    made = make(Json{{"type", "object"}});
  }
  if (!made) {
    return make_error(ErrorCode::kInvalidArgument, "tools[{}].function.parameters: {}", index,
                      made.error().message);
  }
  for (const std::string& warning : out.schema->warnings()) {
    service.log(
        fmt::format("tools[{}] ({}): {}; it is left to the model", index, tool.name, warning));
  }
  return out;
}

// What open_call() (forced_call.h) leaves of a piece to the model's first token.
std::string_view left_open(std::string_view piece, std::string_view characters) {
  return piece.substr(piece.find_last_not_of(characters) + 1);
}

// The reply, or what follows its opening.
std::string forced_source(const Service& service, const chat::CallSyntax& syntax,
                          const CallStructure& structure, const std::vector<ToolSchema>& tools) {
  const CallPieces pieces(service, syntax);
  const bool is_json_name = chat::writes_json_name(syntax);
  std::string source, named;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string prefix = fmt::format("tool{}-", i);
    source += tools[i].rules;
    source += fmt::format("{}arguments[capture=\"{}\"] ::= {}value {}\n", prefix, i, prefix,
                          pieces.expression(pieces.arguments_end()));
    std::string name = tools[i].tool->name;
    if (is_json_name) {
      name = dump(Json(name));
      name = name.substr(1, name.size() - 2);
    }
    named += fmt::format("{}{} call-name-end {}arguments", i == 0 ? "" : " | ",
                         grammar::ebnf_literal(name), prefix);
  }
  std::string number;
  if (!syntax.number_mark.empty()) number = pieces.expression(syntax.number_mark) + "[0-9]{1,3} ";
  source += fmt::format("call-ws ::= \"\\n\"?\n");
  source += fmt::format("call-name-end ::= {}{}\"\"\n", number, pieces.expression(syntax.name_end));
  source += fmt::format("call-named ::= {}\n", named);
  source += fmt::format("call-end ::= {}\"\"\n", pieces.expression(pieces.behind_arguments()));
  source += fmt::format("call ::= {}call-named call-end\n", pieces.expression(syntax.call_begin));
  std::string more;
  if (!structure.one_call && !syntax.ends_reply)
    more = fmt::format("({}call){{0,{}}} ", pieces.expression(syntax.between), kMaxMoreCalls);
  // White space may end the reply: it must not oblige the model to go on with another call.
  const std::string end = more + pieces.expression(syntax.end) + "call-ws";
  if (!structure.forced || service.engine().info().is_script) {
    source += fmt::format("root ::= call-ws {}call {}\n", pieces.expression(syntax.begin), end);
  } else if (structure.name.empty()) {
    source += fmt::format(
        "root ::= {}call-named call-end {}\n",
        pieces.expression(left_open(syntax.call_begin, is_json_name ? " \"" : " ")), end);
  } else {
    source += fmt::format("root ::= {}tool0-arguments call-end {}\n",
                          pieces.expression(left_open(syntax.name_end, " ")), end);
  }
  source += grammar::common_rules();
  source += grammar::notation_rules(pieces.notation());
  return source;
}

Status hold_whole(const Service& service, const chat::CallSyntax& syntax,
                  const CallStructure& structure, const std::vector<ToolSchema>& tools,
                  engine::GenerateRequest* request) {
  T9_TRY(grammar::Grammar compiled,
         service.library().compile(forced_source(service, syntax, structure, tools)));
  std::vector<grammar::NamedSchema> strict;
  for (size_t i = 0; i < tools.size(); ++i) {
    if (tools[i].strict && tools[i].schema != nullptr) {
      strict.push_back({.name = std::to_string(i),
                        .schema = tools[i].schema,
                        .read = arguments_reader(service, syntax, *tools[i].tool)});
    }
  }
  auto rules = grammar::grammar_rules(std::move(compiled), std::move(strict));
  // The opening of a forced call has closed the thinking of a model; a script has no opening.
  if (!structure.forced || service.engine().info().is_script)
    rules = behind_thinking(service, structure.thinking, /*is_text=*/false, std::move(rules));
  const bool beside = !structure.forced && request->rules != nullptr;
  request->rules = beside ? grammar::either(request->rules, std::move(rules)) : std::move(rules);
  return {};
}

Status hold_free(const Service& service, const chat::CallSyntax& syntax,
                 const std::vector<ToolSchema>& tools, engine::GenerateRequest* request) {
  const CallPieces pieces(service, syntax);
  std::vector<grammar::CallArguments> arguments;
  for (const ToolSchema& tool : tools) {
    // A script's calls are taken as they are written, unless strict says otherwise.
    if (service.engine().info().is_script && !tool.strict) continue;
    auto compiled = service.library().compile(
        fmt::format("root ::= json-ws arguments rest\nrest ::= [^]*\n"
                    "call-ws ::= \"\\n\"?\n"
                    "arguments[capture] ::= value {}\n{}{}{}",
                    pieces.expression(pieces.arguments_end()), tool.rules, grammar::common_rules(),
                    grammar::notation_rules(pieces.notation())));
    if (!compiled && tool.strict) return std::move(compiled).error();
    if (!compiled) {
      service.log(fmt::format("the arguments of {} are left to the model: {}", tool.tool->name,
                              compiled.error().message));
      continue;
    }
    arguments.push_back({.name = tool.tool->name,
                         .grammar = std::move(*compiled),
                         .schema = tool.strict ? tool.schema : nullptr,
                         .read = arguments_reader(service, syntax, *tool.tool)});
  }
  if (!arguments.empty()) {
    request->rules =
        grammar::call_rules(std::move(arguments), pieces.start(), &service.tokenizer());
  }
  return {};
}

}  // namespace

Status hold_calls(const Service& service, const CallStructure& structure,
                  engine::GenerateRequest* request) {
  if (structure.tools->empty()) return {};
  T9_TRY(const chat::CallSyntax syntax, chat::call_syntax(service.format()));
  if (syntax.arguments == chat::CallSyntax::Arguments::kNone) return {};
  const grammar::Notation notation = CallPieces(service, syntax).notation();
  const bool whole = structure.forced || request->rules != nullptr;
  std::vector<ToolSchema> tools;
  for (size_t i = 0; i < structure.tools->size(); ++i) {
    const chat::Tool& tool = (*structure.tools)[i];
    if (!structure.name.empty() && tool.name != structure.name) continue;
    const std::string prefix = whole ? fmt::format("tool{}-", tools.size()) : "";
    T9_TRY(ToolSchema read, read_tool(service, tool, i, prefix, notation));
    tools.push_back(std::move(read));
  }
  request->rules_format = service.format();
  return whole ? hold_whole(service, syntax, structure, tools, request)
               : hold_free(service, syntax, tools, request);
}

}  // namespace tempo9::server
