#include "engine/idle_engine.h"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <new>
#include <system_error>

#include "engine/testing/fake_clock.h"

namespace tempo9::engine {
namespace {

constexpr Clock::Nanoseconds kIdle = std::chrono::minutes(5);

// An engine that says "ok" at once, or holds its requests.
class OneWordEngine final : public Engine {
 public:
  OneWordEngine(int* n_alive, bool holds) : n_alive_(n_alive), holds_(holds) {
    ++*n_alive_;
    info_.max_length = 100;
  }
  ~OneWordEngine() override {
    for (const EventSink& sink : held_) finish(sink, FinishReason::kCancelled);
    --*n_alive_;
  }
  Result<RequestId> submit(GenerateRequest, EventSink sink) override {
    if (holds_) {
      held_.push_back(std::move(sink));
    } else {
      thread_ = std::jthread([sink] { finish(sink, FinishReason::kStop); });
    }
    return RequestId{7};
  }
  void cancel(RequestId) override {}
  const ModelInfo& info() const override { return info_; }
  const tokenizer::Tokenizer& tokenizer() const override { std::abort(); }
  Stats stats() const override { return {.n_running = 1, .n_steps = 10, .kv_bytes = 4}; }
  CacheTotals cache_totals() const override {
    CacheTotals totals;
    totals.asked = 5;
    totals.misses["x"] = {1, 2};
    return totals;
  }

 private:
  static void finish(const EventSink& sink, FinishReason reason) {
    Event event;
    event.finish = Event::Finish{.reason = reason};
    event.usage.timing.now = 1;
    sink(std::move(event));
  }
  int* n_alive_;
  bool holds_;
  ModelInfo info_;
  std::vector<EventSink> held_;
  std::jthread thread_;
};

class IdleEngineTest : public ::testing::Test {
 protected:
  IdleEngineParts parts() {
    IdleEngineParts parts;
    parts.engine = std::make_unique<OneWordEngine>(&n_alive_, false);
    parts.tokenizer = tokenizer::make_byte_tokenizer();
    parts.n_ids = 256;
    parts.idle_time = kIdle;
    parts.clock = std::make_unique<testing::FakeClock>(/*auto_advance=*/true);
    parts.load = [this]() -> Result<std::unique_ptr<Engine>> {
      ++n_loads_;
      if (load_fails_) return make_error(ErrorCode::kIo, "the file is gone");
      return std::make_unique<OneWordEngine>(&n_alive_, loaded_holds_);
    };
    return parts;
  }
  static Event::Finish ask(IdleEngine* engine) {
    const auto done = std::make_shared<std::promise<Event::Finish>>();
    GenerateRequest request;
    request.prompt = {1};
    EXPECT_TRUE(engine->submit(request, [done](Event&& event) {
      if (event.finish) done->set_value(*event.finish);
    }));
    return done->get_future().get();
  }
  static void wait_until_unloaded(const IdleEngine& engine) {
    while (engine.stats().is_loaded) std::this_thread::yield();
  }

  std::atomic<int> n_loads_ = 0;
  int n_alive_ = 0;
  std::atomic<bool> load_fails_ = false;
  bool loaded_holds_ = false;
};

TEST_F(IdleEngineTest, IdleGivesTheModelBackAndARequestLoadsIt) {
  {
    IdleEngine engine(parts());
    for (int round = 0; round < 3; ++round) {
      wait_until_unloaded(engine);
      EXPECT_EQ(ask(&engine).reason, FinishReason::kStop);
      EXPECT_EQ(n_loads_, round + 1);
    }
    wait_until_unloaded(engine);
    const Stats stats = engine.stats();
    EXPECT_EQ(stats.n_steps, 40u) << "four engines, ten steps each";
    EXPECT_EQ(stats.n_running, 0u);
    EXPECT_EQ(stats.kv_bytes, 4u);
    EXPECT_EQ(engine.cache_totals().asked, 20u);
    EXPECT_EQ(engine.cache_totals().misses.at("x").n_tokens, 8u);
    EXPECT_EQ(engine.info().max_length, 100u);
  }
  EXPECT_EQ(n_alive_, 0);
}

TEST_F(IdleEngineTest, WhatRunsIsNotIdle) {
  loaded_holds_ = true;
  IdleEngine engine(parts());
  wait_until_unloaded(engine);
  GenerateRequest request;
  request.prompt = {1};
  ASSERT_TRUE(engine.submit(request, [](Event&&) {}));
  while (!engine.stats().is_loaded) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) {
    std::this_thread::yield();
    ASSERT_TRUE(engine.stats().is_loaded);
  }
}

TEST_F(IdleEngineTest, ALoadThatFailsIsEachWaitersErrorAndIsTriedAgain) {
  load_fails_ = true;
  IdleEngine engine(parts());
  wait_until_unloaded(engine);
  for (int i = 1; i <= 2; ++i) {
    const Event::Finish finish = ask(&engine);
    EXPECT_EQ(finish.reason, FinishReason::kError);
    EXPECT_EQ(finish.error->message, "the file is gone");
    EXPECT_EQ(n_loads_, i);
  }
  load_fails_ = false;
  EXPECT_EQ(ask(&engine).reason, FinishReason::kStop);
}

TEST_F(IdleEngineTest, ALoadThatThrowsIsAnErrorAndNotTheEnd) {
  const std::function<void()> kThrowers[] = {
      [] { throw std::bad_alloc(); },
      [] { throw std::system_error(EAGAIN, std::generic_category(), "no thread"); },
      [] { throw 5; }, [] {}};
  std::atomic<size_t> n_thrown = 0;
  IdleEngineParts with = parts();
  with.load = [&, load = with.load] {
    kThrowers[n_thrown]();
    return load();
  };
  IdleEngine engine(std::move(with));
  wait_until_unloaded(engine);
  for (; n_thrown < 3; ++n_thrown) {
    const Event::Finish finish = ask(&engine);
    ASSERT_EQ(finish.reason, FinishReason::kError);
    EXPECT_EQ(finish.error->code, ErrorCode::kResourceExhausted) << finish.error->message;
  }
  EXPECT_EQ(ask(&engine).reason, FinishReason::kStop);
}

TEST_F(IdleEngineTest, AWrongRequestLoadsNothing) {
  IdleEngine engine(parts());
  wait_until_unloaded(engine);
  GenerateRequest request;
  request.prompt = {256};
  EXPECT_FALSE(engine.submit(request, [](Event&&) { ADD_FAILURE(); }));
  EXPECT_EQ(n_loads_, 0);
}

}  // namespace
}  // namespace tempo9::engine
