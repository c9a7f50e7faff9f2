// Paged attention on every table against a softmax in double; then equal bits for every cut of the
// rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "cpu/cpu.h"
#include "quant/half.h"

namespace tempo9::cpu {
namespace {

struct Shape {
  uint32_t n_keys, n_rows, n_group_heads, head_dim, window;
  KvFormat format;
  float softcap = 0;
  bool sinks = false;
  uint32_t n_ahead = 0;   // keys behind the last row, which rows see: not causal
  uint32_t n_latent = 0;  // values are the first so many dims of keys; 0: of their own, head_dim

  uint32_t value_dim() const { return n_latent > 0 ? n_latent : head_dim; }
  uint32_t first_row() const { return n_keys - n_rows - n_ahead; }
  bool sees(uint32_t position, uint32_t key) const {
    if (n_ahead == 0 && key > position) return false;
    const uint32_t distance = key > position ? key - position : position - key;
    return window == 0 || distance < window;
  }
};

// One sequence with one kv head; pages in shuffled order, unused slots full of large finite values.
class Cache {
 public:
  Cache(const Shape& shape, const KernelTable& kernels) : s_(shape), kernels_(kernels) {
    std::mt19937 random(shape.n_keys * 7 + shape.head_dim);
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<float>& v, size_t n) {
      v.resize(n);
      for (float& x : v) x = normal(random);
    };
    fill(k_, size_t{s_.n_keys} * s_.head_dim);
    fill(v_, size_t{s_.n_keys} * s_.value_dim());
    for (size_t i = 0; s_.n_latent > 0 && i < v_.size(); ++i)
      v_[i] = k_[i / s_.n_latent * s_.head_dim + i % s_.n_latent];
    stored_k_ = stored(k_, s_.head_dim, 32);
    stored_v_ = stored(v_, s_.value_dim(), s_.value_dim());
    fill(q_, size_t{s_.n_rows} * s_.n_group_heads * s_.head_dim);
    for (uint32_t head = 0; head < s_.n_group_heads; ++head)
      sinks_.push_back(head == 0 ? 12.0f : 1.0f - static_cast<float>(head));
    const uint32_t n_pages = (s_.n_keys + 31) / 32;
    pages_.resize(n_pages);
    std::iota(pages_.begin(), pages_.end(), 0u);
    std::shuffle(pages_.begin(), pages_.end(), random);
    const KvLayout layout = kv_layout(s_.format, s_.head_dim, s_.value_dim());
    v_offset_ = layout.v_offset();
    page_bytes_ = layout.bytes();
    arena_.assign(page_bytes_ * n_pages, 0x7A);  // 31354 as i16, 53088 as f16, 3.2e35 as f32
    for (uint32_t key = 0; key < s_.n_keys; ++key)
      append(key, &k_[size_t{key} * s_.head_dim], &v_[size_t{key} * s_.value_dim()]);
  }

  // A key, or its value, with something at its end that is not finite.
  void append_broken(uint32_t key, float broken, bool in_value) {
    std::vector<float> k(s_.head_dim, 1.0f), v(s_.value_dim(), 1.0f);
    (in_value ? v : k).back() = broken;
    append(key, k.data(), v.data());
  }

  // Cells by `cells_at_once` if that is not 0, then merged.
  std::vector<float> attend(uint32_t first, uint32_t count, uint32_t cells_at_once = 0) const {
    const uint32_t width = s_.n_group_heads * s_.head_dim;
    const uint32_t out_width = s_.n_group_heads * s_.value_dim();
    std::vector<float> out(size_t{count} * out_width);
    std::vector<uint8_t> scratch(attention_scratch_bytes(s_.n_group_heads, s_.head_dim));
    AttentionArgs args;
    args.q = q_.data() + size_t{first} * width;
    args.out = out.data();
    args.q_row_stride = width;
    args.out_row_stride = out_width;
    args.n_rows = count;
    args.n_group_heads = s_.n_group_heads;
    args.head_dim = s_.head_dim;
    args.value_dim = s_.value_dim();
    args.first_position = s_.first_row() + first;
    if (s_.n_ahead > 0) args.n_keys = s_.n_keys;
    args.scale = 0.3f;
    args.window = s_.window;
    args.softcap = s_.softcap;
    if (s_.sinks) args.sinks = sinks_.data();
    args.arena = arena_.data();
    args.page_stride = page_bytes_;
    args.v_offset = v_offset_;
    args.pages = pages_.data();
    args.scratch = scratch.data();
    const auto format = static_cast<size_t>(s_.format);
    if (cells_at_once == 0) {
      kernels_.attention[format](args);
      return out;
    }
    std::vector<float> cells(size_t{args.n_cells()} * count * s_.n_group_heads *
                             cell_stride(s_.value_dim()));
    args.cells = cells.data();
    const uint32_t end = args.first_cell() + args.n_cells();
    for (uint32_t cell = args.first_cell(); cell < end; cell += cells_at_once) {
      args.cell_begin = cell;
      args.cell_end = std::min(cell + cells_at_once, end);
      kernels_.attention[format](args);
    }
    kernels_.merge_cells[format](args);
    return out;
  }

  // One row's one head, in double, over the values as stored.
  std::vector<double> expected(uint32_t row, uint32_t head) const {
    const uint32_t position = s_.first_row() + row;
    uint32_t begin = 0;
    while (!s_.sees(position, begin)) ++begin;
    std::vector<double> scores, out(s_.value_dim());
    for (uint32_t key = begin; key < s_.n_keys && s_.sees(position, key); ++key) {
      double dot = 0;
      for (uint32_t d = 0; d < s_.head_dim; ++d) {
        dot += static_cast<double>(q_[(size_t{row} * s_.n_group_heads + head) * s_.head_dim + d]) *
               static_cast<double>(stored_k_[size_t{key} * s_.head_dim + d]);
      }
      const double score = dot * static_cast<double>(0.3f);
      const auto cap = static_cast<double>(s_.softcap);
      scores.push_back(cap > 0 ? cap * std::tanh(score / cap) : score);
    }
    double top = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    if (s_.sinks) {
      const auto sink = static_cast<double>(sinks_[head]);
      top = std::max(top, sink);
      sum = std::exp(sink - top);
    }
    for (double& x : scores) sum += x = std::exp(x - top);
    for (size_t i = 0; i < scores.size(); ++i) {
      for (uint32_t d = 0; d < s_.value_dim(); ++d) {
        out[d] +=
            scores[i] / sum * static_cast<double>(stored_v_[(begin + i) * s_.value_dim() + d]);
      }
    }
    return out;
  }

 private:
  void append(uint32_t key, const float* k, const float* v) {
    uint8_t* page = arena_.data() + page_bytes_ * pages_[key / 32];
    kernels_.append_kv[static_cast<size_t>(s_.format)](k, v, s_.head_dim, s_.value_dim(), key % 32,
                                                       page, page + v_offset_);
  }
  // What the format keeps of vectors of dim values, of which `run` share a scale. 16-bit integers
  // count as exact: i16_error() allows for them.
  std::vector<float> stored(const std::vector<float>& x, uint32_t dim, uint32_t run) const {
    std::vector<float> out = x;
    if (s_.format == KvFormat::kF16) {
      for (float& value : out) value = quant::f16_to_f32(quant::f32_to_f16(value));
    }
    for (size_t begin = 0; s_.format == KvFormat::kI8 && begin < out.size();) {
      const size_t n = std::min<size_t>(run, dim - begin % dim);
      float top = 0;
      for (size_t i = begin; i < begin + n; ++i) top = std::max(top, std::abs(x[i]));
      for (size_t i = begin; i < begin + n; ++i)
        out[i] = std::nearbyint(x[i] * (127.0f / top)) * (top / 127.0f);
      begin += n;
    }
    return out;
  }
  Shape s_;
  const KernelTable& kernels_;
  std::vector<float> k_, v_, q_, sinks_, stored_k_, stored_v_;
  std::vector<uint32_t> pages_;
  std::vector<uint8_t> arena_;
  size_t page_bytes_ = 0, v_offset_ = 0;
};

// Each element of q and k is off by up to half of 3 / 5792, uniformly, so scores by about
// 0.3 * sqrt(head_dim / 6) * 5e-4, six of which no sample reaches; values and weights by half of
// 3 / 8191.
double i16_error(uint32_t head_dim) {
  return 6.0 * 0.3 * std::sqrt(head_dim / 6.0) * 5e-4 + 6.0 / 8191.0;
}
constexpr KvFormat kI16 = KvFormat::kI16, kI8 = KvFormat::kI8, kF16 = KvFormat::kF16,
                   kF32 = KvFormat::kF32, kLatentI16 = KvFormat::kLatentI16;
constexpr Shape kShapes[] = {
    {1, 1, 1, 64, 0, kF16},
    {5, 5, 1, 64, 0, kF32},
    {33, 16, 7, 64, 0, kF16},
    {300, 13, 3, 80, 0, kF16},
    {700, 16, 2, 128, 0, kF32},
    {513, 2, 4, 256, 0, kF16},
    {700, 16, 4, 64, 100, kF16},
    {260, 9, 2, 64, 256, kF32},
    {600, 16, 1, 64, 1, kF16},
    {90, 16, 5, 20, 33, kF32},
    {257, 3, 9, 8, 0, kF16},
    {1, 1, 1, 64, 0, kI16},
    {33, 16, 7, 64, 0, kI16},
    {300, 13, 3, 80, 0, kI16},
    {700, 16, 2, 128, 0, kI16},
    {513, 2, 4, 256, 0, kI16},
    {700, 16, 4, 64, 100, kI16},
    {600, 16, 1, 64, 1, kI16},
    {90, 16, 5, 20, 33, kI16},
    {257, 3, 9, 8, 0, kI16},
    {40, 5, 3, 7, 0, kI16},
    {300, 2, 14, 1024, 0, kI16},
    {300, 9, 3, 64, 0, kF32, 2.5f},
    {300, 9, 3, 64, 0, kI16, 2.5f},
    {600, 9, 4, 64, 100, kF16, 0, true},
    {600, 9, 4, 64, 100, kI16, 0, true},
    {1, 1, 2, 64, 0, kF32, 5.0f, true},
    {1, 1, 1, 64, 0, kI8},
    {33, 16, 7, 64, 0, kI8},
    {300, 13, 3, 80, 0, kI8},
    {700, 16, 4, 128, 100, kI8},
    {90, 16, 5, 20, 33, kI8},
    {257, 3, 9, 7, 0, kI8},
    {300, 2, 14, 1024, 0, kI8, 2.5f, true},
    {300, 9, 3, 64, 0, kF32, 0, false, 200},
    {600, 16, 2, 64, 0, kI16, 0, false, 584},
    {600, 16, 1, 64, 100, kI16, 0, false, 300},
    {290, 12, 2, 20, 40, kF16, 0, false, 15},
    {600, 9, 1, 64, 257, kI8, 0, true, 255},
    {40, 5, 3, 36, 0, kF32, 0, false, 0, 24},
    {300, 13, 16, 80, 0, kF16, 0, false, 0, 64},
    {90, 16, 5, 20, 33, kF16, 0, false, 0, 7},
    {300, 9, 4, 72, 0, kI8, 0, false, 0, 40},
    {1, 1, 1, 68, 0, kLatentI16, 0, false, 0, 52},
    {33, 16, 7, 80, 0, kLatentI16, 0, false, 0, 64},
    {300, 13, 3, 76, 100, kLatentI16, 0, false, 0, 40},
    {290, 12, 2, 20, 0, kLatentI16, 2.5f, true, 0, 14},
    {530, 3, 17, 576, 0, kLatentI16, 0, false, 0, 512},
};

class AttentionTest : public testing::TestWithParam<const KernelTable*> {};

TEST_P(AttentionTest, AgreesWithSoftmaxInDouble) {
  for (const Shape& shape : kShapes) {
    const Cache cache(shape, *GetParam());
    const std::vector<float> got = cache.attend(0, shape.n_rows);
    for (uint32_t row = 0; row < shape.n_rows; ++row) {
      for (uint32_t head = 0; head < shape.n_group_heads; ++head) {
        const std::vector<double> want = cache.expected(row, head);
        for (uint32_t d = 0; d < shape.value_dim(); ++d) {
          ASSERT_NEAR(
              static_cast<double>(got[(row * shape.n_group_heads + head) * shape.value_dim() + d]),
              want[d],
              shape.format == kF16 || shape.format == kF32 ? 1e-5 : i16_error(shape.head_dim))
              << shape.n_keys << " keys, head size " << shape.head_dim << ", row " << row
              << ", head " << head;
        }
      }
    }
  }
}

TEST_P(AttentionTest, ARowHasTheSameBitsInEveryCut) {
  for (const Shape& shape : kShapes) {
    const Cache cache(shape, *GetParam());
    const size_t width = size_t{shape.n_group_heads} * shape.value_dim();
    const std::vector<float> all = cache.attend(0, shape.n_rows);
    for (uint32_t count = 1; count < shape.n_rows; ++count) {
      for (uint32_t first = 0; first + count <= shape.n_rows; first += count) {
        const std::vector<float> part = cache.attend(first, count);
        ASSERT_TRUE(std::equal(part.begin(), part.end(),
                               all.begin() + static_cast<ptrdiff_t>(first * width)))
            << count << " rows from " << first;
      }
    }
  }
}

TEST_P(AttentionTest, CellsApartGiveTheSameBits) {
  for (const Shape& shape : kShapes) {
    const Cache cache(shape, *GetParam());
    const std::vector<float> all = cache.attend(0, shape.n_rows);
    for (const uint32_t cells_at_once : {1u, 2u, 100u})
      EXPECT_EQ(cache.attend(0, shape.n_rows, cells_at_once), all) << shape.n_keys;
  }
}

TEST_P(AttentionTest, EveryTableGivesTheSameBits) {
  for (const Shape& shape : kShapes) {
    const Cache mine(shape, *GetParam()), theirs(shape, **select_kernels("scalar"));
    EXPECT_EQ(mine.attend(0, shape.n_rows), theirs.attend(0, shape.n_rows)) << shape.n_keys;
  }
}

// Causal, and within windows: nobody else is touched, also not by way of a page's unused slots.
TEST_P(AttentionTest, ABrokenKeyOrValueSpoilsThoseWhoSeeItAndNobodyElse) {
  for (const Shape& shape : kShapes) {
    if (shape.n_keys > 300 || shape.head_dim > 80) continue;  // all formats and masks are left
    for (const bool in_value : {false, true}) {
      const Cache clean(shape, *GetParam());
      Cache cache = clean;
      const float broken = in_value ? std::numeric_limits<float>::infinity() : std::nanf("");
      for (uint32_t key = shape.n_keys; key % 32 != 0; ++key)
        cache.append_broken(key, broken, in_value);
      const std::vector<float> want = clean.attend(0, shape.n_rows);
      ASSERT_EQ(cache.attend(0, shape.n_rows), want) << "unused slots, " << shape.n_keys;
      const uint32_t row_of_key = shape.n_rows / 2;
      const uint32_t broken_key = shape.first_row() + row_of_key;
      cache.append_broken(broken_key, broken, in_value);
      const std::vector<float> got = cache.attend(0, shape.n_rows);
      const size_t width = size_t{shape.n_group_heads} * shape.value_dim();
      for (uint32_t row = 0; row < shape.n_rows; ++row) {
        const bool sees = shape.sees(shape.first_row() + row, broken_key);
        for (size_t i = row * width; i < (row + 1) * width; ++i)
          ASSERT_TRUE(sees ? std::isnan(got[i]) : got[i] == want[i]) << shape.n_keys << ' ' << row;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, AttentionTest, testing::ValuesIn(available_tables()),
                         [](const auto& instance) { return std::string(instance.param->name); });

}  // namespace
}  // namespace tempo9::cpu
