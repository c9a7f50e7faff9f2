#include <string>
#include <vector>

#include "cli/cli.h"

int main(int argc, char** argv) {
  return tempo9::cli::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc),
                          tempo9::cli::read_environment());
}
