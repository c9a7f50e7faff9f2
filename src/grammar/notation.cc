#include "grammar/notation.h"

#include <vector>

#include "grammar/exact_number.h"
#include "grammar/raw_text.h"

namespace tempo9::grammar {
namespace {

using Style = Notation::Style;

bool is_raw(const Notation& notation, Place place) {
  return place == Place::kText || notation.style == Style::kQuoted;
}

// The rules of a notation's values are called so.
std::string_view family(const Notation& notation, Place place) {
  if (place == Place::kValue || place == Place::kArguments) {
    if (notation.style == Style::kPython) return "python";
    if (notation.style == Style::kQuoted) return "quoted";
  }
  return "json";
}

// Arguments without brackets of their own.
bool is_bare(const Notation& notation, Place place) {
  return place == Place::kArguments &&
         (notation.style == Style::kParameters || notation.style == Style::kPython);
}

std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string text_literal(const std::string& text, const Notation& notation, Place place) {
  if (place == Place::kText) return ebnf_literal(text);
  if (notation.style == Style::kQuoted)
    return fmt::format("{0} {1} {0}", notation.quote, ebnf_literal(text));
  const std::string quoted = json_text(text);
  if (notation.style == Style::kPython && quoted.size() == text.size() + 2 &&
      text.find('\'') == std::string::npos) {
    return fmt::format("({} | {})", ebnf_literal(quoted), ebnf_literal("'" + text + "'"));
  }
  return ebnf_literal(quoted);
}

}  // namespace

std::string value_literal(const Json& value, const Notation& notation, Place place) {
  if (value.is_string()) return text_literal(value.get<std::string>(), notation, place);
  if (value.is_boolean() || value.is_null()) return word_literal(json_text(value), notation, place);
  if (is_number(value)) return ebnf_literal(number_text(value));
  if (value.empty()) return ebnf_literal(json_text(value));
  std::vector<std::string> parts;
  for (auto it = value.begin(); it != value.end(); ++it) {
    const std::string item = value_literal(*it, notation, Place::kValue);
    parts.push_back(value.is_object() ? key_literal(it.key(), notation, Place::kValue) + " " + item
                                      : item);
  }
  return fmt::format("{} json-ws {} json-ws {}", value.is_object() ? "\"{\"" : "\"[\"",
                     fmt::join(parts, " \",\" json-ws "), value.is_object() ? "\"}\"" : "\"]\"");
}

std::string key_literal(const std::string& key, const Notation& notation, Place place) {
  if (is_bare(notation, place))
    return ebnf_literal(notation.style == Style::kPython ? key + "=" : key);
  if (notation.style == Style::kQuoted) {
    constexpr std::string_view kBare =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.$";
    const bool is_bare_key = !key.empty() && key.find_first_not_of(kBare) == std::string::npos;
    if (is_bare_key) return ebnf_literal(key + ":") + " json-ws";
    return fmt::format("{} \":\" json-ws", text_literal(key, notation, place));
  }
  return ebnf_literal(json_text(key) + ":") + " json-ws";
}

std::string any_key(const Notation& notation, Place place) {
  if (is_bare(notation, place))
    return notation.style == Style::kPython ? "python-name \"=\"" : "json-name";
  return fmt::format("{}-{} \":\" json-ws", family(notation, place),
                     notation.style == Style::kQuoted ? "key" : "string");
}

std::optional<std::string> key_of_pattern(const RegexNode& pattern, const Notation& notation,
                                          Place place) {
  if (!is_bare(notation, place) && notation.style != Style::kQuoted)
    return fmt::format("\"\\\"\" {} \"\\\":\" json-ws", to_ebnf(pattern, Spelling::kJsonString));
  const auto key = raw_key_of_pattern(pattern, notation);
  if (!key) return std::nullopt;
  if (notation.style == Style::kQuoted) return *key + " \":\" json-ws";
  return *key + (notation.style == Style::kPython ? " \"=\"" : "");
}

std::string any_value(const Notation& notation, Place place) {
  if (place == Place::kText) return "raw-text";
  if (place == Place::kData) return "json-data";
  return fmt::format("{}-value", family(notation, place));
}

std::string any_text(const Notation& notation, Place place) {
  if (place == Place::kText) return "raw-text";
  return fmt::format("{}-string", family(notation, place));
}

std::string text_of(const std::string& inner, const Notation& notation, Place place) {
  if (place == Place::kText) return inner;
  if (notation.style == Style::kQuoted) return fmt::format("{0} {1} {0}", notation.quote, inner);
  return fmt::format("\"\\\"\" {} \"\\\"\"", inner);
}

std::string counted_text(int64_t min, std::optional<int64_t> max, const Notation& notation,
                         Place place) {
  if (is_raw(notation, place))
    return text_of(counted_raw_text(notation, min, max), notation, place);
  std::string character = fmt::format("({}-char)", family(notation, place));
  if (max == 0) return text_of("\"\"", notation, place);
  character += max ? fmt::format("{{{},{}}}", min, *max) : fmt::format("{{{},}}", min);
  return text_of(character, notation, place);
}

std::string text_of_pattern(const RegexNode& pattern, const Notation& notation, Place place) {
  if (!is_raw(notation, place))
    return text_of(to_ebnf(pattern, Spelling::kJsonString), notation, place);
  const auto text = raw_text_of_pattern(pattern, notation);
  return text_of(text.value_or("raw-text"), notation, place);
}

Spelling spelling(const Notation& notation, Place place) {
  return is_raw(notation, place) ? Spelling::kPlain : Spelling::kJsonString;
}

std::string word_literal(std::string_view json_word, const Notation& notation, Place place) {
  std::string python(json_word == "null" ? "none" : json_word);
  python[0] = static_cast<char>(python[0] - 'a' + 'A');
  const std::string json = fmt::format("\"{}\"", json_word);
  // Templates print what Python prints, and those for Python what JSON does.
  const bool either =
      place == Place::kData || notation.style == Style::kPython || notation.style == Style::kQuoted;
  return either ? fmt::format("({} | \"{}\")", json, python) : json;
}

Brackets object_brackets(const Notation& notation, Place place) {
  if (!is_bare(notation, place))
    return {R"("{" json-ws )", R"( json-ws "}")", R"("," json-ws )", R"("{" json-ws "}")"};
  if (notation.style == Style::kPython) return {"", " json-ws", R"("," json-ws )", "json-ws"};
  return {"", "", "", "\"\""};
}

// White space is short: a small model that may write any amount of it sometimes writes nothing
// else. Numbers have an end for the same reason.
std::string_view common_rules() {
  return R"(json-ws ::= [ ]? | "\n" [ \t]{0,24}
json-hex ::= [0-9A-Fa-f]
json-char ::= [^"\\\x00-\x1f] | "\\" json-escape
json-escape ::= ["\\/bfnrt] | "u" json-unit
json-unit ::= [0-9A-Ca-cE-Fe-f] json-hex{3} | [Dd] [0-7] json-hex{2} | [Dd] [89ABab] json-hex{2} "\\u" [Dd] [C-Fc-f] json-hex{2}
json-string ::= "\"" json-char* "\""
json-integer ::= "-"? ("0" | [1-9] [0-9]{0,39})
json-number ::= json-integer ("." [0-9]{1,24})? ([eE] [-+]? ([0-9]{1,2} | [12] [0-9]{2} | "30" [0-8]))?
json-member ::= json-string ":" json-ws json-value
json-object ::= "{" json-ws "}" | "{" json-ws json-member ("," json-ws json-member)* json-ws "}"
json-array ::= "[" json-ws "]" | "[" json-ws json-value ("," json-ws json-value)* json-ws "]"
json-value ::= json-object | json-array | json-string | json-number | "true" | "false" | "null"
json-never ::= "\x00" json-never
json-date-text ::= [0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | [12] [0-9] | "3" [01])
json-time-text ::= ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,9})? ("Z" | [-+] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9])
json-date-time-text ::= json-date-text "T" json-time-text
json-uuid-text ::= json-hex{8} "-" json-hex{4} "-" json-hex{4} "-" json-hex{4} "-" json-hex{12}
)";
}

std::string notation_rules(const Notation& notation) {
  switch (notation.style) {
    case Style::kJson:
      return "";
    case Style::kParameters:
      return fmt::format("raw-text ::= {}\n", notation.text) +
             R"(json-name ::= [^<>"= \t\r\n]{1,128}
json-data ::= json-object | json-array | json-number | "true" | "True" | "false" | "False" | "null" | "None"
)";
    case Style::kPython:
      return R"(python-name ::= [A-Za-z_] [A-Za-z0-9_]{0,127}
python-char ::= [^"\\\x00] | "\\" python-escape
python-single ::= [^'\\\x00] | "\\" python-escape
python-escape ::= ["'\\bfnrt] | "u" json-unit
python-string ::= "\"" python-char* "\"" | "'" python-single* "'"
python-member ::= python-string ":" json-ws python-value
python-object ::= "{" json-ws "}" | "{" json-ws python-member ("," json-ws python-member)* json-ws "}"
python-array ::= "[" json-ws "]" | "[" json-ws python-value ("," json-ws python-value)* json-ws "]"
python-value ::= python-object | python-array | python-string | json-number | "true" | "false" | "null" | "True" | "False" | "None"
)";
    case Style::kQuoted:
      return fmt::format("raw-text ::= {1}\nquoted-string ::= {0} raw-text {0}\n", notation.quote,
                         notation.text) +
             R"(quoted-key ::= [A-Za-z0-9_.$-]{1,128} | quoted-string
quoted-member ::= quoted-key ":" json-ws quoted-value
quoted-object ::= "{" json-ws "}" | "{" json-ws quoted-member ("," json-ws quoted-member)* json-ws "}"
quoted-array ::= "[" json-ws "]" | "[" json-ws quoted-value ("," json-ws quoted-value)* json-ws "]"
quoted-value ::= quoted-object | quoted-array | quoted-string | json-number | "true" | "false" | "null" | "True" | "False" | "None"
)";
  }
  return "";
}

std::string ebnf_literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace tempo9::grammar
