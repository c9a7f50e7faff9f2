// Engine::create in steps that can be tested without a model. Only build.cc knows which backends
// there are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/memory_budget.h"
#include "engine/threaded_engine.h"
#include "gguf/gguf.h"
#include "kv/cache.h"
#include "ops/backend.h"
#include "ops/program.h"
#include "ops/roof.h"

namespace tempo9::engine {

inline constexpr uint32_t kDefaultMaxLength = 32768;
inline constexpr uint32_t kMaxBatch = 256;

// Errors: kInvalidArgument / kUnsupported naming the flag, what was found and what is known.
Result<ops::KvType> parse_kv_type(const std::string& name);
// How embeddings are made: by asked (an option's value), else as the file declares in
// {arch}.pooling_type. Errors: kInvalidArgument naming --pooling; kCorrupt for a type that is none.
struct ChosenPooling {
  Pooling pooling = Pooling::kNone;
  bool declared = false;  // by the file
};
Result<ChosenPooling> choose_pooling(const std::string& asked, const gguf::File& file);
Result<Pooling> parse_pooling(const std::string& name);  // empty: kNone
Status check_options(const EngineOptions& options);

// How long a request may be, and the warning when that is more than the file declares.
struct Length {
  uint32_t max_length = 0;
  std::string warning;
};
Length choose_length(uint32_t asked, uint32_t declared);

// KV memory for max_batch requests of max_length, less when memory (bytes left for KV) does not
// hold that; then a single request's length may shrink too, with a warning. Errors:
// kResourceExhausted when memory does not hold a useful length.
struct Capacity {
  kv::CacheOptions cache;
  Length length;
};
struct CapacityAsked {
  uint32_t max_batch = 1;
  uint32_t max_rows = 1;  // of a step
  std::vector<kv::PageClass> classes;
  uint64_t state_bytes = 0;
  uint64_t memory_bytes = 0;
};
Result<Capacity> choose_capacity(Length length, const CapacityAsked& asked);
// The same for what the budget's limit holds. The warning tells when the machine's free memory does
// not hold even the least of that; the error also says what would fit.
Result<Capacity> capacity_within(const MemoryBudget& budget, const EngineOptions& options);

// Parts of an engine that plays options.script_path.
Result<EngineParts> build_script_parts(const EngineOptions& options);
// Parts of an engine that runs options.model_path.
Result<EngineParts> build_model_parts(const EngineOptions& options);

// A model with nothing around it: what `tempo9 bench` times.
struct BenchModel {
  gguf::File file;
  ops::Program program;  // of the file
  std::unique_ptr<ops::Backend> backend;
  uint32_t declared_length = 0;  // the file's own context length
  uint32_t n_ids = 0;            // ids that the embedding table has
};
// Errors: as build_model_parts; kResourceExhausted when memory does not hold options.max_pages.
Result<BenchModel> build_bench_model(const std::string& path, const ops::BackendOptions& options);

// The processor's own limits (ops/roof.h). Errors: kInvalidArgument (isa), kResourceExhausted.
Result<ops::RoofRates> measure_roof(ops::Roof roof, const ops::RoofOptions& options);

}  // namespace tempo9::engine
