#include "server/structure.h"

#include <algorithm>
#include <utility>

#include "chat/call_syntax.h"
#include "grammar/library.h"
#include "grammar/rules.h"
#include "grammar/schema_ebnf.h"
#include "grammar/thinking.h"

namespace tempo9::server {
namespace {

using Kind = Structure::Kind;

Error with_field(const std::string& field, Error error) {
  error.message = fmt::format("{}: {}", field, error.message);
  return error;
}

Result<std::shared_ptr<const grammar::Rules>> schema_rules(const Service& service,
                                                           const Json& value) {
  T9_TRY(grammar::Schema read, grammar::Schema::read(value));
  auto schema = std::make_shared<const grammar::Schema>(std::move(read));
  // Small models fill objects with keys of their own until the reply is cut.
  T9_TRY(const std::string rules, grammar::schema_to_ebnf(*schema, {.closed_objects = true}));
  T9_TRY(grammar::Grammar compiled, service.library().compile(fmt::format(
                                        "root ::= value\n{}{}", rules, grammar::common_rules())));
  return grammar::grammar_rules(std::move(compiled), std::move(schema));
}

Result<std::string> source_of(const Structure& structure) {
  if (structure.kind == Kind::kJsonObject)
    return fmt::format("root ::= json-object\n{}", grammar::common_rules());
  if (structure.kind == Kind::kChoice) {
    std::vector<std::string> choices;
    for (const Json& choice : structure.value)
      choices.push_back(grammar::ebnf_literal(choice.get<std::string>()));
    return fmt::format("root ::= {}\n", fmt::join(choices, " | "));
  }
  const auto& text = structure.value.get_ref<const std::string&>();
  if (structure.kind == Kind::kGrammar) return text;
  T9_TRY(grammar::RegexNode node, grammar::parse_regex(text));
  T9_TRY(node, grammar::matching_text(node));
  return fmt::format("root ::= {}\n", grammar::to_ebnf(node, grammar::Spelling::kPlain));
}

Result<std::shared_ptr<const grammar::Rules>> rules_of(const Service& service,
                                                       const Structure& structure) {
  if (structure.kind == Kind::kJsonSchema) return schema_rules(service, structure.value);
  T9_TRY(std::string source, source_of(structure));
  const bool lark = structure.kind == Kind::kGrammar && source.find("::=") == std::string::npos;
  T9_TRY(grammar::Grammar compiled,
         service.library().compile(std::move(source), lark ? grammar::Library::Syntax::kLark
                                                           : grammar::Library::Syntax::kEbnf));
  return grammar::grammar_rules(std::move(compiled));
}

}  // namespace

namespace {

grammar::ThinkingMarks marks_of(const Service& service, const chat::CallSyntax& syntax,
                                const Thinking& thinking) {
  grammar::ThinkingMarks marks{
      .pairs = {}, .anywhere = syntax.thinks_anywhere, .starts_inside = thinking.starts_inside};
  for (const chat::ThinkingMarks& pair : syntax.thinking) {
    marks.pairs.push_back({service.encode({{std::string(pair.open), true}}),
                           service.encode({{std::string(pair.close), true}})});
  }
  return marks;
}

}  // namespace

Thinking thinking_of(const Service& service, bool starts_inside, bool is_begun) {
  const auto chat_template = service.chat_template();
  return {.may_think = starts_inside || service.engine().info().is_script ||
                       (chat_template && (*chat_template)->uses_thinking()),
          .starts_inside = starts_inside,
          .is_begun = is_begun};
}

std::shared_ptr<const grammar::Rules> behind_thinking(const Service& service,
                                                      const Thinking& thinking, bool is_text,
                                                      std::shared_ptr<const grammar::Rules> rules) {
  const auto syntax = chat::call_syntax(service.format());
  if (!syntax) return rules;
  grammar::ThinkingMarks marks;
  if (thinking.may_think) marks = marks_of(service, *syntax, thinking);
  std::vector<TokenId> lead;
  if (is_text && !thinking.is_begun && !service.engine().info().is_script)
    lead = service.encode({{std::string(syntax->text_begin), true}});
  if (marks.pairs.empty() && lead.empty()) return rules;
  return grammar::after_thinking(std::move(rules), std::move(marks), std::move(lead),
                                 &service.tokenizer());
}

void limit_thinking(const Service& service, const Thinking& thinking, uint32_t n_tokens,
                    engine::GenerateRequest* request) {
  const auto syntax = chat::call_syntax(service.format());
  if (!syntax || syntax->thinking.empty()) return;
  request->rules =
      grammar::with_thinking_budget(std::move(request->rules), marks_of(service, *syntax, thinking),
                                    n_tokens, &service.tokenizer());
  request->rules_format = service.format();
}

Status hold_to(const Service& service, const Structure& structure, const Thinking& thinking,
               engine::GenerateRequest* request) {
  if (structure.kind == Kind::kNone) return {};
  auto rules = rules_of(service, structure);
  if (!rules) {
    Error error = with_field(structure.field, std::move(rules).error());
    if (error.code == ErrorCode::kUnsupported || error.code == ErrorCode::kNotFound)
      error.code = ErrorCode::kInvalidArgument;
    return error;
  }
  request->rules = behind_thinking(service, thinking, /*is_text=*/true, std::move(*rules));
  return {};
}

// ---- reading

Structure read_format(Fields& fields, std::string_view key) {
  Structure structure;
  const Json* format = fields.find(key);
  if (format == nullptr) return structure;
  constexpr std::string_view kExpected =
      "an object with type \"text\", \"json_object\" or \"json_schema\"";
  if (!format->is_object()) {
    fields.fail(key, kExpected);
    return structure;
  }
  const auto type = format->find("type");
  if (type == format->end() || !type->is_string()) {
    fields.fail(key, kExpected);
    return structure;
  }
  structure.field = fields.name(key);
  if (*type == "text") return structure;
  if (*type == "json_object") {
    structure.kind = Kind::kJsonObject;
    return structure;
  }
  if (*type != "json_schema") {
    fields.fail(
        make_error(ErrorCode::kInvalidArgument,
                   "{}.type: found {}, expected \"text\", \"json_object\" or \"json_schema\"",
                   structure.field, describe(*type)));
    return structure;
  }
  // Chat completions wrap the schema, Responses do not; either is taken in both.
  const Json* holder = format;
  const auto inner = format->find("json_schema");
  const bool wraps = inner != format->end() && inner->is_object();
  if (wraps) holder = &*inner;
  if (wraps || (key == "response_format" && !format->contains("schema")))
    structure.field += ".json_schema";
  const auto schema = holder->find("schema");
  if (schema == holder->end() || !(schema->is_object() || schema->is_boolean())) {
    fields.fail(make_error(ErrorCode::kInvalidArgument,
                           "{}.schema: found {}, expected a JSON schema", structure.field,
                           schema == holder->end() ? "nothing" : describe(*schema)));
    return structure;
  }
  structure.field += ".schema";
  structure.kind = Kind::kJsonSchema;
  structure.value = *schema;
  return structure;
}

Structure read_plain_format(Fields& fields, std::string_view key) {
  const Json* format = fields.find(key);
  const bool nothing =
      format == nullptr || *format == "" || (format->is_object() && format->empty());
  if (nothing) return {};
  if (*format == "json") return {.kind = Kind::kJsonObject, .value = {}, .field = fields.name(key)};
  if (format->is_object())
    return {.kind = Kind::kJsonSchema, .value = *format, .field = fields.name(key)};
  fields.fail(key, "\"json\" or a JSON Schema object");
  return {};
}

namespace {

struct Form {
  const char* name;    // in structured_outputs
  const char* guided;  // on its own
  Kind kind;
};
constexpr Form kForms[] = {
    {"json", "guided_json", Kind::kJsonSchema},    {"json_object", nullptr, Kind::kJsonObject},
    {"regex", "guided_regex", Kind::kRegex},       {"choice", "guided_choice", Kind::kChoice},
    {"grammar", "guided_grammar", Kind::kGrammar},
};

// Schemas may come as JSON text, too.
bool fits(Kind kind, Json* value) {
  switch (kind) {
    case Kind::kJsonSchema:
      if (value->is_string()) *value = Json::parse(value->get<std::string>(), nullptr, false);
      return value->is_object() || value->is_boolean();
    case Kind::kChoice:
      return value->is_array() && !value->empty() &&
             std::ranges::all_of(*value, [](const Json& v) { return v.is_string(); });
    case Kind::kJsonObject:
      return value->is_boolean();
    default:
      return value->is_string();
  }
}

std::string_view expected(Kind kind) {
  switch (kind) {
    case Kind::kJsonSchema:
      return "a JSON schema";
    case Kind::kChoice:
      return "an array of strings, at least one";
    case Kind::kJsonObject:
      return "true or false";
    case Kind::kRegex:
      return "a regular expression";
    default:
      return "a grammar";
  }
}

void read_form(Fields& fields, const char* key, Kind kind, Structure* out) {
  const Json* value = fields.find(key);
  if (value == nullptr) return;
  Json copy = *value;
  if (!fits(kind, &copy)) return fields.fail(key, expected(kind));
  if (kind == Kind::kJsonObject && copy == false) return;
  if (out->kind != Kind::kNone) {
    return fields.fail(make_error(ErrorCode::kInvalidArgument,
                                  "{}: found a second form beside {}, expected one",
                                  fields.name(key), out->field));
  }
  *out = {.kind = kind, .value = std::move(copy), .field = fields.name(key)};
}

}  // namespace

Structure read_structured_outputs(Fields& fields) {
  Structure out;
  for (const Form& form : kForms) {
    if (form.guided != nullptr) read_form(fields, form.guided, form.kind, &out);
  }
  const Json* outputs = fields.find("structured_outputs");
  if (outputs == nullptr) return out;
  if (!outputs->is_object()) {
    fields.fail("structured_outputs", "an object");
    return out;
  }
  Fields inner(*outputs, "structured_outputs.");
  for (const Form& form : kForms) read_form(inner, form.name, form.kind, &out);
  for (const char* other : {"structural_tag", "whitespace_pattern"})
    inner.refuse(other, "not available");
  if (const Status status = inner.status(); !status) fields.fail(status.error());
  return out;
}

}  // namespace tempo9::server
