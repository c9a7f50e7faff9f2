// What names a model: KV pages on disk belong to it.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "ops/program.h"

namespace tempo9::engine {

// XXH3-128 over all bytes of the files, as 32 hexadecimal digits. Reads them once, at memory speed
// when the system has them cached. Errors: kIo; kCancelled soon after stop is requested.
Result<std::string> hash_files(const std::vector<std::string>& paths, std::stop_token stop = {});

// Of the rotations that keys are stored with: one file may give several (long-context factors are
// chosen by the length asked for).
std::string hash_ropes(const std::vector<ops::Rope>& ropes);

}  // namespace tempo9::engine
