// What this processor and operating system can run.
#pragma once

#include <string_view>
#include <vector>

namespace tempo9::cpu {

// An instruction set extension, by the system's name for it (/proc/cpuinfo, but for the
// underscores).
struct Feature {
  std::string_view name;
  bool has = false;
};

// Those that a kernel table may need. Asks the processor, and XCR0 for the system's leave to use
// the wide registers.
std::vector<Feature> detect_features();

// Of needs, names with spaces between, those that features does not have.
std::vector<std::string_view> missing_features(std::string_view needs,
                                               const std::vector<Feature>& features);

}  // namespace tempo9::cpu
