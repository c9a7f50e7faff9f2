#include "engine/memory_budget.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace tempo9::engine {
namespace {

// Rounded up, so that what is told to be enough is.
uint64_t mib(uint64_t n_bytes) { return (n_bytes + (1 << 20) - 1) >> 20; }

}  // namespace

uint64_t longest_sequence(const kv::CacheOptions& cache, uint64_t memory, uint64_t n_pages) {
  const auto fits = [&](uint64_t n) {
    return kv::sequence_bytes(cache, n * kv::kPageTokens) <= memory;
  };
  if (fits(n_pages)) return n_pages * kv::kPageTokens;
  uint64_t longest = 0;
  for (uint64_t too_long = n_pages; longest + 1 < too_long;) {
    const uint64_t middle = (longest + too_long) / 2;
    (fits(middle) ? longest : too_long) = middle;
  }
  return longest * kv::kPageTokens;
}

uint32_t MemoryBudget::longest(const MemoryNeed& with) const {
  const uint64_t n_tokens =
      longest_sequence(with.cache, with.left_for_kv(room()), kv::pages_for(length));
  const auto n = static_cast<uint32_t>(std::min<uint64_t>(n_tokens, length));
  return n < std::min(length, kUsefulLength) ? 0 : n;
}

uint32_t MemoryBudget::n_requests() const {
  const uint64_t each = kv::sequence_bytes(need.cache, length);
  return each == 0 ? 0 : static_cast<uint32_t>(need.left_for_kv(room()) / each);
}

std::string MemoryBudget::sum() const {
  const std::string drafts =
      need.draft_bytes == 0 ? std::string()
                            : fmt::format(" ({} MiB of them for drafts)", mib(need.draft_bytes));
  return fmt::format(
      "weights {} MiB{} + KV cache of {} tokens {} MiB + working set {} MiB = {} MiB",
      mib(need.weight_bytes), drafts, length, mib(kv::sequence_bytes(need.cache, length)),
      mib(kWorkingBytes), mib(needed()));
}

std::string MemoryBudget::room_text() const {
  if (available < limit) return fmt::format("{} MiB are free", available >> 20);
  return is_capped ? fmt::format("--memory allows {} MiB", limit >> 20)
                   : fmt::format(
                         "{} MiB may be used (nine tenths of what the machine or its control "
                         "group has)",
                         limit >> 20);
}

std::string MemoryBudget::what_fits() const {
  std::vector<std::string> ways;
  const uint32_t shorter = longest(need), with_q8 = longest(need_q8);
  if (shorter > 0) ways.push_back(fmt::format("--max-length {}", shorter));
  if (with_q8 > shorter) {
    ways.push_back(with_q8 == length ? std::string("--kv-type q8_0")
                                     : fmt::format("--kv-type q8_0 with --max-length {}", with_q8));
  }
  if (is_capped && needed() <= available) {
    ways.push_back(fmt::format("--memory {}M", mib(needed())));
  }
  const uint64_t beside = kv::sequence_bytes(need.cache, length) + kWorkingBytes;
  if (room() > beside) {
    ways.push_back(fmt::format("a variant or model whose weights take at most {} MiB",
                               (room() - beside) >> 20));
  } else {
    ways.emplace_back("a smaller model, or more memory");
  }
  return fmt::format("{}", fmt::join(ways, ", or "));
}

}  // namespace tempo9::engine
