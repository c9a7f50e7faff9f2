// The CPU backend: kernel tables per instruction set, chosen once at start.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cpu/kernels.h"
#include "ops/backend.h"

namespace tempo9::cpu {

// All tables, best first.
struct TableInfo {
  std::string_view name;
  std::string_view needs;                 // features, with spaces between
  std::vector<std::string_view> missing;  // of them, here; none: it can run
  const KernelTable* kernels = nullptr;
};
std::vector<TableInfo> describe_tables();

// Tables that this machine can run, best first.
std::vector<const KernelTable*> available_tables();

// The table of that name, or the best when name is empty.
// Errors: kInvalidArgument for a name that is unknown or that this machine cannot run; lists the
// valid ones.
Result<const KernelTable*> select_kernels(std::string_view name);

// The version of what all tables compute alike (docs/determinism.md) and of the page layout. To be
// raised with every change of either, or pages on disk would be taken for what they are not.
inline constexpr std::string_view kNumerics = "cpu-4";

// What a page of 32 tokens takes, by class of KV layers: the one that is read to the end first,
// then by window.
std::vector<ops::PageClass> kv_page_classes(const ops::Program& program, ops::KvType type);
uint64_t kv_page_bytes(const ops::Program& program, ops::KvType type);  // of all classes

uint64_t state_bytes(const ops::Program& program);  // of a slot of recurrent state; 0: none

// What the weights will take once they are packed: a little more than in the file.
uint64_t packed_weight_bytes(const ops::Program& program);

// Packs the weights (the program's file may be closed afterwards), plans buffers, reserves the KV
// arena. Errors: kInvalidArgument (isa), kUnsupported (a weight type that no kernel reads),
// kResourceExhausted (memory).
Result<std::unique_ptr<ops::Backend>> make_backend(const ops::Program& program,
                                                   const ops::BackendOptions& options);

}  // namespace tempo9::cpu
