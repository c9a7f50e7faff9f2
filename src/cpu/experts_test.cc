// Experts on the CPU: the choice of experts on every table against its definition, then whole
// programs against the interpreter and, bit for bit, against themselves in every cut.
#include "cpu/experts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "cpu/cpu.h"
#include "cpu/test_program.h"
#include "ops/ref/interpreter.h"

namespace tempo9::cpu {
namespace {

TEST(ExpertPlaces, NeighboursShareAnExpertAndKeepTheirRowsOrder) {
  // Rows choose 2 of 4: (3, 0), (1, 3), (3, 1).
  const float routes[] = {.5f, .5f, 3, 0, .9f, .1f, 1, 3, .7f, .3f, 3, 1};
  ExpertPlaces places;
  places.sort(routes, 3, 2, 4);
  ASSERT_EQ(places.runs().size(), 3u) << "expert 2 has no rows";
  EXPECT_EQ(places.runs()[0].expert, 0u);
  EXPECT_EQ(places.runs()[1].expert, 1u);
  EXPECT_EQ(places.runs()[1].first_place, 1u);
  EXPECT_EQ(places.runs()[2].n_places, 3u);
  const std::vector<uint32_t> rows(places.rows().begin(), places.rows().end());
  EXPECT_EQ(rows, (std::vector<uint32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(places.place(0, 0), 3u);
  EXPECT_EQ(places.place(2, 1), 2u);
}

class ExpertsTest : public testing::TestWithParam<const KernelTable*> {
 protected:
  // Weights, then experts.
  static std::vector<float> route(const KernelTable& kernels, const std::vector<float>& logits,
                                  RouteArgs args) {
    std::vector<float> scratch(route_scratch_floats(static_cast<uint32_t>(logits.size())));
    std::vector<float> out(size_t{2} * args.n_used);
    args.logits = logits.data();
    args.n_experts = static_cast<uint32_t>(logits.size());
    args.scratch = scratch.data();
    args.out = out.data();
    kernels.route(args);
    return out;
  }
};

TEST_P(ExpertsTest, SoftmaxOverAllExpertsOrOverTheChosen) {
  // 19 experts: more than a vector, no multiple of one.
  std::vector<float> logits(19, 0.0f);
  logits[17] = std::log(4.0f);
  logits[3] = std::log(2.0f);
  const auto all = route(*GetParam(), logits, {.n_used = 2, .scale = 3.0f});
  EXPECT_EQ(all[2], 17.0f);
  EXPECT_EQ(all[3], 3.0f);
  EXPECT_NEAR(all[0], 3.0f * 4 / 23, 1e-6f);
  EXPECT_NEAR(all[1], 3.0f * 2 / 23, 1e-6f);
  const auto divided = route(*GetParam(), logits, {.n_used = 2, .normalise = true});
  EXPECT_NEAR(divided[0], 2.0f / 3, 1e-6f);
  const auto chosen =
      route(*GetParam(), logits, {.gating = ops::Gating::kSoftmaxOfChosen, .n_used = 2});
  EXPECT_NEAR(chosen[1], 1.0f / 3, 1e-6f);
}

TEST_P(ExpertsTest, EqualScoresGoToTheLowerNumber) {
  const auto out = route(*GetParam(), std::vector<float>(40, 1.5f), {.n_used = 3});
  EXPECT_EQ((std::vector<float>{out[3], out[4], out[5]}), (std::vector<float>{0, 1, 2}));
}

TEST_P(ExpertsTest, ABiasMovesTheChoiceAndNotTheWeight) {
  const std::vector<float> logits = {0, 1, 2, 3}, bias = {1, 0, 0, -1};
  const auto out = route(*GetParam(), logits,
                         {.gating = ops::Gating::kSigmoid, .n_used = 2, .bias = bias.data()});
  EXPECT_EQ(out[2], 0.0f);  // 1.5; the others have 0.73, 0.88 and -0.05
  EXPECT_EQ(out[3], 2.0f);
  EXPECT_NEAR(out[0], 0.5f, 1e-6f);
  EXPECT_NEAR(out[1], 0.880797f, 1e-6f);
}

TEST_P(ExpertsTest, OnlyExpertsOfTheBestGroupsAreChosen) {
  // Pairs' sums: 0.9, 0.7, 0.9, 0.95 of sigmoids in that order; the first of the equal ones wins.
  const auto logit = [](double p) { return static_cast<float>(std::log(p / (1 - p))); };
  const std::vector<float> logits = {logit(.89), logit(.01), logit(.35), logit(.35),
                                     logit(.89), logit(.01), logit(.47), logit(.48)};
  const auto out =
      route(*GetParam(), logits,
            {.gating = ops::Gating::kSigmoid, .n_used = 3, .n_groups = 4, .n_groups_used = 2});
  EXPECT_EQ((std::vector<float>{out[3], out[4], out[5]}), (std::vector<float>{0, 7, 6}));
}

TEST_P(ExpertsTest, AGroupMayBeAsGoodAsItsBestExpert) {
  // Pairs' best: 0.3, 0.11, 0.05, 0.2; their sums would choose the first two pairs.
  const std::vector<float> logits = {std::log(.3f),  std::log(.05f), std::log(.11f), std::log(.11f),
                                     std::log(.05f), std::log(.05f), std::log(.2f),  -40.0f};
  const auto two = route(*GetParam(), logits, {.n_used = 3, .n_groups = 4, .n_groups_used = 2});
  EXPECT_EQ((std::vector<float>{two[3], two[4], two[5]}), (std::vector<float>{0, 2, 3}));
  const auto one = route(*GetParam(), logits,
                         {.n_used = 3, .n_groups = 4, .n_groups_used = 2, .n_group_best = 1});
  EXPECT_EQ((std::vector<float>{one[3], one[4], one[5]}), (std::vector<float>{0, 6, 1}));
}

TEST_P(ExpertsTest, NoNumbersStillGiveExperts) {
  const auto out = route(*GetParam(), std::vector<float>(16, std::nanf("")), {.n_used = 4});
  std::vector<float> experts(out.begin() + 4, out.end());
  std::sort(experts.begin(), experts.end());
  EXPECT_EQ(std::unique(experts.begin(), experts.end()), experts.end());
  EXPECT_LT(experts.back(), 16.0f);
}

TEST_P(ExpertsTest, EveryTableChoosesAlike) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  for (const auto gating :
       {ops::Gating::kSoftmax, ops::Gating::kSigmoid, ops::Gating::kSoftmaxOfChosen}) {
    std::vector<float> logits(60), bias(60);
    for (float& x : logits) x = 3 * normal(random);
    for (float& x : bias) x = 0.1f * normal(random);
    const RouteArgs args{.gating = gating,
                         .n_used = 6,
                         .bias = bias.data(),
                         .n_groups = 6,
                         .n_groups_used = 3,
                         .normalise = true,
                         .scale = 2.5f};
    EXPECT_EQ(route(*GetParam(), logits, args), route(**select_kernels("scalar"), logits, args));
  }
}

// One layer of 9 experts of which 3 are used, with biases, behind an embedding.
struct ExpertsToy {
  ops::Program program;
  std::vector<std::vector<uint8_t>> bytes;

  explicit ExpertsToy(DType type, ops::Activation activation = ops::Activation::kSilu) {
    constexpr uint32_t kWidth = 256, kInner = 256, kExperts = 9, kVocab = 50;
    bytes.reserve(16);
    const auto matrix = [&](uint32_t n_in, uint32_t n_out, DType t, uint32_t n_experts = 1) {
      const auto size = 1.5f / std::sqrt(static_cast<float>(n_in));
      bytes.push_back(
          random_weights(t, n_in, n_out * n_experts, size, static_cast<uint32_t>(bytes.size())));
      return program.add_matrix({"m", t, n_in, n_out, bytes.back(), 1.25f, n_experts});
    };
    const auto ramp = [&](uint32_t n) {
      std::vector<float> values(n);
      for (uint32_t i = 0; i < n; ++i) values[i] = 0.01f * static_cast<float>(i % 17);
      return program.add_vector(values);
    };
    const auto ones = program.add_vector(std::vector<float>(kWidth, 1.0f));
    const auto x = program.embed(matrix(kWidth, kVocab, DType::kF32), 2.0f);
    const auto h = program.rms_norm(x, ones, 1e-5f);
    const auto logits = program.linear(h, {matrix(kWidth, kExperts, DType::kF32)});
    std::vector<float> scales(kExperts);
    for (uint32_t e = 0; e < kExperts; ++e) scales[e] = 0.6f + 0.1f * static_cast<float>(e);
    const auto routes = program.route({.logits = logits,
                                       .gating = ops::Gating::kSigmoid,
                                       .n_used = 3,
                                       .normalise = true,
                                       .scales = program.add_vector(scales)});
    // Gate and up of different kinds, so that rows are wanted in both forms.
    const DType other = type == DType::kF32 ? DType::kF16 : type;
    const auto gate_up = program.expert_linear(
        h, routes,
        {matrix(kWidth, kInner, type, kExperts), matrix(kWidth, kInner, other, kExperts)},
        ramp(kExperts * 2 * kInner));
    const auto inner = program.gated_activation(gate_up, activation);
    program.add_expert_sum(
        x,
        program.expert_linear(inner, routes, {matrix(kInner, kWidth, type, kExperts)},
                              ramp(kExperts * kWidth)),
        routes);
    program.head(program.rms_norm(program.select_rows(x), ones, 1e-5f),
                 matrix(kWidth, kVocab, DType::kF32));
  }
};

std::vector<float> run(const ops::Program& program, const KernelTable& table, uint32_t n_threads,
                       const std::vector<int32_t>& tokens, uint32_t slice) {
  auto backend = make_backend(program, {.n_threads = n_threads,
                                        .max_rows = 64,
                                        .max_logit_rows = 64,
                                        .max_pages = 4,
                                        .kv_type = ops::KvType::kF32,
                                        .isa = table.name});
  EXPECT_TRUE(backend) << backend.error().message;
  const std::vector<ops::PageId> pages{0, 1};
  return run_in_slices(**backend, tokens, pages, slice);
}

std::vector<int32_t> tokens_of(size_t n) {
  std::vector<int32_t> tokens(n);
  for (size_t i = 0; i < n; ++i) tokens[i] = static_cast<int32_t>(i * 7 % 50);
  return tokens;
}

TEST_P(ExpertsTest, ALayerAgreesWithTheInterpreter) {
  const auto tokens = tokens_of(5);
  for (const DType type : {DType::kF32, DType::kMXFP4, DType::kQ2_K}) {
    const ExpertsToy toy(
        type, type == DType::kMXFP4 ? ops::Activation::kClampedSwiglu : ops::Activation::kSilu);
    const auto want = ops::interpret(toy.program, tokens);
    const auto got = run(toy.program, *GetParam(), 2, tokens, 64);
    double squares = 0, errors = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const double w = want[i / 50][i % 50], error = w - static_cast<double>(got[i]);
      squares += w * w;
      errors += error * error;
    }
    EXPECT_LT(std::sqrt(errors / squares), type == DType::kF32 ? 1e-5 : 0.03)
        << dtype_info(type).name;
  }
}

TEST_P(ExpertsTest, BitsDoNotDependOnRowsThreadsOrTable) {
  const auto tokens = tokens_of(24);
  for (const DType type : {DType::kF16, DType::kMXFP4, DType::kQ2_K}) {
    const ExpertsToy toy(type);
    const auto want = run(toy.program, *GetParam(), 1, tokens, 64);
    for (const uint32_t slice : {1u, 17u})
      ASSERT_EQ(run(toy.program, *GetParam(), 3, tokens, slice), want) << slice;
    ASSERT_EQ(run(toy.program, **select_kernels("scalar"), 1, tokens, 64), want);
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, ExpertsTest, testing::ValuesIn(available_tables()),
                         [](const auto& instance) { return std::string(instance.param->name); });

}  // namespace
}  // namespace tempo9::cpu
