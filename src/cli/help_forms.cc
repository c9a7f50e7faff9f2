#include "cli/help_forms.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "base/check.h"

namespace tempo9::cli {
namespace {

// What a flag or a word without one takes, by the name of its type: kFiles and kNothing, or else
// the words that it may be ("text|json").
constexpr std::string_view kFiles = "files";
constexpr std::string_view kNothing = "";

struct HelpOption {
  std::vector<std::string> names;  // "--gguf"; none: a word
  std::string type;                // "F"; empty: a switch
  std::string values;              // kFiles, kNothing, or words with blanks between
  std::string help;
  bool repeats = false;
};

std::string values_of(const std::string& type) {
  if (type == "F" || type == "PATH" || type == "F.gguf" || type == "MODEL") {
    return std::string(kFiles);
  }
  if (type.find('|') == std::string::npos) return std::string(kNothing);
  std::string words = type;
  std::replace(words.begin(), words.end(), '|', ' ');
  return words;
}

// CLI11 puts what a value is checked for behind the type: "N:UINT in [1 - 1024]".
std::string own_type_name(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  const size_t check = name.find(':');
  const bool is_own = check == std::string::npos || (check > 0 && name[check - 1] == '[');
  return is_own ? name : name.substr(0, check);
}

HelpOption describe(const CLI::Option& option) {
  HelpOption described;
  for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
  if (option.get_items_expected_max() > 0) {
    described.type = own_type_name(option);
    described.values = values_of(described.type);
  }
  described.help = option.get_description();
  described.repeats = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return described;
}

struct HelpTable {
  std::string command;
  std::vector<HelpOption> flags, words;
};

HelpTable table_of(const CLI::App& app) {
  HelpTable table;
  for (const char letter : app.get_name()) {
    if (letter == ' ') {
      table.command.clear();
    } else if (letter != '[' && letter != ']') {
      table.command += letter;
    }
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // known only to be refused
    const HelpOption described = describe(*option);
    if (!described.names.empty()) table.flags.push_back(described);
    if (option->get_positional()) table.words.push_back(described);
  }
  return table;
}

std::string bash_help(const HelpTable& table) {
  std::vector<std::string> names;
  std::string values;
  for (const HelpOption& flag : table.flags) {
    names.insert(names.end(), flag.names.begin(), flag.names.end());
    if (flag.type.empty()) continue;
    values += fmt::format("        {}) is_value=yes wanted='{}' ;;\n", fmt::join(flag.names, "|"),
                          flag.values);
  }
  const std::string words = table.words.empty() ? "" : table.words.front().values;
  return fmt::format(
      "    {})\n"
      "      flags='{}' wanted='{}'\n"
      "      case $previous in\n{}      esac ;;\n",
      table.command, fmt::join(names, " "), words, values);
}

// Inside [...] a bracket and, in the message behind it, a colon would end the part.
std::string zsh_escaped(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') escaped += '\\';
    escaped += letter;
  }
  return shell_quoted(escaped);
}

std::string zsh_value(const HelpOption& option) {
  const std::string action =
      option.values == kFiles ? "_files" : fmt::format("({})", option.values);
  return fmt::format(":{}:{}", zsh_escaped(option.type), action);
}

std::string zsh_help(const HelpTable& table) {
  std::string specs;
  for (const HelpOption& flag : table.flags) {
    for (const std::string& name : flag.names) {
      const bool is_long = name.starts_with("--");
      specs += fmt::format(" \\\n        '{}{}{}[{}]{}'", flag.repeats ? "*" : "", name,
                           !flag.type.empty() && is_long ? "=" : "", zsh_escaped(flag.help),
                           flag.type.empty() ? "" : zsh_value(flag));
    }
  }
  for (const HelpOption& word : table.words) {
    specs += fmt::format(" \\\n        ':{}'", zsh_value(word));  // a word that may be left out
  }
  return fmt::format("    {})\n      _arguments{} ;;\n", table.command, specs);
}

std::string fish_values(const HelpOption& option) {
  if (option.values == kFiles) return " -r -F";
  return option.values == kNothing ? " -x" : fmt::format(" -x -a '{}'", option.values);
}

std::string fish_help(const HelpTable& table) {
  const std::string start =
      fmt::format("complete -c tempo9 -n '__tempo9_command {}'", table.command);
  std::string lines;
  for (const HelpOption& flag : table.flags) {
    lines += start;
    for (const std::string& name : flag.names) {
      const bool is_long = name.starts_with("--");
      lines += fmt::format(" {} {}", is_long ? "-l" : "-s", name.substr(is_long ? 2 : 1));
    }
    lines += fmt::format("{} -d '{}'\n", flag.type.empty() ? "" : fish_values(flag),
                         shell_quoted(flag.help));
  }
  for (const HelpOption& word : table.words) {
    if (word.values == kFiles) {
      lines += start + " -F\n";
    } else if (word.values != kNothing) {
      lines += fmt::format("{} -a '{}'\n", start, word.values);
    }
  }
  return lines;
}

std::string man_help(const HelpTable& table, const CLI::App& app) {
  std::string text =
      fmt::format(".SS tempo9 {}\n{}\n", table.command, roff_text(app.get_description()));
  for (const HelpOption& word : table.words) {
    if (!word.names.empty()) continue;  // stands with the flags
    text += fmt::format(".TP\n\\fI{}\\fR\n{}\n", roff_text(word.type), roff_text(word.help));
  }
  for (const HelpOption& flag : table.flags) {
    const std::string value =
        flag.type.empty() ? "" : fmt::format(" \\fI{}\\fR", roff_text(flag.type));
    text += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n",
                        roff_text(fmt::format("{}", fmt::join(flag.names, ", "))), value,
                        roff_text(flag.help));
  }
  if (const std::string footer = app.get_footer(); !footer.empty()) {
    text += fmt::format(".PP\n{}\n", roff_text(footer));
  }
  return text;
}

}  // namespace

bool is_help_form(std::string_view form) {
  return std::find(std::begin(kHelpForms), std::end(kHelpForms), form) != std::end(kHelpForms);
}

std::string help_as(std::string_view form, const CLI::App& app) {
  T9_CHECK(is_help_form(form));
  const HelpTable table = table_of(app);
  if (form == "bash") return bash_help(table);
  if (form == "zsh") return zsh_help(table);
  if (form == "fish") return fish_help(table);
  return man_help(table, app);
}

std::string shell_quoted(std::string_view text) {
  std::string quoted;
  for (const char letter : text) {
    if (letter == '\'') {
      quoted += R"('\'')";
    } else {
      quoted += letter;
    }
  }
  return quoted;
}

std::string roff_text(std::string_view text) {
  std::string roff;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool starts_line = i == 0 || text[i - 1] == '\n';
    if (starts_line && (text[i] == '.' || text[i] == '\'')) roff += "\\&";
    if (text[i] == '\\') {
      roff += "\\e";
    } else if (text[i] == '-') {
      roff += "\\-";
    } else {
      roff += text[i];
    }
  }
  return roff;
}

}  // namespace tempo9::cli
