#include "cpu/logits.h"

#include <algorithm>

#include "ops/backend.h"

namespace tempo9::cpu {

Status Logits::reserve(uint32_t max_rows, uint32_t n_vocab) {
  n_vocab_ = n_vocab;
  T9_TRY(logits_, Memory::reserve(size_t{max_rows} * n_vocab * sizeof(float)));
  T9_TRY(run_maxima_, Memory::reserve(size_t{max_rows} * ops::logit_runs(n_vocab) * sizeof(float)));
  return {};
}

void Logits::finish(uint32_t n_rows, float softcap) {
  constexpr uint32_t kPiece = 256 * ops::kLogitRun;
  const uint32_t n_pieces = (n_vocab_ + kPiece - 1) / kPiece;
  const size_t n_runs = ops::logit_runs(n_vocab_);
  auto* maxima = reinterpret_cast<float*>(run_maxima_.data());
  pool_.run(n_rows * n_pieces, 1, [&](uint32_t begin, uint32_t end, uint32_t) {
    for (uint32_t i = begin; i < end; ++i) {
      const size_t row = i / n_pieces;
      const uint32_t first = i % n_pieces * kPiece;
      const uint32_t n = std::min(kPiece, n_vocab_ - first);
      float* x = data() + row * n_vocab_ + first;
      if (softcap > 0) kernels_.soft_cap(x, n, softcap);
      kernels_.run_maxima(x, n, maxima + row * n_runs + first / ops::kLogitRun);
    }
  });
}

std::span<const float> Logits::values(size_t n_rows) const {
  return {reinterpret_cast<const float*>(logits_.data()), n_rows * n_vocab_};
}

std::span<const float> Logits::run_maxima(size_t n_rows) const {
  return {reinterpret_cast<const float*>(run_maxima_.data()), n_rows * ops::logit_runs(n_vocab_)};
}

}  // namespace tempo9::cpu
