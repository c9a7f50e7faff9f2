#include "server/call_pieces.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "chat/parser.h"
#include "grammar/grammar.h"
#include "server/json_body.h"

namespace tempo9::server {
namespace {

using Arguments = chat::CallSyntax::Arguments;

// The mark that text begins with; empty: none.
std::string_view mark_at(const chat::CallSyntax& syntax, std::string_view text) {
  const auto mark = std::ranges::find_if(
      syntax.marks, [text](std::string_view m) { return text.starts_with(m); });
  return mark == syntax.marks.end() ? std::string_view() : *mark;
}

std::string_view without_blank(std::string_view text) {
  constexpr std::string_view kBlank = " \n";
  const size_t begin = std::min(text.find_first_not_of(kBlank), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

// Of the last line: from the last mark on, or what stands behind a blank behind it.
std::string_view last_words(const chat::CallSyntax& syntax, std::string_view text) {
  text.remove_prefix(text.rfind('\n') + 1);
  for (size_t at = text.size(); at-- > 0;) {
    if (mark_at(syntax, text.substr(at)).empty()) continue;
    text.remove_prefix(at);
    const size_t blank = text.rfind(' ');
    return blank == std::string_view::npos ? text : text.substr(blank + 1);
  }
  return text;
}

}  // namespace

bool CallPieces::is_token(std::string_view mark) const {
  return !service_.engine().info().is_script && service_.tokenizer().find(mark) >= 0;
}

std::string CallPieces::expression(std::string_view piece) const {
  std::string out, plain;
  const auto flush = [&] {
    if (!plain.empty()) out += fmt::format("{} ", grammar::ebnf_literal(plain));
    plain.clear();
  };
  while (!piece.empty()) {
    if (const std::string_view mark = mark_at(syntax_, piece); !mark.empty()) {
      flush();
      out += is_token(mark) ? fmt::format("Token({}) ", service_.tokenizer().find(mark))
                            : fmt::format("{} ", grammar::ebnf_literal(mark));
      piece.remove_prefix(mark.size());
      continue;
    }
    if (piece[0] == ' ' || piece[0] == '\n') {
      flush();
      out += piece[0] == ' ' ? "json-ws " : "call-ws ";
    } else {
      plain += piece[0];
    }
    piece.remove_prefix(1);
  }
  flush();
  return out;
}

std::string_view CallPieces::arguments_end() const {
  const bool in_braces =
      syntax_.arguments == Arguments::kJson || syntax_.arguments == Arguments::kGemma;
  if (in_braces) return {};
  return std::string_view(syntax_.call_end).substr(0, syntax_.call_end.find_first_of(" \n"));
}

std::string_view CallPieces::behind_arguments() const {
  return syntax_.call_end.substr(arguments_end().size());
}

// A text holds its own closing mark where nothing follows that could follow it (Reader::value() in
// chat/parsers/).
std::string CallPieces::text_until(std::string_view mark,
                                   const std::vector<std::string>& behind) const {
  if (is_token(mark)) return "[^]*";
  std::vector<std::string> ends;
  for (const std::string& next : behind) {
    for (const char* blank : {"", "\n", "\n\n", " ", "\r\n"})
      ends.push_back(grammar::ebnf_literal(std::string(mark) + blank + next));
  }
  return fmt::format("TagDispatch(loop_after_dispatch=false, excludes=({},))",
                     fmt::join(ends, ", "));
}

grammar::Notation CallPieces::notation() const {
  using Style = grammar::Notation::Style;
  grammar::Notation out;
  switch (syntax_.arguments) {
    case Arguments::kNone:
    case Arguments::kJson:
      break;
    case Arguments::kPython:
      out.style = Style::kPython;
      break;
    case Arguments::kGemma:
      out.style = Style::kQuoted;
      out.quote = expression(syntax_.quote);
      out.text = text_until(syntax_.quote, {""});
      if (!is_token(syntax_.quote)) out.mark = syntax_.quote;
      break;
    case Arguments::kParameters: {
      out.style = Style::kParameters;
      out.key_begin = expression(syntax_.key_begin);
      out.key_end = expression(syntax_.key_end);
      out.key_end_json = expression(syntax_.key_end_json);
      out.value_end = expression(syntax_.value_end);
      const std::string_view close = without_blank(syntax_.value_end);
      out.text = text_until(close, {std::string(syntax_.key_begin), std::string(arguments_end())});
      if (!is_token(close)) out.mark = close;
      break;
    }
  }
  return out;
}

std::string CallPieces::spelled(std::string_view piece) const {
  std::string out;
  while (!piece.empty()) {
    const std::string_view mark = mark_at(syntax_, piece);
    const size_t n = std::max(mark.size(), size_t{1});
    if (!mark.empty() && is_token(mark)) out += grammar::kControlByte;
    out += piece.substr(0, n);
    piece.remove_prefix(n);
  }
  return out;
}

grammar::CallStart CallPieces::start() const {
  grammar::CallStart out;
  for (const std::string_view mark : syntax_.marks) {
    if (!mark.starts_with("</")) out.leads.push_back(spelled(mark));
  }
  const std::string_view between = without_blank(syntax_.between);
  if (!between.empty()) out.leads.emplace_back(between);
  if (chat::writes_json_name(syntax_)) return out;
  std::string_view before = last_words(syntax_, without_blank(syntax_.call_begin));
  if (before.empty()) {  // only the first call of a list has something before it
    before = last_words(syntax_, without_blank(syntax_.begin));
    while (!mark_at(syntax_, before).empty()) before.remove_prefix(mark_at(syntax_, before).size());
    out.next = between;
  }
  const std::string_view end = last_words(syntax_, without_blank(syntax_.name_end));
  out.before = spelled(before);
  out.before_is_mark = !mark_at(syntax_, before).empty();
  out.end = spelled(end);
  out.end_is_mark = !mark_at(syntax_, end).empty();
  return out;
}

grammar::ReadArguments arguments_reader(const Service& service, const chat::CallSyntax& syntax,
                                        const chat::Tool& tool) {
  if (syntax.arguments == Arguments::kJson) return nullptr;
  const CallPieces pieces(service, syntax);
  const std::string number =
      syntax.number_mark.empty() ? "" : std::string(syntax.number_mark) + "0";
  const std::string before = fmt::format("{}{}{}{}{}", syntax.begin, syntax.call_begin, tool.name,
                                         number, syntax.name_end);
  const std::string behind = fmt::format("{}{}", pieces.behind_arguments(), syntax.end);
  return [before, behind, tool,
          format = std::string(service.format())](std::string_view written) -> std::optional<Json> {
    chat::ParserOptions options;
    options.tools = {tool};
    options.split_thinking = false;
    auto parser = chat::make_parser(format, std::move(options));
    if (!parser) return std::nullopt;
    std::string call = before;
    std::ranges::copy_if(written, std::back_inserter(call),
                         [](char c) { return c != grammar::kControlByte; });
    call += behind;
    std::vector<chat::Event> events;
    (*parser)->feed(call, false, &events);
    (*parser)->finish(chat::FinishReason::kStop, &events);
    const chat::ParsedReply reply = chat::join_events(events);
    if (reply.calls.size() != 1) return std::nullopt;
    Json value = Json::parse(reply.calls[0].arguments.get<std::string>(), nullptr, false);
    return value.is_discarded() ? std::nullopt : std::optional(std::move(value));
  };
}

}  // namespace tempo9::server
