#include "engine/bench_parts.h"

#include <gtest/gtest.h>

namespace tempo9::engine {
namespace {

TEST(BenchParts, LayersAreSummedTheLongestFirst) {
  ops::Program program;
  static const std::vector<uint8_t> bytes(64 * 64 * 4);
  const auto matrix = [&](std::string name, uint32_t n_out) {
    return program.add_matrix({std::move(name), DType::kF32, 64, n_out, bytes});
  };
  ops::TensorId x = program.embed(matrix("token_embd.weight", 64), 1.0f);
  for (int layer = 0; layer < 2; ++layer) {
    const std::string at = "blk." + std::to_string(layer) + ".";
    const ops::TensorId gate_up =
        program.linear(x, {matrix(at + "ffn_gate.weight", 32), matrix(at + "ffn_up.weight", 32)});
    const ops::TensorId gated = program.gated_activation(gate_up, ops::Activation::kSilu);
    ops::TensorId wide = program.linear(
        gated, {program.add_matrix({at + "ffn_down.weight", DType::kF32, 32, 64, bytes})});
    x = wide;
  }
  program.head(program.select_rows(x), matrix("output.weight", 64));
  // embedding; (gate+up, activation, down) twice; choice of rows; head
  const std::vector<double> seconds = {0.5, 3, 1, 2, 4, 1, 0.25, 0, 6};
  const std::vector<BenchPart> parts = bench_parts(program, seconds);
  std::string text;
  for (const BenchPart& part : parts) text += part.name + "=" + std::to_string(part.seconds) + " ";
  EXPECT_EQ(text,
            "ffn_gate+ffn_up=7.000000 head=6.000000 ffn_down=2.250000 activation=2.000000 "
            "embedding=0.500000 ");
}

}  // namespace
}  // namespace tempo9::engine
