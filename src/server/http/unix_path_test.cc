#include "server/http/unix_path.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <filesystem>

#include "base/testing/temp_folder.h"

namespace tempo9::server::http {
namespace {

using Local = boost::asio::local::stream_protocol;

TEST(UnixPath, WhatNobodyListensOnIsRemovedAndNothingElse) {
  const TempFolder folder;
  const std::string path = folder.file("s");
  EXPECT_TRUE(clear_socket_path(path)) << "nothing is there";
  boost::asio::io_context context;
  {
    const Local::acceptor listening(context, Local::endpoint(path));
    const Status refused = clear_socket_path(path);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("in use"), std::string::npos);
  }
  EXPECT_TRUE(std::filesystem::exists(path)) << "closing leaves the file";
  EXPECT_TRUE(clear_socket_path(path));
  EXPECT_FALSE(std::filesystem::exists(path));
  folder.write("s", "precious");
  EXPECT_FALSE(clear_socket_path(path));
  EXPECT_FALSE(clear_socket_path(folder.path()));
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(UnixPath, LengthsThatTheSystemDoesNotTake) {
  for (const std::string& path : {std::string(), std::string(108, 'x'), std::string("a\0b", 3)}) {
    const Status refused = clear_socket_path(path);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace tempo9::server::http
