#include "kv/prefix_key.h"

#include <gtest/gtest.h>

#include <vector>

namespace tempo9::kv {
namespace {

constexpr HashKey kSecret = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};

// The reference implementation's vectors (SipHash, vectors_sip128): key 00..0f, input 00 01 02 ...
// of n bytes.
TEST(PrefixKey, SipHashKnownAnswers) {
  const std::vector<uint8_t> input = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::span<const uint8_t> bytes(input);
  EXPECT_EQ(siphash128(kSecret, {}), (PrefixKey{0xe6a825ba047f81a3u, 0x930255c71472f66du}));
  EXPECT_EQ(siphash128(kSecret, bytes.first(1)),
            (PrefixKey{0x44af996bd8c187dau, 0x45fc229b11597634u}));
  EXPECT_EQ(siphash128(kSecret, bytes.first(2)),
            (PrefixKey{0xc75da4a48d227781u, 0xe4ff0af6de8ba3fcu}));
}

TEST(PrefixKey, ParentSecretTokensAndCutAllCount) {
  const std::vector<TokenId> tokens = {1, 2, 3, -1};
  const std::span<const TokenId> all(tokens);
  const PrefixKey key = extend_key(kSecret, {}, all);
  EXPECT_EQ(extend_key(kSecret, {}, all), key);
  EXPECT_NE(extend_key(kSecret, {0, 1}, all), key);
  EXPECT_NE(extend_key({1, 2}, {}, all), key);
  EXPECT_NE(extend_key(kSecret, {}, all.first(3)), key);
  EXPECT_NE(extend_key(kSecret, extend_key(kSecret, {}, all.first(2)), all.subspan(2)), key);
}

}  // namespace
}  // namespace tempo9::kv
