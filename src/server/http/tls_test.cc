// What is refused; handshakes are in tests/e2e/test_security.py.
#include "server/http/tls.h"

#include <gtest/gtest.h>

#include "base/testing/temp_folder.h"

namespace tempo9::server::http {
namespace {

TEST(Tls, FilesThatAreNoneAreNamedWithTheirFlag) {
  const TempFolder folder;
  const std::string text = folder.write("t.pem", "no PEM at all\n");
  const std::string empty = folder.write("e.pem", "");
  const struct {
    std::string cert, key;
    const char* says;
  } cases[] = {{"/nonexistent", text, "--tls-cert: cannot read /nonexistent"},
               {text, "/nonexistent", "--tls-key: cannot read /nonexistent"},
               {empty, text, "--tls-cert: cannot read"},
               {text, text, "--tls-cert: found"}};
  for (const auto& c : cases) {
    const auto context = make_tls_context(c.cert, c.key);
    ASSERT_FALSE(context) << c.cert;
    EXPECT_TRUE(context.error().message.starts_with(c.says)) << context.error().message;
  }
}

}  // namespace
}  // namespace tempo9::server::http
