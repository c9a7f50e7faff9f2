// Every way in which a file can be wrong, and what is said about it.
#include "gguf/parse.h"

#include <gtest/gtest.h>

#include <ctime>
#include <functional>

#include "gguf/gguf.h"
#include "gguf/test_writer.h"

namespace tempo9::gguf {
namespace {

struct Corruption {
  std::string name;
  std::function<std::vector<uint8_t>()> build;
  ErrorCode code = ErrorCode::kCorrupt;
  std::string message;  // a part of it
};

TestWriter small() {
  TestWriter w;
  return w.string("general.architecture", "test").f32("a", 8).f32("b", 8);
}

TestTensor q4_0(std::string name, std::vector<uint64_t> dims) {
  return {std::move(name), std::move(dims), 2, std::vector<uint8_t>(18, 0), {}, {}};
}

std::vector<uint8_t> with_alignment(uint32_t alignment) {
  return TestWriter().u32("general.alignment", alignment).f32("a", 8).build();
}

std::vector<uint8_t> first_bytes(size_t n) {
  std::vector<uint8_t> bytes = small().build();
  bytes.resize(n);
  return bytes;
}

std::vector<uint8_t> with_type(uint32_t type) {
  return TestWriter().tensor({"w", {256}, type, std::vector<uint8_t>(512), {}, {}}).build();
}

std::vector<Corruption> corruptions() {
  constexpr ErrorCode kBad = ErrorCode::kCorrupt;
  constexpr ErrorCode kNo = ErrorCode::kUnsupported;
  return {
      // The header
      {"empty", [] { return std::vector<uint8_t>(); }, kBad, "the magic needs 4 bytes at byte 0"},
      {"magic",
       [] {
         auto w = small();
         w.magic = "PK\x03\x04";
         return w.build();
       },
       kBad, "a zip archive"},
      {"ggml",
       [] {
         auto w = small();
         w.magic = "tjgg";
         return w.build();
       },
       kBad, "an old GGML file"},
      {"lfs",
       [] {
         auto w = small();
         w.magic = "vers";
         return w.build();
       },
       kBad, "Git LFS pointer"},
      {"no_version", [] { return first_bytes(6); }, kBad, "the version needs 4 bytes"},
      {"v1",
       [] {
         auto w = small();
         w.version = 1;
         return w.build();
       },
       kNo, "is GGUF version 1, expected 2 or 3"},
      {"v4",
       [] {
         auto w = small();
         w.version = 4;
         return w.build();
       },
       kNo, "use a newer Tempo9"},
      {"v0",
       [] {
         auto w = small();
         w.version = 0;
         return w.build();
       },
       kNo, "is GGUF version 0"},
      {"big_endian",
       [] {
         auto w = small();
         w.version = 0x03000000;
         return w.build();
       },
       kNo, "is big-endian"},
      {"tensor_count",
       [] {
         auto w = small();
         w.tensor_count = UINT64_MAX;
         return w.build();
       },
       kBad, "the tensor count is 18446744073709551615, expected at most"},
      {"metadata_count",
       [] {
         auto w = small();
         w.metadata_count = 1ull << 40;
         return w.build();
       },
       kBad, "the metadata count is 1099511627776, expected at most"},
      {"one_tensor_more",
       [] {
         auto w = small();
         w.tensor_count = 3;
         return w.build();
       },
       kBad, "a tensor name"},
      {"one_key_more",
       [] {
         auto w = small();
         w.metadata_count = 2;
         return w.build();
       },
       kBad, "a tensor name at byte 82 is empty"},
      {"cut_in_counts", [] { return first_bytes(20); }, kBad, "the metadata count needs 8 bytes"},

      // Metadata
      {"cut_in_key", [] { return first_bytes(40); }, kBad,
       "the tensor count is 2, expected at most 0 (the file has no room for more: it is cut short"},
      {"long_key", [] { return small().u32(std::string(2000, 'k'), 1).build(); }, kBad,
       "2000 bytes, expected at most"},
      {"empty_key", [] { return small().u32("", 1).build(); }, kBad, "a metadata key at byte"},
      {"nul_in_key", [] { return small().u32(std::string("a\0b", 3), 1).build(); }, kBad,
       "a\\x00b"},
      {"key_not_utf8", [] { return small().u32("caf\xE9", 1).build(); }, kBad,
       "caf\\xE9\", expected UTF-8"},
      {"key_twice", [] { return small().u32("x", 1).u32("y", 2).u32("x", 1).build(); }, kBad,
       "\"x\" occurs twice"},
      {"kind",
       [] {
         return small().value("x", static_cast<Kind>(13), Bytes().number<uint32_t>(0)).build();
       },
       kBad, "the kind of a value at byte 77 is 13, expected 0 to 12 (in metadata \"x\")"},
      {"bool", [] { return small().value("x", Kind::kBool, Bytes().number<uint8_t>(2)).build(); },
       kBad, "is 2, expected 0 or 1 (in metadata \"x\")"},
      {"bool_in_array",
       [] { return small().array("x", numbers<uint8_t>(Kind::kBool, {0, 1, 9})).build(); }, kBad,
       "is 9, expected 0 or 1"},
      {"string_length",
       [] {
         return TestWriter()
             .value("x", Kind::kString, Bytes().number<uint64_t>(1ull << 63))
             .build();
       },
       kBad, "a string needs 9223372036854775808 bytes"},
      {"array_count",
       [] {
         return small().array("x", Bytes().kind(Kind::kU8).number<uint64_t>(UINT64_MAX)).build();
       },
       kBad, "has 18446744073709551615 elements of kind u8, expected at most"},
      {"array_product_wraps",
       [] {
         return small()
             .array("x", Bytes().kind(Kind::kF64).number<uint64_t>((1ull << 61) + 1))
             .build();
       },
       kBad, "has 2305843009213693953 elements of kind f64"},
      {"array_of_strings_count",
       [] {
         return small()
             .array("x", Bytes().kind(Kind::kString).number<uint64_t>(1ull << 32))
             .build();
       },
       kBad, "has 4294967296 elements of kind string"},
      {"array_kind",
       [] { return small().array("x", Bytes().number<uint32_t>(99).number<uint64_t>(0)).build(); },
       kBad, "the kind of an array's elements at byte"},
      {"depth_bomb",
       [] {
         Bytes bomb;
         for (int i = 0; i < 10'000; ++i) bomb.kind(Kind::kArray).number<uint64_t>(1);
         return small().array("x", bomb.kind(Kind::kU8).number<uint64_t>(0)).build();
       },
       kBad, "is nested deeper than 4 levels (in metadata \"x\")"},

      // Alignment (a wrong one of ours must end in an error, whatever its kind)
      {"alignment_0", [] { return with_alignment(0); }, kBad,
       "general.alignment is 0, expected a power of two"},
      {"alignment_3", [] { return with_alignment(3); }, kBad,
       "general.alignment is 3, expected a power of two"},
      {"alignment_4", [] { return with_alignment(4); }, kBad, "general.alignment is 4, expected"},
      {"alignment_2_31", [] { return with_alignment(1u << 31); }, kBad,
       "general.alignment is 2147483648, expected"},
      {"alignment_max", [] { return with_alignment(UINT32_MAX); }, kBad,
       "general.alignment is 4294967295"},
      {"alignment_string",
       [] { return TestWriter().string("general.alignment", "32").f32("a", 8).build(); }, kBad,
       "general.alignment is of kind string, expected u32"},
      {"alignment_u64",
       [] {
         return TestWriter()
             .value("general.alignment", Kind::kU64, Bytes().number<uint64_t>(32))
             .build();
       },
       kBad, "general.alignment is of kind u64, expected u32"},
      {"alignment_64_laid_out_by_32",
       [] { return TestWriter().u32("general.alignment", 64).f32("a", 8).f32("b", 8).build(); },
       kBad, "tensor \"b\" has offset 32, expected a multiple of the alignment 64"},

      // Tensors
      {"no_dims", [] { return TestWriter().tensor({"w", {}, 0, {}, {}, {}}).f32("a", 8).build(); },
       kBad, "tensor \"w\" has 0 dimensions, expected 1 to 4"},
      {"five_dims",
       [] { return TestWriter().tensor({"w", {1, 1, 1, 1, 1}, 0, {}, {}, {}}).build(); }, kBad,
       "tensor \"w\" has 5 dimensions"},
      {"many_dims", [] { return TestWriter().tensor({"w", {1}, 0, {}, {}, UINT32_MAX}).build(); },
       kBad, "tensor \"w\" has 4294967295 dimensions"},
      {"zero_dim", [] { return TestWriter().tensor({"w", {8, 0}, 0, {}, {}, {}}).build(); }, kBad,
       "tensor \"w\": dimension 1 is 0, expected"},
      {"negative_dim",
       [] { return TestWriter().tensor({"w", {UINT64_MAX}, 0, {}, {}, {}}).build(); }, kBad,
       "tensor \"w\": dimension 0 is -1, expected"},
      {"dims_wrap",
       [] {
         return TestWriter().tensor({"w", {1ull << 32, 1ull << 32, 1, 1}, 0, {}, {}, {}}).build();
       },
       kBad,
       "tensor \"w\": the product of its dimensions [4294967296, 4294967296, 1, 1] overflows"},
      {"dims_wrap_to_little",
       [] { return TestWriter().tensor({"w", {3, 0xAAAAAAAAAAAAAABull}, 24, {}, {}, {}}).build(); },
       kBad, "tensor \"w\""},
      {"bytes_wrap", [] { return TestWriter().tensor({"w", {1ull << 62}, 0, {}, {}, {}}).build(); },
       kBad, "tensor \"w\": the product of its dimensions [4611686018427387904] overflows"},
      {"partial_block", [] { return TestWriter().tensor(q4_0("w", {33})).build(); }, kBad,
       "rows have 33 elements, expected a multiple of 32, the block of Q4_0"},
      {"rows_of_half_blocks", [] { return TestWriter().tensor(q4_0("w", {16, 2})).build(); }, kBad,
       "rows have 16 elements"},
      {"unknown_type", [] { return with_type(77); }, kNo,
       "tensor \"w\" has type 77, which this build does not know"},
      {"type_max", [] { return with_type(UINT32_MAX); }, kNo, "has type 4294967295"},
      {"removed_q4_2", [] { return with_type(4); }, kNo,
       "has type Q4_2, which was removed from GGUF"},
      {"removed_q4_0_4_4", [] { return with_type(31); }, kNo,
       "has type Q4_0_4_4, which was removed from GGUF: use a file"},
      {"removed_iq4_nl_4_4", [] { return with_type(36); }, kNo, "such as IQ4_NL"},
      {"q8_k", [] { return with_type(15); }, kNo,
       "has type Q8_K, which is for intermediate results only"},
      {"name_twice", [] { return TestWriter().f32("a", 8).f32("b", 8).f32("a", 8).build(); }, kBad,
       "tensor \"a\" occurs twice"},
      {"nul_name", [] { return TestWriter().f32(std::string("a\0", 2), 8).build(); }, kBad,
       "a tensor name at byte 24 is \"a\\x00\""},
      {"name_not_utf8", [] { return TestWriter().f32("\xFF", 8).build(); }, kBad,
       "a tensor name at byte 24 is \"\\xFF\""},
      {"empty_name", [] { return TestWriter().f32("", 8).build(); }, kBad,
       "a tensor name at byte 24 is empty"},
      {"odd_offset",
       [] { return TestWriter().tensor({"w", {4}, 0, std::vector<uint8_t>(16), 1, {}}).build(); },
       kBad, "tensor \"w\" has offset 1, expected a multiple of the alignment 32"},
      {"far_offset",
       [] {
         return TestWriter()
             .tensor({"w", {4}, 0, std::vector<uint8_t>(16), 1ull << 40, {}})
             .build();
       },
       kBad, "tensor \"w\" needs 16 bytes from byte 1099511627840 on, but the file has 96 bytes"},
      {"offset_wraps",
       [] {
         return TestWriter().tensor({"w", {4}, 0, std::vector<uint8_t>(16), ~31ull, {}}).build();
       },
       kBad, "tensor \"w\" needs 16 bytes"},
      {"overlap",
       [] {
         return TestWriter()
             .f32("a", 16)
             .tensor({"b", {8}, 0, std::vector<uint8_t>(32), 32, {}})
             .build();
       },
       kBad, "tensors \"a\" (bytes 96 to 160) and \"b\" (from byte 128) overlap"},
      {"same_place",
       [] {
         return TestWriter()
             .f32("a", 8)
             .tensor({"b", {8}, 0, std::vector<uint8_t>(32), 0, {}})
             .build();
       },
       kBad, "overlap"},

      // The size of the file
      {"cut_in_data",
       [] {
         auto b = small().build();
         b.resize(b.size() - 1);
         return b;
       },
       kBad,
       "tensor \"b\" needs 32 bytes from byte 192 on, but the file has 223 bytes: it is cut short"},
      {"no_data",
       [] {
         auto b = small().build();
         b.resize(b.size() - 64);
         return b;
       },
       kBad, "the file has 160 bytes"},
      {"grown",
       [] {
         auto b = small().build();
         b.resize(b.size() + 1);
         return b;
       },
       kBad, "has 225 bytes, expected 224: 1 bytes too many after the last tensor"},
      {"grown_much",
       [] {
         auto b = small().build();
         b.resize(b.size() + 100'000);
         return b;
       },
       kBad, "100000 bytes too many"},
      {"grown_without_tensors",
       [] {
         auto b = TestWriter().u32("x", 1).build();
         b.resize(b.size() + 64);
         return b;
       },
       kBad, "after the metadata, and no tensors"},
      {"grown_behind_unpadded",
       [] {
         TestWriter w;
         w.pad_end = false;
         auto b = w.f32("a", 5).build();
         b.resize(b.size() + 13);
         return b;
       },
       kBad, "1 bytes too many"},
  };
}

class CorruptionTest : public testing::TestWithParam<Corruption> {};

TEST_P(CorruptionTest, IsRefusedWithWhatWasFound) {
  const std::vector<uint8_t> bytes = GetParam().build();
  const std::clock_t begin = std::clock();
  auto file = File::from_bytes(bytes, "bad.gguf");
  const double cpu_ms = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code, GetParam().code);
  EXPECT_EQ(file.error().message.rfind("bad.gguf: ", 0), 0u) << file.error().message;
  EXPECT_NE(file.error().message.find(GetParam().message), std::string::npos)
      << file.error().message;
  EXPECT_LT(cpu_ms, 100);
}

INSTANTIATE_TEST_SUITE_P(All, CorruptionTest, testing::ValuesIn(corruptions()),
                         [](const auto& param) { return param.param.name; });

TEST(Parse, EveryPrefixOfAFileIsRefused) {
  // Without padding at the end there is no byte that could be missing.
  TestWriter w = rich_file();
  w.pad_end = false;
  const std::vector<uint8_t> whole = w.build();
  ASSERT_TRUE(File::from_bytes(whole).has_value());
  for (size_t n = 0; n < whole.size(); ++n) {
    auto file = File::from_bytes({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(n)});
    ASSERT_FALSE(file.has_value()) << n << " of " << whole.size() << " bytes";
  }
}

TEST(Parse, PaddingAtTheEndMayBeThereOrNot) {
  TestWriter w;
  w.f32("a", 5);
  ASSERT_TRUE(File::from_bytes(w.build()).has_value());
  w.pad_end = false;
  auto file = File::from_bytes(w.build());
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->tensors()[0].data.size(), 20u);
}

TEST(Parse, TakesTensorsInAnyOrderAndWithGaps) {
  TestWriter w;
  w.tensor({"late", {8}, 0, std::vector<uint8_t>(32, 1), 64, {}});
  w.tensor({"early", {8}, 0, std::vector<uint8_t>(64, 2), 0, {}});
  auto file = File::from_bytes(w.build());
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->find_tensor("early")->data.data() + 64, file->find_tensor("late")->data.data());
}

TEST(Parse, LaysOutByTheFilesAlignment) {
  for (uint32_t alignment : {8u, 16u, 64u, 4096u}) {
    TestWriter w;
    w.alignment = alignment;
    w.u32("general.alignment", alignment).f32("a", 3, 1).f32("b", 3, 11);
    auto file = File::from_bytes(w.build());
    ASSERT_TRUE(file.has_value()) << file.error().message;
    float first = 0;
    std::memcpy(&first, file->find_tensor("b")->data.data(), sizeof(first));
    EXPECT_EQ(first, 11.0f) << alignment;
  }
}

}  // namespace
}  // namespace tempo9::gguf
