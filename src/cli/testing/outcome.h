// For tests: what a command gave back and printed.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace tempo9::cli {

struct Outcome {
  int exit_code;
  std::string out;
  std::string err;
};

// command: returns the exit code.
template <typename Command>
Outcome outcome_of(const Command& command) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int exit_code = command();
  return {exit_code, ::testing::internal::GetCapturedStdout(),
          ::testing::internal::GetCapturedStderr()};
}

}  // namespace tempo9::cli
