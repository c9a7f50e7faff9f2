#include "gguf/split.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"
#include "gguf/gguf.h"
#include "gguf/test_writer.h"

namespace tempo9::gguf {
namespace {

// A folder with a model in three shards, as gguf-split writes them: all metadata in the first.
class SplitTest : public testing::Test {
 protected:
  void SetUp() override {
    for (uint16_t i = 0; i < 3; ++i) write(i + 1, shard(i).build());
  }

  static TestWriter shard(uint16_t no, uint16_t count = 3, int32_t n_tensors = 4) {
    TestWriter w;
    if (no == 0) w.string("general.architecture", "test").string("general.name", "three");
    w.u16("split.no", no).u16("split.count", count).i32("split.tensors.count", n_tensors);
    if (no == 0) return w.f32("a", 8, 0).f32("b", 8, 100);
    return w.f32(no == 1 ? "c" : "d", 8, 1000.0f * static_cast<float>(no));
  }
  std::string path(int number) const {
    return shard_path(folder_.file("model"), static_cast<uint64_t>(number), 3);
  }
  void write(int number, const std::vector<uint8_t>& bytes) const {
    std::ofstream out(path(number), std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }
  // Every shard given as the path is refused, with parts in the message.
  void expect_refused(ErrorCode code, const std::vector<std::string>& parts) const {
    for (int number = 1; number <= 3; ++number) {
      if (!std::filesystem::exists(path(number))) continue;
      auto file = File::open(path(number));
      ASSERT_FALSE(file.has_value()) << "opened by shard " << number;
      EXPECT_EQ(file.error().code, code) << file.error().message;
      for (const std::string& part : parts) {
        EXPECT_NE(file.error().message.find(part), std::string::npos) << file.error().message;
      }
    }
  }
  const TempFolder folder_;
};

TEST_F(SplitTest, OpensByAnyShard) {
  for (int number = 1; number <= 3; ++number) {
    auto file = File::open(path(number));
    ASSERT_TRUE(file.has_value()) << file.error().message;
    EXPECT_EQ(file->path(), path(number));
    EXPECT_EQ(file->shard_paths(), (std::vector<std::string>{path(1), path(2), path(3)}));
    EXPECT_EQ(file->get_string("general.name").value(), "three");
    ASSERT_EQ(file->tensors().size(), 4u);
    EXPECT_EQ(file->tensors()[3].name, "d");
    float first = 0;
    std::memcpy(&first, file->find_tensor("d")->data.data(), sizeof(first));
    EXPECT_EQ(first, 2000.0f);
    EXPECT_EQ(file->file_bytes(), std::filesystem::file_size(path(1)) +
                                      std::filesystem::file_size(path(2)) +
                                      std::filesystem::file_size(path(3)));
  }
}

TEST_F(SplitTest, NamesTheMissingShard) {
  std::filesystem::remove(path(2));
  expect_refused(ErrorCode::kNotFound,
                 {path(2) + ": shard 2 of 3 is missing; all 3 must lie beside"});
}

TEST_F(SplitTest, RefusesSwappedShards) {
  write(2, shard(2).build());
  write(3, shard(1).build());
  expect_refused(ErrorCode::kCorrupt, {"swapped, doubled or renamed"});
  auto file = File::open(path(1));
  EXPECT_EQ(
      file.error().message.rfind(path(2) + ": holds shard 3 of 3, expected shard 2 by its name", 0),
      0u)
      << file.error().message;
}

TEST_F(SplitTest, RefusesAShardThatIsThereTwice) {
  write(2, shard(0).build());
  auto file = File::open(path(1));
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find(path(2) + ": holds shard 1 of 3, expected shard 2"),
            std::string::npos);
}

TEST_F(SplitTest, RefusesShardsOfAnotherModel) {
  write(2, shard(1, 3, 40).build());
  expect_refused(ErrorCode::kCorrupt, {"of another model"});
  write(2, shard(1, 5).build());
  auto file = File::open(path(1));
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find("is of a model in 5 shards, expected 3"), std::string::npos)
      << file.error().message;
}

TEST_F(SplitTest, RefusesAShardWithOtherTensorsOrMetadata) {
  auto doubled = shard(1);
  doubled.tensors[0].name = "a";
  write(2, doubled.build());
  expect_refused(ErrorCode::kCorrupt, {path(2) + ": tensor \"a\" is also in " + path(1)});

  auto more = shard(1);
  more.f32("extra", 8);
  write(2, more.build());
  expect_refused(ErrorCode::kCorrupt,
                 {"have 5 tensors together, expected 4 (split.tensors.count)"});

  auto other = shard(1);
  other.string("general.name", "other");
  write(2, other.build());
  expect_refused(ErrorCode::kCorrupt,
                 {path(2) + ": metadata \"general.name\" differs from that in " + path(1)});
}

TEST_F(SplitTest, RefusesAWholeModelInAShardsPlace) {
  TestWriter whole;
  write(2, whole.f32("c", 8).build());
  auto file = File::open(path(1));
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find(path(2) + ": is a whole model, expected shard 2 of 3"),
            std::string::npos);
}

TEST_F(SplitTest, RefusesARenamedShard) {
  const std::string renamed = folder_.file("renamed.gguf");
  std::filesystem::copy_file(path(2), renamed);
  auto file = File::open(renamed);
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find(
                "holds shard 2 of 3, expected a name that ends in \"-00002-of-00003.gguf\""),
            std::string::npos)
      << file.error().message;
}

TEST_F(SplitTest, RefusesADamagedShardByItsName) {
  auto bytes = shard(2).build();
  bytes.resize(bytes.size() - 5);
  write(3, bytes);
  expect_refused(ErrorCode::kCorrupt, {path(3) + ": tensor \"d\"", "cut short"});
}

TEST_F(SplitTest, RefusesAbsurdSplitKeys) {
  const auto with = [](auto&& fill) {
    TestWriter w;
    fill(w);
    return File::from_bytes(w.f32("a", 8).build(), "x.gguf");
  };
  auto no_number = with([](TestWriter& w) { w.u16("split.count", 3); });
  ASSERT_FALSE(no_number.has_value());
  EXPECT_EQ(no_number.error().message, "x.gguf: has split.count but no split.no");
  auto outside = with([](TestWriter& w) {
    w.u16("split.count", 3).u16("split.no", 3).i32("split.tensors.count", 1);
  });
  ASSERT_FALSE(outside.has_value());
  EXPECT_NE(outside.error().message.find("split.no is 3, expected less than split.count"),
            std::string::npos);
  auto huge = with([](TestWriter& w) { w.u32("split.count", UINT32_MAX); });
  ASSERT_FALSE(huge.has_value());
  EXPECT_NE(huge.error().message.find("split.count is 4294967295, expected at most 99999"),
            std::string::npos);
  auto text = with([](TestWriter& w) { w.string("split.count", "3"); });
  ASSERT_FALSE(text.has_value());
  EXPECT_NE(text.error().message.find("split.count is a value of kind string"), std::string::npos);
  auto memory = with([](TestWriter& w) {
    w.u16("split.count", 2).u16("split.no", 0).i32("split.tensors.count", 1);
  });
  ASSERT_FALSE(memory.has_value());
  EXPECT_EQ(memory.error().code, ErrorCode::kUnsupported);
}

TEST_F(SplitTest, AMergedFileIsWhole) {
  TestWriter w;
  w.u16("split.count", 0).u16("split.no", 0).i32("split.tensors.count", 4).f32("a", 8);
  EXPECT_TRUE(File::from_bytes(w.build()).has_value());
}

TEST(ShardName, IsReadAndWritten) {
  const auto name = parse_shard_name("/x/m-00002-of-00013.gguf");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->prefix, "/x/m");
  EXPECT_EQ(name->number, 2u);
  EXPECT_EQ(name->count, 13u);
  EXPECT_EQ(shard_path(name->prefix, 13, 13), "/x/m-00013-of-00013.gguf");
  for (const char* other :
       {"m.gguf", "m-0002-of-00013.gguf", "m-00002-of-00013.GGUF", "m-0000x-of-00013.gguf", "",
        "m-00002-of-000013.gguf", "-of-.gguf", "m_00002-of-00013.gguf"}) {
    EXPECT_FALSE(parse_shard_name(other).has_value()) << other;
  }
}

}  // namespace
}  // namespace tempo9::gguf
