#include "server/session.h"

#include <gtest/gtest.h>

namespace tempo9::server {
namespace {

TEST(Session, AHeaderNamesIt) {
  EXPECT_EQ(session_of({}), 0u);
  const uint64_t a = session_of({.session = "a"});
  EXPECT_NE(a, 0u);
  EXPECT_EQ(session_of({.session = "a"}), a);
  EXPECT_NE(session_of({.session = "b"}), a);
}

TEST(Session, AFieldNamesIt) {
  const Json body = Json::parse(R"({"prompt_cache_key": "a", "user": 7, "empty": ""})");
  engine::GenerateRequest request;
  read_session(Fields(body), "absent", &request);
  read_session(Fields(body), "user", &request);
  read_session(Fields(body), "empty", &request);
  EXPECT_EQ(request.session, 0u);
  read_session(Fields(body), "prompt_cache_key", &request);
  EXPECT_EQ(request.session, session_of({.session = "a"}));
}

}  // namespace
}  // namespace tempo9::server
