// What a client may ask of a reply's form, from any dialect, to rules that the engine holds it to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "chat/chat.h"
#include "engine/engine.h"
#include "grammar/rules.h"
#include "server/json_body.h"
#include "server/service.h"

namespace tempo9::server {

// One form, as some field of the body gave it.
struct Structure {
  enum class Kind {
    kNone,
    kJsonObject,  // any object
    kJsonSchema,  // value: the schema
    kRegex,       // value: a pattern that the whole reply matches
    kGrammar,     // value: EBNF (with "::=") or Lark
    kChoice,      // value: an array of strings, one of which is the reply
  };
  Kind kind = Kind::kNone;
  Json value = {};
  std::string field = {};  // what errors begin with: "response_format.json_schema.schema"
};

// What a reply may have before its form begins, in the marks of the model's output format.
struct Thinking {
  bool may_think = false;      // the model's template knows thinking: it runs free first
  bool starts_inside = false;  // the prompt has opened the block
  bool is_begun = false;       // the prompt has begun the reply's text (a prefill, a raw prompt)
};
Thinking thinking_of(const Service& service, bool starts_inside, bool is_begun);  // a chat's reply

// The rules, with what thinking may come before them. is_text: they are of text, not of calls; some
// formats begin that with marks of its own.
std::shared_ptr<const grammar::Rules> behind_thinking(const Service& service,
                                                      const Thinking& thinking, bool is_text,
                                                      std::shared_ptr<const grammar::Rules> rules);

// Ends thinking behind so many tokens. Call it last: it holds beside all other rules.
void limit_thinking(const Service& service, const Thinking& thinking, uint32_t n_tokens,
                    engine::GenerateRequest* request);

// Holds the reply to the structure. Call it last, on the HTTP side: compiling takes its time, and
// never the engine's.
// Errors: kInvalidArgument, beginning with field, for what is no schema, pattern or grammar, or
// cannot be held (then with path and keyword).
Status hold_to(const Service& service, const Structure& structure, const Thinking& thinking,
               engine::GenerateRequest* request);

// Tool calls. forced: the reply has been begun by open_call() with that name, so the rest of the
// call is written from the first token on; else calls are recognised where they begin, or, when
// hold_to() came before, the reply is either calls or has that form. A strict
// tool's schema is held whole (errors name path and keyword); of another tool's schema what a
// grammar holds; the log says what is left to the model.
struct CallStructure {
  const std::vector<chat::Tool>* tools = nullptr;
  bool forced = false;    // required, or a named function
  std::string name = {};  // the named one
  bool one_call = false;  // the reply ends behind its first call
  Thinking thinking = {};
};
Status hold_calls(const Service& service, const CallStructure& structure,
                  engine::GenerateRequest* request);

// The forms that vLLM's clients send: structured_outputs {json, json_object, regex, choice,
// grammar} and guided_json, guided_regex, guided_choice, guided_grammar; kNone without any.
Structure read_structured_outputs(Fields& fields);
// {"type": "text" | "json_object" | "json_schema", ...} under key, as OpenAI's chat completions
// (schema within json_schema) and Responses (text.format: beside type) have it.
Structure read_format(Fields& fields, std::string_view key);
// "json" or a schema under key, as Ollama has it; "" and {} ask for nothing.
Structure read_plain_format(Fields& fields, std::string_view key);

}  // namespace tempo9::server
