#include "server/service.h"

#include <gtest/gtest.h>

#include <set>

#include "server/server.h"
#include "server/testing/fake_engine.h"

namespace tempo9::server {
namespace {

using testing::FakeEngine;

TEST(Service, NameIsTheFlagsOrTheModels) {
  FakeEngine engine;
  EXPECT_EQ(Service::create(engine, {}).value()->name(), "fake");
  Service::Options options;
  options.name = "mine";
  EXPECT_EQ(Service::create(engine, options).value()->name(), "mine");
}

TEST(Service, WithoutATemplateChatNamesTheFlag) {
  FakeEngine engine;
  engine.info_.chat_template.reset();
  const auto service = Service::create(engine, {}).value();
  const auto found = service->chat_template();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(found.error().message.find("--chat-template-file"), std::string::npos);
}

TEST(Service, BrokenTemplates) {
  FakeEngine engine;
  Service::Options options;
  options.template_source = "{% for %}";
  EXPECT_FALSE(Service::create(engine, options)) << "what the user gave must work";
  engine.info_.chat_template = "{% for %}";
  const auto service = Service::create(engine, {});
  ASSERT_TRUE(service) << "what the file holds need not: completions still work";
  EXPECT_NE((*service)->warning(), "");
  EXPECT_FALSE((*service)->chat_template());
}

TEST(Service, IdsDiffer) {
  FakeEngine engine;
  const auto service = Service::create(engine, {}).value();
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(service->make_id("x-"));
  EXPECT_EQ(ids.size(), 1000u);
  EXPECT_EQ(ids.begin()->size(), 26u);
}

TEST(Service, VocabLookupKnowsSpecialTokensOnly) {
  FakeEngine engine;
  const auto lookup = Service::create(engine, {}).value()->vocab_lookup();
  EXPECT_TRUE(lookup("<tool_call>"));
  EXPECT_FALSE(lookup("a"));
  EXPECT_FALSE(lookup("<none>"));
}

TEST(Server, OtherMachinesNeedAKey) {
  ServerOptions options;
  options.host = "0.0.0.0";
  options.port = 0;
  const auto refused = Server::open(options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--api-key"), std::string::npos);
  options.api_keys = {"k"};
  EXPECT_TRUE(Server::open(options));
}

TEST(Server, UrlHasThePortThatWasTaken) {
  ServerOptions options;
  options.port = 0;
  const auto server = Server::open(options);
  ASSERT_TRUE(server);
  EXPECT_EQ((*server)->url(), "http://127.0.0.1:" + std::to_string((*server)->port()));
  EXPECT_NE((*server)->port(), 0);
  EXPECT_TRUE((*server)->idle());
}

}  // namespace
}  // namespace tempo9::server
