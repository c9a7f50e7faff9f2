// `tempo9 completion`: what shells complete, and the manual page, from what every --help knows.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

#include "cli/cli.h"
#include "cli/help_forms.h"
#include "cli/parse_arguments.h"

namespace tempo9::cli {
namespace {

// Around the parts of the commands. @COMMANDS@ is their names with blanks between, @DESCRIBED@ a
// line for each in the form's own way.
struct Frame {
  const char* form;
  const char* head;
  const char* foot;
};

// With "=" among what breaks words, bash gives --port=1 as three.
constexpr Frame kFrames[] = {
    {"bash", R"(# Completion of tempo9 for bash: tempo9 completion bash
_tempo9() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local commands='@COMMANDS@' command=serve flags= wanted= is_value=
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if ((COMP_CWORD > 1)) && [[ " $commands " == *" ${COMP_WORDS[1]} "* ]]; then
    command=${COMP_WORDS[1]}
  fi
  case $command in
)",
     R"(  esac
  COMPREPLY=()
  if [[ $current == -* && -z $is_value ]]; then
    wanted=$flags
    ((COMP_CWORD > 1)) || wanted+=' --version'
  elif ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  fi
  if [[ $wanted == files ]]; then
    compopt -o filenames
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
  else
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$wanted" -- "$current")
  fi
}
complete -F _tempo9 tempo9
)"},
    {"zsh", R"(#compdef tempo9
# Completion of tempo9 for zsh: tempo9 completion zsh
_tempo9() {
  local command=serve
  local -a subcommands=(
@DESCRIBED@  )
  if (( CURRENT > 2 && $subcommands[(I)$words[2]:*] )); then
    command=$words[2]
    shift words
    (( CURRENT-- ))
  elif (( CURRENT == 2 )); then
    if [[ $words[2] == -* ]]; then
      compadd -- --version
    else
      _describe command subcommands
    fi
  fi
  case $command in
)",
     R"(  esac
}
if [[ $funcstack[1] == _tempo9 ]]; then
  _tempo9 "$@"
else
  compdef _tempo9 tempo9
fi
)"},
    {"fish", R"(# Completion of tempo9 for fish: tempo9 completion fish
function __tempo9_command
    set -l words (commandline -opc)
    set -l command serve
    if set -q words[2]; and contains -- $words[2] @COMMANDS@
        set command $words[2]
    end
    test $command = $argv[1]
end
complete -c tempo9 -f
complete -c tempo9 -n '__fish_is_first_arg' -l version -d 'print the version'
@DESCRIBED@)",
     ""},
    {"man", R"(.TH TEMPO9 1 "" "tempo9 @VERSION@" "User Commands"
.SH NAME
tempo9 \- serve a local language model to coding agents
.SH SYNOPSIS
.B tempo9
[\fICOMMAND\fR] [\fIOPTIONS\fR]
.br
.B tempo9
\fIF.gguf\fR
.br
.B tempo9 \-\-version
.SH DESCRIPTION
Serves one GGUF file over HTTP as OpenAI's, Anthropic's and Ollama's clients ask for it, on loopback
unless told otherwise. Without a command it serves.
@DESCRIBED@.SH COMMANDS
)",
     R"(.SH EXIT STATUS
0: fine; 1: could not start or go on; 2: the command line is wrong.
.SH FILES
.TP
\fI~/.local/share/tempo9/models\fR
what \fBtempo9 pull\fR fetched
.TP
\fI~/.cache/tempo9/kv\fR
prompts that were computed, for the next start
.TP
\fI/etc/tempo9/serve.conf\fR
what the system service is started with
.SH SEE ALSO
The documents in \fI/usr/share/doc/tempo9\fR.
)"},
};

std::string described(const std::string& form, const Subcommand& command) {
  const std::string help = shell_quoted(command.help);
  if (form == "zsh") return fmt::format("    '{}:{}'\n", command.name, help);
  if (form == "fish") {
    return fmt::format("complete -c tempo9 -n '__fish_is_first_arg' -a {} -d '{}'\n", command.name,
                       help);
  }
  if (form == "man") {
    return fmt::format(".TP\n.B {}\n{}\n", command.name, roff_text(command.help));
  }
  return "";
}

std::string filled(std::string text, const std::string& form) {
  std::string names, lines;
  for (const Subcommand& command : subcommands()) {
    names += fmt::format("{}{}", names.empty() ? "" : " ", command.name);
    lines += described(form, command);
  }
  const std::pair<std::string, std::string> blanks[] = {
      {"@COMMANDS@", names}, {"@DESCRIBED@", lines}, {"@VERSION@", T9_VERSION}};
  for (const auto& [blank, value] : blanks) {
    if (const size_t at = text.find(blank); at != std::string::npos) {
      text.replace(at, blank.size(), value);
    }
  }
  return text;
}

// As the page of a user who is not known yet has it.
Environment any_user() {
  Environment environment;
  environment.home = "~";
  environment.data_home = "~/.local/share";
  environment.cache_home = "~/.cache";
  return environment;
}

int print_form(const Frame& frame) {
  fmt::print("{}", filled(frame.head, frame.form));
  for (const Subcommand& command : subcommands()) {
    if (const int code = command.run({kHelpAs, frame.form}, any_user()); code != kExitOk)
      return code;
  }
  fmt::print("{}", frame.foot);
  return finish_output(kExitOk);
}

}  // namespace

int run_completion(const std::vector<std::string>& args, const Environment&) {
  std::string form;
  CLI::App app("Prints what a shell needs to complete this program's flags, or the manual page.",
               "tempo9 completion");
  app.add_option("form", form, "the shell; man: the manual page, in roff")
      ->required()
      ->type_name("bash|zsh|fish|man");
  app.footer("For one session: source <(tempo9 completion bash). Packages install all of them.");
  const auto goes_on = parse_arguments(app, args);
  if (!goes_on) {
    return report(fmt::format("completion: {}", goes_on.error().message), kExitUsage);
  }
  if (!*goes_on) {
    fmt::print("{}", app.help());
    return finish_output(kExitOk);
  }
  for (const Frame& frame : kFrames) {
    if (form == frame.form) return print_form(frame);
  }
  return report(fmt::format("completion: found \"{}\", expected one of {}", form,
                            fmt::join(kHelpForms, ", ")),
                kExitUsage);
}

}  // namespace tempo9::cli
