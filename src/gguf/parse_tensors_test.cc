#include <gtest/gtest.h>

#include "gguf/gguf.h"
#include "gguf/test_writer.h"

namespace tempo9::gguf {
namespace {

TEST(ParseTensors, DataIsExactlyTheTensorsBytes) {
  // Sizes from the block tables in ggml: rows of blocks, no padding between them.
  struct Case {
    uint32_t type;
    std::vector<uint64_t> dims;
    size_t bytes;
  };
  const std::vector<Case> cases = {
      {0, {7}, 28},         {1, {3, 2}, 12}, {2, {64, 3}, 108},       {12, {256, 2}, 288},
      {14, {512}, 420},     {30, {5}, 10},   {28, {2, 2, 2, 2}, 128}, {24, {3}, 3},
      {39, {32, 1, 5}, 85}, {40, {64}, 36},  {41, {128}, 18},         {9, {32}, 36}};
  TestWriter w;
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto fill = static_cast<uint8_t>(i + 1);
    w.tensor({fmt::format("t{}", i),
              cases[i].dims,
              cases[i].type,
              std::vector<uint8_t>(cases[i].bytes, fill),
              {},
              {}});
  }
  auto file = File::from_bytes(w.build());
  ASSERT_TRUE(file.has_value()) << file.error().message;
  ASSERT_EQ(file->tensors().size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    const Tensor& tensor = file->tensors()[i];
    EXPECT_EQ(static_cast<uint32_t>(tensor.type), cases[i].type);
    EXPECT_EQ(tensor.n_dims, cases[i].dims.size());
    for (size_t d = 0; d < 4; ++d)
      EXPECT_EQ(tensor.ne[d], d < cases[i].dims.size() ? cases[i].dims[d] : 1);
    ASSERT_EQ(tensor.data.size(), cases[i].bytes) << dtype_info(tensor.type).name;
    for (uint8_t byte : tensor.data) ASSERT_EQ(byte, i + 1);
  }
}

TEST(ParseTensors, ElementsOfTheLargestShapeThatFits) {
  // 2^62 bytes: the product is fine, the file is not.
  TestWriter w;
  w.tensor({"huge", {1ull << 31, 1ull << 31}, 24, {}, {}, {}});
  auto file = File::from_bytes(w.build());
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find("needs 4611686018427387904 bytes"), std::string::npos)
      << file.error().message;
}

TEST(ParseTensors, ZeroCountDirectory) {
  auto file = File::from_bytes(TestWriter().build());
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_TRUE(file->tensors().empty());
  EXPECT_TRUE(file->metadata().empty());
  EXPECT_EQ(file->find_tensor("x"), nullptr);
}

}  // namespace
}  // namespace tempo9::gguf
