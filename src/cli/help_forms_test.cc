#include "cli/help_forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace tempo9::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class HelpFormsTest : public testing::Test {
 protected:
  HelpFormsTest() {
    app_.add_option("model", text_, "a file")->type_name("F.gguf");
    app_.add_option("--gguf", text_, "the user's file")->type_name("F");
    app_.add_option("--port,-p", number_, "a port [TCP]: any")
        ->check(CLI::Range(1, 9))
        ->type_name("N");
    app_.add_option("--log-format", text_, "how")->type_name("text|json");
    app_.add_option("--allow-host", texts_, "names")->type_name("NAME")->expected(1)->take_all();
    app_.add_flag("--json", flag_, "print JSON");
    app_.add_option("--later", text_, "not yet")->group("");
    app_.footer(".A line\\.");
  }
  std::string text_;
  std::vector<std::string> texts_;
  int number_ = 0;
  bool flag_ = false;
  CLI::App app_{"Does it.", "tempo9 [serve]"};
};

TEST_F(HelpFormsTest, Bash) {
  EXPECT_EQ(help_as("bash", app_), R"(    serve)
      flags='--help -h --gguf --port -p --log-format --allow-host --json' wanted='files'
      case $previous in
        --gguf) is_value=yes wanted='files' ;;
        --port|-p) is_value=yes wanted='' ;;
        --log-format) is_value=yes wanted='text json' ;;
        --allow-host) is_value=yes wanted='' ;;
      esac ;;
)");
}

TEST_F(HelpFormsTest, Zsh) {
  const std::string text = help_as("zsh", app_);
  EXPECT_THAT(text, HasSubstr(R"('--gguf=[the user'\''s file]:F:_files')"));
  EXPECT_THAT(text, HasSubstr(R"('--port=[a port \[TCP\]\: any]:N:()')"));
  EXPECT_THAT(text, HasSubstr(R"('-p[a port \[TCP\]\: any]:N:()')"));
  EXPECT_THAT(text, HasSubstr("'--log-format=[how]:text|json:(text json)'"));
  EXPECT_THAT(text, HasSubstr("'*--allow-host=[names]:NAME:()'"));
  EXPECT_THAT(text, HasSubstr("'--json[print JSON]'"));
  EXPECT_THAT(text, HasSubstr("'::F.gguf:_files'"));
}

TEST_F(HelpFormsTest, Fish) {
  const std::string text = help_as("fish", app_);
  const std::string start = "complete -c tempo9 -n '__tempo9_command serve'";
  EXPECT_THAT(text, HasSubstr(start + R"( -l gguf -r -F -d 'the user'\''s file')"
                                      "\n"));
  EXPECT_THAT(text, HasSubstr(start + " -l port -s p -x -d 'a port [TCP]: any'\n"));
  EXPECT_THAT(text, HasSubstr(start + " -l log-format -x -a 'text json' -d 'how'\n"));
  EXPECT_THAT(text, HasSubstr(start + " -l json -d 'print JSON'\n"));
  EXPECT_THAT(text, HasSubstr(start + " -F\n"));
}

TEST_F(HelpFormsTest, Man) {
  const std::string text = help_as("man", app_);
  EXPECT_THAT(text, HasSubstr(".SS tempo9 serve\nDoes it.\n.TP\n\\fIF.gguf\\fR\na file\n"));
  EXPECT_THAT(text, HasSubstr(".TP\n\\fB\\-\\-port, \\-p\\fR \\fIN\\fR\na port [TCP]: any\n"));
  EXPECT_THAT(text, HasSubstr(".PP\n\\&.A line\\e.\n"));
}

TEST_F(HelpFormsTest, WhatIsOnlyKnownToBeRefusedIsNotOffered) {
  for (const char* form : kHelpForms) EXPECT_THAT(help_as(form, app_), Not(HasSubstr("later")));
}

}  // namespace
}  // namespace tempo9::cli
