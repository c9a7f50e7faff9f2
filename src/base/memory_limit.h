// How much memory this process may hope for.
#pragma once

#include <cstdint>

#include "base/cgroup.h"

namespace tempo9 {

// The machine's memory, or a control group's limit when that is smaller. Bytes.
uint64_t memory_limit(const CgroupPaths& paths = {});

// What it could still take without pushing anyone out: the machine's, or a control group's when
// that is less. Bytes.
uint64_t available_memory(const CgroupPaths& paths = {});

// What this process takes now. Bytes.
uint64_t resident_memory();

}  // namespace tempo9
