// An output format's calls (chat/call_syntax.h) in the words of grammar/: expressions that write
// them, where they begin, and how their arguments are read back.
#pragma once

#include <string>
#include <string_view>

#include "chat/call_syntax.h"
#include "chat/message.h"
#include "grammar/notation.h"
#include "grammar/rules.h"
#include "server/service.h"

namespace tempo9::server {

// Marks are the tokens that the vocabulary has; in script mode they count by their spelling.
// service and syntax must outlive it.
class CallPieces {
 public:
  CallPieces(const Service& service, const chat::CallSyntax& syntax)
      : service_(service), syntax_(syntax) {}

  // What a piece looks like. White space between JSON is as models vary it; a line break that the
  // template writes may be left out ("call-ws").
  std::string expression(std::string_view piece) const;
  // What arguments end with: with the rest of call_end, all of it. Nothing for those in braces.
  std::string_view arguments_end() const;
  std::string_view behind_arguments() const;

  grammar::Notation notation() const;
  grammar::CallStart start() const;

 private:
  bool is_token(std::string_view mark) const;
  std::string spelled(std::string_view piece) const;  // as grammar::CallStart wants it
  std::string text_until(std::string_view mark, const std::vector<std::string>& behind) const;

  const Service& service_;
  const chat::CallSyntax& syntax_;
};

// written: what stands behind name_end, arguments_end() included. By the format's own parser; none
// for arguments that are JSON.
grammar::ReadArguments arguments_reader(const Service& service, const chat::CallSyntax& syntax,
                                        const chat::Tool& tool);

}  // namespace tempo9::server
