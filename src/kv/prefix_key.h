// The name of a prefix: a keyed 128-bit hash over all its tokens, chained page by page.
// Keyed, so that a request cannot be built whose pages collide with another's; tokens are compared
// besides.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace tempo9::kv {

using TokenId = int32_t;
using HashKey = std::array<uint64_t, 2>;

struct PrefixKey {
  uint64_t lo = 0;
  uint64_t hi = 0;  // {0, 0}: the empty prefix
  bool operator==(const PrefixKey&) const = default;
};
struct PrefixKeyHash {
  size_t operator()(const PrefixKey& key) const { return key.lo; }
};

// How many tokens both begin with.
inline uint32_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  return static_cast<uint32_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// The key of parent's tokens followed by these.
PrefixKey extend_key(const HashKey& secret, const PrefixKey& parent,
                     std::span<const TokenId> tokens);

// SipHash-2-4 with 128 bits of output, over bytes.
// Source: Aumasson and Bernstein 2012, and the reference code's 128-bit variant.
PrefixKey siphash128(const HashKey& secret, std::span<const uint8_t> bytes);

}  // namespace tempo9::kv
