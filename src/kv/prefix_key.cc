#include "kv/prefix_key.h"

#include <bit>

namespace tempo9::kv {
namespace {

struct SipState {
  uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void absorb(uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
  uint64_t squeeze() {
    for (int i = 0; i < 4; ++i) {
      round();
    }
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

SipState sip_start(const HashKey& secret) {
  return {secret[0] ^ 0x736f6d6570736575u, secret[1] ^ 0x646f72616e646f6du ^ 0xeeu,
          secret[0] ^ 0x6c7967656e657261u, secret[1] ^ 0x7465646279746573u};
}

PrefixKey sip_finish(SipState state) {
  PrefixKey key;
  state.v2 ^= 0xee;
  key.lo = state.squeeze();
  state.v1 ^= 0xdd;
  key.hi = state.squeeze();
  return key;
}

}  // namespace

PrefixKey siphash128(const HashKey& secret, std::span<const uint8_t> bytes) {
  SipState state = sip_start(secret);
  uint64_t word = 0;
  size_t i = 0;
  for (; i < bytes.size(); ++i) {
    word |= uint64_t{bytes[i]} << (8 * (i % 8));
    if (i % 8 == 7) {
      state.absorb(word);
      word = 0;
    }
  }
  state.absorb(word | uint64_t{bytes.size() & 0xffu} << 56);
  return sip_finish(state);
}

PrefixKey extend_key(const HashKey& secret, const PrefixKey& parent,
                     std::span<const TokenId> tokens) {
  SipState state = sip_start(secret);
  state.absorb(parent.lo);
  state.absorb(parent.hi);
  for (const TokenId token : tokens) {
    state.absorb(static_cast<uint32_t>(token));
  }
  state.absorb(tokens.size());
  return sip_finish(state);
}

}  // namespace tempo9::kv
