// Recognises text that is nothing but calls: bare or fenced JSON, one object or list after the
// other; or calls as Python writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/parsers/call.h"
#include "chat/parsers/json_scanner.h"
#include "chat/parsers/python_calls.h"

namespace tempo9::chat {

// Grammar: blank (item blank)*, item: JSON | ```lang blank (JSON blank)+ ``` | <tools> blank (JSON
// blank)+ </tools> and likewise for a few tags that models use in place of their template's. In
// Python style also: a list of calls, and ```tool_code blank (call blank)+ ```.
enum class BareCallStyle { kNone, kJson, kPython, kJsonAndPython };

class BareCalls {
 public:
  BareCalls(const std::vector<Tool>& tools, BareCallStyle style)
      : tools_(tools),
        has_json_(style != BareCallStyle::kPython),
        has_python_(style != BareCallStyle::kJson) {}

  // Reads on. False as soon as the reply can no longer be only calls of declared tools; no further
  // calls then.
  bool feed(char c);

  bool in_string() const {
    return (state_ == State::kJson && json_.in_string()) ||
           (state_ == State::kPython && python_.in_string());
  }
  // What the call that is being read is, once the name of a declared tool has been read and its
  // arguments come: an object of its own, or in a list.
  enum class Form { kOpen, kAlone, kListed };
  Form form() const { return form_; }
  const std::string& name() const { return name_; }  // of that tool, once the form is known
  // All that came is white space: nothing has been decided yet.
  bool blank() const { return state_ == State::kOutside && calls_.empty() && word_.empty(); }

  // All that came are whole fences (or tags) with calls in them: calls, whatever follows.
  bool closed() const { return state_ == State::kOutside && !calls_.empty() && !has_bare_; }
  const std::vector<ParsedCall>& calls() const { return calls_; }

  // At the end of the reply: the calls, or none if it is cut or there are none.
  // stopped: the model ended the reply itself, so a fence may stay open.
  std::vector<ParsedCall> finish(bool stopped) const;

 private:
  enum class State {
    kOutside,    // between items
    kFenceOpen,  // in "```json"
    kTagOpen,    // in "<tools>"
    kInside,     // in a fence or a tag, between values
    kClose,      // in "```" or "</tools>" that ends the item
    kList,       // behind "[": JSON or Python
    kJson,
    kPython,
  };

  bool outside(char c);
  bool fence_open(char c);
  bool tag_open(char c);
  bool inside(char c);
  bool list(char c);
  bool begin_value(State state, State after, char c);
  bool json(char c);
  bool python(char c);
  bool take_calls(std::vector<ParsedCall> calls);
  bool json_key();
  bool json_string();
  bool value_end();
  bool at_call_level() const;

  const std::vector<Tool>& tools_;
  bool has_json_, has_python_;
  State state_ = State::kOutside;
  State after_value_ = State::kOutside;
  std::string word_;   // of a fence or tag, so far
  std::string close_;  // what ends the item
  JsonScanner json_;
  PythonScanner python_;
  std::string value_;
  std::string key_;
  std::vector<ParsedCall> calls_;
  std::string name_;  // of the object at hand, if a declared tool has it
  Form form_ = Form::kOpen;
  bool has_bare_ = false;  // a value stood outside of fences
  bool fence_is_python_ = false;
  bool fence_is_empty_ = false;  // the open fence or tag has no value yet
};

}  // namespace tempo9::chat
