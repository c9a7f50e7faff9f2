// Packed weights on disk (docs/formats/packed.md), so that a later start reads what it would pack.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cpu/thread_pool.h"

namespace tempo9::cpu {

// Changes whenever a packing does: files of another version are packed anew.
inline constexpr uint32_t kPackedFileVersion = 2;

using PackedParts = std::vector<std::span<uint8_t>>;  // the matrices' memory, in program order

// kOther: written for another key, other sizes, or by another version.
enum class PackedFileState { kRead, kMissing, kOther, kDamaged };

// Fills the parts from a file that was written for `key` and parts of these sizes; their content is
// undefined unless kRead is what it gives. Errors: kInvalidArgument for a file of another kind,
// which is somebody's and must not be replaced; kIo.
Result<PackedFileState> read_packed_file(const std::string& path, const std::string& key,
                                         const PackedParts& parts, ThreadPool& pool);

// Writes beside the path and renames, so that nobody sees half a file. Errors: kIo; then nothing
// stays on disk.
Status write_packed_file(const std::string& path, const std::string& key, const PackedParts& parts,
                         ThreadPool& pool);

}  // namespace tempo9::cpu
