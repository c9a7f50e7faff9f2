// Options to sizes: how long, how many pages.
#include <algorithm>
#include <variant>

#include "base/check.h"
#include "engine/build.h"
#include "engine/memory_budget.h"
#include "kv/cache.h"

namespace tempo9::engine {
namespace {

constexpr uint64_t kMaxPages = uint64_t{1} << 24;
constexpr uint64_t kMaxStates = uint64_t{1} << 14;

// Names of slots: each request that runs has a state, starts from another's and leaves some behind;
// the rest is for whoever goes on from there (kv::CacheOptions).
uint64_t count_states(const CapacityAsked& asked) {
  if (asked.state_bytes == 0) return 0;
  const uint64_t needed = uint64_t{4} * asked.max_batch + 4;
  return std::min(needed + asked.memory_bytes / asked.state_bytes, std::max(needed, kMaxStates));
}

}  // namespace

Result<ops::KvType> parse_kv_type(const std::string& name) {
  if (name == "i16") return ops::KvType::kI16;
  if (name == "q8_0") return ops::KvType::kQ8;
  if (name == "f16") return ops::KvType::kF16;
  if (name == "f32") return ops::KvType::kF32;
  return make_error(ErrorCode::kInvalidArgument,
                    "--kv-type: found {}, expected i16, q8_0, f16 or f32", name);
}

Result<Pooling> parse_pooling(const std::string& name) {
  if (name.empty()) return Pooling::kNone;
  if (name == "mean") return Pooling::kMean;
  if (name == "cls") return Pooling::kCls;
  if (name == "last") return Pooling::kLast;
  return make_error(ErrorCode::kInvalidArgument, "--pooling: found {}, expected mean, last or cls",
                    name);
}

Result<ChosenPooling> choose_pooling(const std::string& asked, const gguf::File& file) {
  // The numbers that GGUF files hold. A reranker's (4) needs a head of its own.
  constexpr Pooling kTypes[] = {Pooling::kNone, Pooling::kMean, Pooling::kCls, Pooling::kLast,
                                Pooling::kNone};
  T9_TRY(const std::string architecture, file.get_string("general.architecture", ""));
  const std::string key = architecture + ".pooling_type";
  T9_TRY(const uint64_t type, file.get_uint(key, 0));
  if (type >= std::size(kTypes)) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: {} is {}, expected 0 (none), 1 (mean), 2 (cls), 3 (last) or 4 (rank)",
                      file.path(), key, type);
  }
  const bool declared = kTypes[type] != Pooling::kNone;
  T9_TRY(const Pooling pooling, parse_pooling(asked));
  return ChosenPooling{pooling != Pooling::kNone ? pooling : kTypes[type], declared};
}

Status check_options(const EngineOptions& options) {
  if (options.max_batch < 1 || options.max_batch > kMaxBatch) {
    return make_error(ErrorCode::kInvalidArgument, "--max-batch: found {}, expected 1 to {}",
                      options.max_batch, kMaxBatch);
  }
  if (options.model_path.empty() && options.script_path.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "no model: name a file with --gguf, or a script with --script");
  }
  if (auto type = parse_kv_type(options.kv_type); !type) {
    return std::move(type).error();
  }
  if (auto pooling = parse_pooling(options.pooling); !pooling) {
    return std::move(pooling).error();
  }
  return {};
}

Length choose_length(uint32_t asked, uint32_t declared) {
  if (asked == 0) {
    return {std::min(kDefaultMaxLength, declared), ""};
  }
  Length length{asked, ""};
  if (asked > declared) {
    length.warning = fmt::format(
        "--max-length {} is above the {} tokens that the file declares: replies beyond that may be "
        "poor",
        asked, declared);
  }
  return length;
}

Result<Capacity> choose_capacity(Length length, const CapacityAsked& asked) {
  kv::CacheOptions cache{.classes = asked.classes,
                         .step_tokens = asked.max_rows,
                         .state_bytes = asked.state_bytes,
                         .n_states = static_cast<uint32_t>(count_states(asked))};
  uint64_t page_bytes = 0, full_bytes = 0;
  for (const kv::PageClass& c : cache.classes) {
    page_bytes += c.bytes;
    if (c.window == 0) full_bytes += c.bytes;
  }
  const uint64_t memory = asked.memory_bytes;
  const uint64_t wanted = uint64_t{kv::pages_for(length.max_length)} * asked.max_batch;
  uint64_t n_pages = std::min(wanted, kMaxPages);
  if (full_bytes > 0) n_pages = std::min(n_pages, memory / full_bytes);
  cache.n_pages = static_cast<uint32_t>(n_pages);
  cache.memory_bytes = std::min(memory / page_bytes * page_bytes,
                                wanted * page_bytes + cache.n_states * cache.state_bytes);

  // How many pages a request can come to.
  const auto n_tokens = static_cast<uint32_t>(longest_sequence(
      cache, cache.memory_bytes, std::min<uint64_t>(n_pages, kv::pages_for(length.max_length))));
  if (n_tokens < std::min(length.max_length, kUsefulLength)) {
    return make_error(ErrorCode::kResourceExhausted,
                      "memory: {} MiB are left for the KV cache beside the weights, enough for {} "
                      "tokens, expected at least {}",
                      memory >> 20, n_tokens, std::min(length.max_length, kUsefulLength));
  }
  Capacity capacity{std::move(cache), std::move(length)};
  if (n_tokens < capacity.length.max_length) {
    capacity.length.warning += fmt::format(
        "{}memory holds {} tokens of the {} asked for: requests may be that long at most",
        capacity.length.warning.empty() ? "" : "; ", n_tokens, capacity.length.max_length);
    capacity.length.max_length = n_tokens;
  }
  return capacity;
}

Result<Capacity> capacity_within(const MemoryBudget& budget, const EngineOptions& options) {
  auto capacity = choose_capacity(choose_length(options.max_length, budget.declared),
                                  {.max_batch = options.max_batch,
                                   .max_rows = budget.need.cache.step_tokens,
                                   .classes = budget.need.cache.classes,
                                   .state_bytes = budget.need.cache.state_bytes,
                                   .memory_bytes = budget.need.left_for_kv(budget.limit)});
  if (capacity && budget.longest() > 0) return capacity;
  const std::string numbers = fmt::format("{}, but {}; what fits: {}", budget.sum(),
                                          budget.room_text(), budget.what_fits());
  if (!capacity) {
    return Error{capacity.error().code, fmt::format("{}; {}", capacity.error().message, numbers)};
  }
  std::string& warning = capacity->length.warning;
  warning += fmt::format("{}memory: {}", warning.empty() ? "" : "; ", numbers);
  return capacity;
}

}  // namespace tempo9::engine
