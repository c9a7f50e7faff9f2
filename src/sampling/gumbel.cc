#include "sampling/gumbel.h"

#include <bit>

#include "base/check.h"
#include "base/math.h"
#include "sampling/philox.h"

namespace tempo9::sampling {
namespace {

// One Philox block serves the four tokens with ids 4 i to 4 i + 3.
PhiloxBlock noise_block(const NoiseKey& key, uint32_t block) {
  return philox4x32({block, key.position, key.choice, 0},
                    {static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32)});
}

double gumbel(uint32_t bits) {
  const double uniform = (static_cast<double>(bits) + 0.5) * 0x1p-32;  // never 0, never 1
  return -portable_log(-portable_log(uniform));
}

// At least gumbel(bits), without logarithms: g <= -log(1 - u), and 1 - u >= 2^-(z + 1) with z
// leading one bits.
double gumbel_bound(uint32_t bits) { return 0.6931471805599454 * (std::countl_one(bits) + 1); }

}  // namespace

double gumbel_noise(const NoiseKey& key, TokenId id) {
  const auto token = static_cast<uint32_t>(id);
  return gumbel(noise_block(key, token / 4)[token % 4]);
}

TokenId draw(const NoiseKey& key, const std::vector<Candidate>& candidates) {
  T9_CHECK(!candidates.empty());
  // Starting from the most likely one lets the bound dismiss nearly all others.
  Candidate best = candidates.front();
  for (const Candidate& c : candidates) {
    if (ranks_before(c, best)) {
      best = c;
    }
  }
  best.score += gumbel_noise(key, best.id);
  uint32_t block_index = ~0u;
  PhiloxBlock block{};
  for (const Candidate& c : candidates) {
    if (c.score + kNoiseSpan < best.score) {
      continue;
    }
    const auto token = static_cast<uint32_t>(c.id);
    if (token / 4 != block_index) {
      block_index = token / 4;
      block = noise_block(key, block_index);
    }
    const uint32_t bits = block[token % 4];
    if (c.score + gumbel_bound(bits) < best.score) {
      continue;
    }
    const Candidate noisy{c.id, c.score + gumbel(bits)};
    if (ranks_before(noisy, best)) {
      best = noisy;
    }
  }
  return best.id;
}

}  // namespace tempo9::sampling
