#include "base/file_io.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "base/testing/temp_folder.h"

namespace tempo9 {
namespace {

TEST(FileIo, WritesAndReadsAtAPlace) {
  const TempFolder folder;
  const Fd fd(::open(folder.write("f", "0123456789").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_GE(fd.get(), 0);
  EXPECT_TRUE(write_at(fd.get(), 8, "abcd", 4));  // over the end
  std::string found(6, ' ');
  ASSERT_TRUE(read_at(fd.get(), 6, found.data(), found.size()));
  EXPECT_EQ(found, "67abcd");
  EXPECT_TRUE(read_at(fd.get(), 100, nullptr, 0));
}

TEST(FileIo, SaysWhyNot) {
  const TempFolder folder;
  const Fd fd(::open(folder.write("f", "0123").c_str(), O_RDONLY | O_CLOEXEC));
  std::string found(5, ' ');
  errno = EIO;
  EXPECT_FALSE(read_at(fd.get(), 0, found.data(), found.size()));
  EXPECT_EQ(errno, 0) << "it ends before";
  EXPECT_FALSE(write_at(fd.get(), 0, "a", 1));
  EXPECT_EQ(errno, EBADF) << "it was opened to be read";
  EXPECT_FALSE(read_at(-1, 0, found.data(), 1));
  EXPECT_EQ(errno, EBADF);
}

TEST(FileIo, ClosesOnce) {
  const TempFolder folder;
  int number = -1;
  {
    Fd first(::open(folder.write("f", "0").c_str(), O_RDONLY | O_CLOEXEC));
    const Fd second(std::move(first));
    number = second.get();
    EXPECT_GE(number, 0);
    EXPECT_EQ(first.get(), -1);
    EXPECT_NE(::fcntl(number, F_GETFD), -1);
  }
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

}  // namespace
}  // namespace tempo9
