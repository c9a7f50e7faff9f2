// A conversation to a prompt: the model's own chat template, run over the messages.
//
// The prompt comes as segments: text that the template wrote, and text that came from outside
// (contents, schemas, arguments). Only template text may become control tokens. To get the ids that
// the original tokenizer gives, do not encode segment by segment: join all texts, find control
// tokens inside the template segments only, and encode what lies between two of them as one plain
// text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/message.h"

namespace tempo9::chat {

struct Segment {
  std::string text;
  bool is_template = false;
  bool operator==(const Segment&) const = default;
};

// The segments' texts joined: what the reference implementation calls the prompt.
std::string join_segments(const std::vector<Segment>& segments);

// True if the prompt ends inside a thinking block that the template opened for the reply
// ("<think>\n").
bool opens_thinking(const std::vector<Segment>& segments);

struct RenderInput {
  std::vector<Message> messages;
  std::vector<Tool> tools;  // empty: the template sees none
  bool add_generation_prompt = true;
  bool continue_final = false;
  Json template_kwargs =
      Json::object();  // bos_token, eos_token and now in here win over the fields below
  std::string now;     // ISO time for strftime_now ("2026-05-04T10:11:12"); empty: the local clock
};

struct TemplateTokens {
  std::string bos;  // spelling; empty: none
  std::string eos;
};

namespace jinja {
class Program;
}

// Immutable after compile; safe from any thread.
class ChatTemplate {
 public:
  // An empty source compiles, and render() then says which flag to use.
  // Errors: kInvalidArgument with line and reason for a template that does not parse.
  static Result<ChatTemplate> compile(std::string source, TemplateTokens tokens);

  // Roles, empty or null contents and calls that the template refuses or drops are given to it in
  // another form (turns of one role merged, a system message in mid-conversation as a marked user
  // part, calls one by one) before the request is refused. Errors: kInvalidArgument with the
  // template's own words, or the limit that it passes.
  Result<std::vector<Segment>> render(const RenderInput& input) const;

  // The same without any change of form: what /apply-template and the tests show.
  Result<std::vector<Segment>> render_exactly(const RenderInput& input) const;

  bool empty() const { return source_.empty(); }
  const std::string& source() const { return source_; }
  bool takes_parts() const { return traits_.user_parts; }  // walks content arrays itself
  bool uses_thinking() const { return traits_.thinking; }  // knows <think> blocks
  bool uses_tools() const { return traits_.tools; }        // shows the tools; if not, render() does
  const TemplateTokens& tokens() const { return tokens_; }

  // What the template was found to do, by running it over small conversations when it was compiled.
  struct Traits {
    bool user_parts = false, system_parts = false, assistant_parts = false, tool_parts = false;
    bool thinking = false;
    bool tools = false;
    bool developer = false;  // knows the role
    bool null_content =
        false;  // takes an assistant's null content beside calls without printing "None"
  };

 private:
  Result<std::vector<Segment>> run(const Json& messages, const RenderInput& input) const;
  Json messages_json(const std::vector<Message>& messages) const;
  void probe();

  std::string source_;
  TemplateTokens tokens_;
  std::shared_ptr<const jinja::Program> program_;
  Traits traits_;
};

}  // namespace tempo9::chat
