// Every table's products against double arithmetic, then the rule that everything rests on: the
// same bits for a row whatever its neighbours, the split of the columns and the table.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "cpu/cpu.h"
#include "cpu/pack.h"
#include "cpu/test_weights.h"

namespace tempo9::cpu {
namespace {

constexpr float kScale = 1.25f;  // of the matrix
constexpr DType kTypes[] = {
    DType::kQ4_0,    DType::kQ4_1,  DType::kQ5_0,  DType::kQ5_1,    DType::kQ8_0,   DType::kQ8_1,
    DType::kQ2_K,    DType::kQ3_K,  DType::kQ4_K,  DType::kQ5_K,    DType::kQ6_K,   DType::kIQ4_NL,
    DType::kIQ4_XS,  DType::kMXFP4, DType::kNVFP4, DType::kQ1_0,    DType::kQ2_0,   DType::kTQ1_0,
    DType::kTQ2_0,   DType::kIQ1_S, DType::kIQ1_M, DType::kIQ2_XXS, DType::kIQ2_XS, DType::kIQ2_S,
    DType::kIQ3_XXS, DType::kIQ3_S, DType::kF32,   DType::kF16,     DType::kBF16};

// Rows of activations in f32 and int8, with a few outliers so that block exponents differ.
struct Rows {
  uint32_t n, width;
  std::vector<float> f32;
  std::vector<QuantBlock> blocks;

  Rows(uint32_t n_rows, uint32_t n_in, const KernelTable& kernels) : n(n_rows), width(n_in) {
    std::mt19937 random(n_in * 31 + 5);
    std::normal_distribution<float> normal;
    f32.resize(size_t{n} * width);
    for (float& x : f32) x = normal(random) * (random() % 64 == 0 ? 20.0f : 1.0f);
    if (width % kBlock != 0) return;
    blocks.resize(n * n_blocks());
    for (uint32_t r = 0; r < n; ++r) {
      kernels.quantize_row(&f32[size_t{r} * width], width, &blocks[r * n_blocks()]);
    }
  }
  size_t n_blocks() const { return width / kBlock; }
  double value(uint32_t r, uint32_t k, bool quantized) const {
    const size_t i = size_t{r} * width + k;
    if (!quantized) return static_cast<double>(f32[i]);
    const QuantBlock& block = blocks[i / kBlock];
    return static_cast<double>(block.q[i % kBlock]) * static_cast<double>(block.scale);
  }
  // Rows [first, first + count) as a product's input.
  void fill(LinearArgs& args, uint32_t first, uint32_t count) {
    args.n_rows = count;
    args.x = f32.data() + size_t{first} * width;
    args.x_stride = width;
    if (blocks.empty()) return;
    args.x_quant = {.blocks = blocks.data() + first * n_blocks(),
                    .n_blocks = static_cast<uint32_t>(n_blocks())};
  }
};

struct Case {
  Packing packing;
  uint32_t n_in, n_out;
  std::vector<uint8_t> file, packed;
  std::vector<float> bias;
  size_t group_bytes;

  Case(DType type, uint32_t in, uint32_t out, std::optional<uint8_t> byte = {})
      : packing(*packing_of(type)), n_in(in), n_out(out) {
    file = random_weights(type, n_in, n_out, 0.3f, n_in + n_out, byte);
    group_bytes = packed_group_bytes(packing, n_in);
    const uint32_t n_groups = (n_out + kLanes - 1) / kLanes;
    packed.resize(group_bytes * n_groups);
    for (uint32_t g = 0; g < n_groups; ++g) {
      pack_group(packing, file.data(), file.size() / n_out, n_in, n_out, g,
                 packed.data() + group_bytes * g);
    }
    for (uint32_t i = 0; i < n_out; ++i) bias.push_back(0.01f * static_cast<float>(i));
  }
  uint32_t n_groups() const { return (n_out + kLanes - 1) / kLanes; }

  std::vector<float> run(const KernelTable& kernels, Rows& rows, uint32_t first, uint32_t count,
                         bool add = false) {
    std::vector<float> out(size_t{count} * n_out, add ? 1.5f : 0.0f);
    std::vector<uint8_t> scratch(linear_scratch_bytes(count) + 64);
    LinearArgs args;
    rows.fill(args, first, count);
    args.weights = packed.data();
    args.group_bytes = group_bytes;
    args.n_in = n_in;
    args.n_out = n_out;
    args.group_end = n_groups();
    args.out = out.data();
    args.out_stride = n_out;
    args.bias = bias.data();
    args.add = add;
    args.scale = kScale;
    args.scratch = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
    kernels.linear[static_cast<size_t>(packing)](args);
    return out;
  }
};

class LinearTest : public testing::TestWithParam<std::tuple<const KernelTable*, DType>> {
 protected:
  const KernelTable& kernels() const { return *std::get<0>(GetParam()); }
  DType type() const { return std::get<1>(GetParam()); }
  std::vector<uint32_t> widths() const {
    const uint32_t block = dtype_info(type()).block_elements;
    return block == 1 ? std::vector<uint32_t>{1, 7, 40, 200}
                      : std::vector<uint32_t>{block, 3 * block, 35 * kBlock / block * block};
  }
};

TEST_P(LinearTest, AgreesWithDoubleArithmetic) {
  for (const uint32_t n_in : widths()) {
    for (const uint32_t n_out : {1u, 16u, 17u, 47u, 64u}) {
      Case c(type(), n_in, n_out);
      Rows rows(14, n_in, kernels());
      const std::vector<float> got = c.run(kernels(), rows, 0, rows.n, true);
      std::vector<float> w(n_in);
      for (uint32_t o = 0; o < n_out; ++o) {
        quant::find_format(type())->decode(c.file.data() + c.file.size() / n_out * o, w.data(),
                                           n_in / dtype_info(type()).block_elements);
        for (uint32_t r = 0; r < rows.n; ++r) {
          double sum = 0, size = 0;
          for (uint32_t k = 0; k < n_in; ++k) {
            const double term =
                static_cast<double>(w[k]) * rows.value(r, k, is_quantized(c.packing));
            sum += term;
            size += std::abs(term);
          }
          // Minima: w = d q - m cancels inside a block, so the parts may be up to twice the size of
          // the whole.
          const double tolerance =
              4.0 * 1.2e-7 * (static_cast<double>(n_in) / 8 + 8) * (size + 1.0);
          const double want =
              static_cast<double>(kScale) * sum + static_cast<double>(c.bias[o]) + 1.5;
          ASSERT_NEAR(static_cast<double>(got[size_t{r} * n_out + o]), want, tolerance)
              << "inputs " << n_in << " outputs " << n_out << " row " << r << " output " << o;
        }
      }
    }
  }
}

TEST_P(LinearTest, ARowHasTheSameBitsInEveryBatch) {
  const uint32_t n_in = widths().back(), n_out = 49;
  Case c(type(), n_in, n_out);
  Rows rows(40, n_in, kernels());
  const std::vector<float> all = c.run(kernels(), rows, 0, rows.n);
  for (uint32_t count = 1; count <= 23; ++count) {
    for (uint32_t first = 0; first + count <= rows.n; first += count) {
      const std::vector<float> part = c.run(kernels(), rows, first, count);
      ASSERT_EQ(0, std::memcmp(part.data(), all.data() + size_t{first} * n_out,
                               part.size() * sizeof(float)))
          << count << " rows from " << first;
    }
  }
}

TEST_P(LinearTest, EveryTableGivesTheSameBits) {
  const uint32_t n_in = widths().back(), n_out = 33;
  Case c(type(), n_in, n_out);
  const KernelTable& scalar = **select_kernels("scalar");
  Rows mine(40, n_in, kernels()), theirs(40, n_in, scalar);
  ASSERT_EQ(mine.blocks.size(), theirs.blocks.size());
  for (size_t i = 0; i < mine.blocks.size(); ++i)
    ASSERT_EQ(0, std::memcmp(&mine.blocks[i], &theirs.blocks[i], sizeof(QuantBlock))) << i;
  for (const uint32_t count : {1u, 11u, 40u})
    EXPECT_EQ(c.run(kernels(), mine, 0, count), c.run(scalar, theirs, 0, count)) << count;
}

// The greatest integers that a block can add up to, of either sign.
TEST_P(LinearTest, ExtremeWeightsAndActivationsOverflowNothing) {
  if (dtype_info(type()).block_elements == 1) return;
  const uint32_t n_in = widths().back(), n_out = 33;
  const KernelTable& scalar = **select_kernels("scalar");
  constexpr uint8_t kBytes[] = {0x00, 0x01, 0x7F, 0x80, 0x88, 0xF0, 0xFF};
  for (const uint8_t byte : kBytes) {
    Case c(type(), n_in, n_out, byte);
    Rows rows(20, n_in, kernels());
    for (uint32_t r = 0; r < rows.n; ++r) {
      float* x = &rows.f32[size_t{r} * n_in];
      for (uint32_t k = 0; k < n_in; ++k) x[k] = r == 0 || (r == 2 && k % 2 == 0) ? 1.0f : -1.0f;
      kernels().quantize_row(x, n_in, &rows.blocks[r * rows.n_blocks()]);
    }
    ASSERT_EQ(rows.blocks[0].q[0], 127);
    for (const uint32_t count : {1u, 20u})
      EXPECT_EQ(c.run(kernels(), rows, 0, count), c.run(scalar, rows, 0, count)) << int{byte};
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, LinearTest,
                         testing::Combine(testing::ValuesIn(available_tables()),
                                          testing::ValuesIn(kTypes)),
                         [](const auto& instance) {
                           return std::string(std::get<0>(instance.param)->name) + "_" +
                                  std::string(dtype_info(std::get<1>(instance.param)).name);
                         });

}  // namespace
}  // namespace tempo9::cpu
