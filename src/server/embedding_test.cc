// Embeddings through both doors over a fake engine.
#include "server/embedding.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "server/dialects/ollama.h"
#include "server/dialects/openai.h"
#include "server/testing/fake_engine.h"
#include "server/testing/fake_exchange.h"

namespace tempo9::server {
namespace {

using testing::body;
using testing::FakeEngine;
using testing::FakeExchange;

class EmbeddingTest : public ::testing::Test {
 protected:
  using Handler = void (*)(std::shared_ptr<const Service>, std::shared_ptr<http::Exchange>);

  EmbeddingTest() {
    engine_.info_.pooling = engine::Pooling::kLast;
    engine_.info_.embedding_width = 3;
    engine_.info_.max_length = 4;
  }
  ~EmbeddingTest() override {
    for (const auto& exchange : exchanges_) exchange->hang_up();
  }
  std::shared_ptr<FakeExchange> post(Handler handler, const std::string& fields) {
    auto exchange = exchanges_.emplace_back(FakeExchange::post_json("/x", "{" + fields + "}"));
    handler(service_, exchange);
    return exchange;
  }
  // The engine's answer to what was asked last but `back`.
  void answer(size_t back, std::vector<float> embedding) {
    engine::Event event;
    event.embedding = std::move(embedding);
    event.finish = engine::Event::Finish{};
    event.usage.prompt_tokens = 2;
    engine_.submitted.at(engine_.submitted.size() - 1 - back).sink(std::move(event));
  }
  std::string error_of(Handler handler, const std::string& fields) {
    auto exchange = post(handler, fields);
    if (!exchange->response) return "accepted";
    const Json error = body(*exchange)["error"];
    return fmt::format("{} {}", exchange->response->status,
                       (error.is_string() ? error : error["message"]).get<std::string>());
  }

  FakeEngine engine_;
  std::shared_ptr<Service> service_ = Service::create(engine_, {}).value();
  std::vector<std::shared_ptr<FakeExchange>> exchanges_;
};

TEST_F(EmbeddingTest, EachInputIsARequestOfOneSessionAndComesBackInItsPlace) {
  auto exchange = post(openai::embeddings, R"("input": ["ab", "cd"], "model": "any")");
  ASSERT_EQ(engine_.submitted.size(), 2u);
  const engine::GenerateRequest& request = engine_.submitted[1].request;
  EXPECT_EQ(request.prompt, (std::vector<TokenId>{'c', 'd'}));
  EXPECT_EQ(request.pooling, engine::Pooling::kLast);
  EXPECT_NE(request.session, 0u);
  EXPECT_EQ(request.session, engine_.submitted[0].request.session);
  answer(0, {0, 3, 4});
  answer(1, {2, 0, 0});
  ASSERT_TRUE(exchange->run());
  const Json reply = body(*exchange);
  EXPECT_EQ(reply["object"], "list");
  EXPECT_EQ(reply["model"], "any");
  EXPECT_EQ(reply["data"][0]["embedding"], Json::array({1.0, 0.0, 0.0}));
  EXPECT_EQ(reply["data"][1]["index"], 1);
  EXPECT_EQ(reply["data"][1]["embedding"], Json::array({0.0, 0.6f, 0.8f}));
  EXPECT_EQ(reply["usage"], (Json{{"prompt_tokens", 4}, {"total_tokens", 4}}));
}

TEST_F(EmbeddingTest, DimensionsAndBase64) {
  auto exchange =
      post(openai::embeddings, R"("input": [1, 2], "dimensions": 2, "encoding_format": "base64")");
  EXPECT_EQ(engine_.submitted.back().request.prompt, (std::vector<TokenId>{1, 2}));
  answer(0, {0, 2, 9});
  ASSERT_TRUE(exchange->run());
  const auto text = body(*exchange)["data"][0]["embedding"].get<std::string>();
  EXPECT_EQ(text, "AAAAAAAAgD8=");  // struct.pack("<2f", 0, 1)
}

TEST_F(EmbeddingTest, OllamasTwoRoutes) {
  auto exchange = post(ollama::embed, R"("input": "abcdefgh", "dimensions": 2)");
  EXPECT_EQ(engine_.submitted.back().request.prompt.size(), 4u);  // cut to the context
  answer(0, {3, 4, 12});
  ASSERT_TRUE(exchange->run());
  EXPECT_EQ(body(*exchange)["embeddings"], Json::array({Json::array({0.6f, 0.8f})}));
  EXPECT_EQ(body(*exchange)["prompt_eval_count"], 2);
  exchange = post(ollama::embeddings, R"("prompt": "ab")");
  answer(0, {3, 4, 12});
  ASSERT_TRUE(exchange->run());
  EXPECT_EQ(body(*exchange)["embedding"], Json::array({3.0, 4.0, 12.0}));
  EXPECT_EQ(body(*post(ollama::embeddings, ""))["embedding"], Json::array());
  EXPECT_EQ(body(*post(ollama::embed, R"("input": [])"))["embeddings"], Json::array());
}

TEST_F(EmbeddingTest, WrongFieldsAreNamed) {
  const auto begins = [](const std::string& text, const std::string& with) {
    EXPECT_EQ(text.substr(0, with.size()), with);
  };
  begins(error_of(openai::embeddings, ""), "400 input: found nothing");
  begins(error_of(openai::embeddings, R"("input": {"a": 1})"), "400 input: found an object");
  begins(error_of(openai::embeddings, R"("input": [true])"), "400 input[0]: ");
  begins(error_of(openai::embeddings, R"("input": [[1], []])"), "400 input[1]: found no tokens");
  begins(error_of(openai::embeddings, R"("input": [[1], [-1]])"), "400 input[1]");
  begins(error_of(openai::embeddings, R"("input": ["a", "abcde"])"),
         "400 input[1]: This model's maximum context length is 4 tokens, however you requested 5 ");
  begins(error_of(openai::embeddings, R"("input": "a", "dimensions": 4)"), "400 dimensions: ");
  begins(error_of(openai::embeddings, R"("input": "a", "encoding_format": "x")"),
         "400 encoding_format: ");
  begins(error_of(ollama::embed, R"("input": "abcde", "truncate": false)"), "400 input: ");
  begins(error_of(ollama::embed, R"("input": [1])"), "400 input[0]: ");
  engine_.info_.pooling = engine::Pooling::kNone;
  begins(error_of(openai::embeddings, R"("input": "a")"), "501 a script");
  engine_.info_.is_script = false;
  EXPECT_NE(error_of(openai::embeddings, R"("input": "a")").find("--pooling"), std::string::npos);
  EXPECT_TRUE(engine_.submitted.empty());
}

TEST(Embedding, UnitVectors) {
  EXPECT_EQ(unit_vector({0, 0}, 2), (std::vector<float>{0, 0}));
  const std::vector<float> unit = unit_vector({3e30f, 4e30f, 1}, 2);  // their squares overflow
  ASSERT_EQ(unit.size(), 2u);
  EXPECT_FLOAT_EQ(unit[0], 0.6f);
  EXPECT_FLOAT_EQ(unit[1], 0.8f);
}

}  // namespace
}  // namespace tempo9::server
