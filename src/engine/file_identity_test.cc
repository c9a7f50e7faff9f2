// Expected values: Python's xxhash, xxh3_128_hexdigest.
#include "engine/file_identity.h"

#include <gtest/gtest.h>

#include "base/testing/temp_folder.h"

namespace tempo9::engine {
namespace {

TEST(FileIdentity, IsTheHashOfAllBytesInOrder) {
  const TempFolder folder;
  const std::string a = folder.write("a", "hello "), b = folder.write("b", "world");
  EXPECT_EQ(*hash_files({a, b}), "df8d09e93f874900a99b8775cc15b6c7");
  EXPECT_EQ(*hash_files({folder.write("c", "hello world")}), *hash_files({a, b}));
  EXPECT_NE(*hash_files({b, a}), *hash_files({a, b}));
  EXPECT_EQ(*hash_files({folder.write("empty", "")}), "99aa06d3014798d86001c324468d497f");
}

TEST(FileIdentity, OtherRotationsAreAnotherModel) {
  const std::vector<ops::Rope> plain = {{.inv_freq = {1.0, 0.1}}};
  EXPECT_EQ(hash_ropes(plain), hash_ropes({{.inv_freq = {1.0, 0.1}}}));
  EXPECT_NE(hash_ropes(plain), hash_ropes({{.inv_freq = {1.0, 0.05}}}));
  EXPECT_NE(hash_ropes(plain), hash_ropes({{.inv_freq = {1.0, 0.1}, .magnitude = 1.5f}}));
}

TEST(FileIdentity, IsLeftUndoneWhenNobodyWaitsForIt) {
  std::stop_source stop;
  stop.request_stop();
  const auto hash = hash_files({"/dev/zero"}, stop.get_token());  // would never end
  ASSERT_FALSE(hash);
  EXPECT_EQ(hash.error().code, ErrorCode::kCancelled);
}

TEST(FileIdentity, AFileThatCannotBeReadIsNamed) {
  const auto hash = hash_files({"/no/such/file"});
  ASSERT_FALSE(hash);
  EXPECT_EQ(hash.error().code, ErrorCode::kIo);
  EXPECT_NE(hash.error().message.find("/no/such/file"), std::string::npos);
}

}  // namespace
}  // namespace tempo9::engine
