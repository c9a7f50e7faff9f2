// What a command's --help knows, in the forms that shells and man read. It is taken from the same
// CLI::App, so a flag that is added stands in all of them.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace tempo9::cli {

// `COMMAND --help-as FORM`, FORM one of kHelpForms: how `tempo9 completion` asks each command for
// its part. Users have no need of it.
inline constexpr const char* kHelpAs = "--help-as";
inline constexpr const char* kHelpForms[] = {"bash", "zsh", "fish", "man"};
bool is_help_form(std::string_view form);

// The part of one command, whose name is the last word of the app's:
//   bash, zsh  its branch of the `case` over the commands
//   fish       its `complete` lines
//   man        its subsection
// Requires is_help_form(form).
std::string help_as(std::string_view form, const CLI::App& app);

// text for between single quotes in bash, zsh and fish (which all end the quotes for one).
std::string shell_quoted(std::string_view text);
// text as roff has to be given it.
std::string roff_text(std::string_view text);

}  // namespace tempo9::cli
