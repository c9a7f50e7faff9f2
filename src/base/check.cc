#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tempo9 {
namespace {

CheckHandler g_handler = nullptr;

}  // namespace

void set_check_handler(CheckHandler handler) { g_handler = handler; }

void check_failed(const char* file, int line, const char* expression) {
  if (g_handler != nullptr) g_handler(file, line, expression);
  std::fprintf(stderr, "%s:%d: impossible state: %s is false\n", file, line, expression);
  std::abort();
}

}  // namespace tempo9
