// Every allocation of a run of requests is refused once, one after the other: whatever happens,
// each request ends once, a reply that ends well is the right one, and the loop goes on.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <new>
#include <string>

#include "engine/model_executor.h"
#include "engine/step_loop.h"
#include "engine/testing/fake_backend.h"
#include "engine/testing/twin.h"

namespace tempo9::engine {
namespace {

// Of this thread: so many allocations succeed, then n_refused are refused. Below 0: none is.
thread_local int64_t n_before_refusal = -1;
thread_local int64_t n_to_refuse = 0;

void* allocate_or_refuse(size_t n) {
  if (n_before_refusal == 0 && n_to_refuse > 0) {
    --n_to_refuse;
    throw std::bad_alloc();
  }
  if (n_before_refusal > 0) --n_before_refusal;
  void* p = std::malloc(n > 0 ? n : 1);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

void* allocate_or_null(size_t n) noexcept {
  try {
    return allocate_or_refuse(n);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

struct NoRefusals {
  NoRefusals() : before(std::exchange(n_before_refusal, -1)) {}
  ~NoRefusals() { n_before_refusal = before; }
  int64_t before;
};

}  // namespace
}  // namespace tempo9::engine

void* operator new(size_t n) { return tempo9::engine::allocate_or_refuse(n); }
void* operator new[](size_t n) { return tempo9::engine::allocate_or_refuse(n); }
// A sanitizer has these of its own, and they would not go with the others here.
void* operator new(size_t n, const std::nothrow_t&) noexcept {
  return tempo9::engine::allocate_or_null(n);
}
void* operator new[](size_t n, const std::nothrow_t&) noexcept {
  return tempo9::engine::allocate_or_null(n);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }

namespace tempo9::engine {
namespace {

constexpr uint32_t kRefusalVocab = 300;
constexpr uint32_t kRefusalLength = 128;

struct RefusalCase {
  uint32_t n_pages, n_states;
  int64_t n_refused;  // in a row: what is thrown in the middle of recovery, too
};

struct RefusalLoop {
  explicit RefusalLoop(const RefusalCase& c)
      : tokenizer(tokenizer::make_byte_tokenizer()),
        executor(std::make_unique<testing::FakeBackend>(c.n_pages, kRefusalVocab, c.n_states),
                 kRefusalVocab, static_cast<uint32_t>(tokenizer->size())),
        copier(&executor.backend()),
        loop({{.max_batch = 3},
              {.n_pages = c.n_pages,
               .state_bytes = c.n_states > 0 ? 1u : 0u,
               .n_states = c.n_states},
              kRefusalLength,
              {1, 2}},
             tokenizer.get(), &executor, &copier) {}

  struct Heard {
    std::vector<TokenId> tokens;
    std::optional<Event::Finish> finish;
  };

  void ask(RequestId id, const std::string& prompt) {
    GenerateRequest request;
    {
      const NoRefusals here;
      request = request_of_text(prompt);
      heard[id];
    }
    loop.submit(id, std::move(request), id, [this, id](Event&& event) {
      const NoRefusals here;
      Heard& h = heard.at(id);
      EXPECT_FALSE(h.finish.has_value()) << "an event behind the last";
      for (const TokenInfo& info : event.tokens) h.tokens.push_back(info.id);
      h.finish = event.finish;
    });
  }
  static GenerateRequest request_of_text(const std::string& prompt) {
    GenerateRequest request;
    request.prompt.assign(prompt.begin(), prompt.end());
    request.sampling.temperature = 1.0f;
    request.max_tokens = 40;
    request.ignore_eos = true;
    return request;
  }
  bool step() {
    loop.step();
    const NoRefusals here;
    const Status sound = loop.check_integrity();
    EXPECT_TRUE(sound) << sound.error().message;
    return sound.has_value();
  }
  void run() {
    for (int i = 0; i < 2000 && !loop.is_idle(); ++i) {
      if (!step()) return;
    }
    EXPECT_TRUE(loop.is_idle());
  }

  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  ModelExecutor executor;
  BackendCopier copier;
  StepLoop loop;
  std::map<RequestId, Heard> heard;
};

class RefusedAllocations : public ::testing::TestWithParam<RefusalCase> {};

TEST_P(RefusedAllocations, EndTheRequestsConcernedAndTheLoopGoesOn) {
  const std::map<RequestId, std::string> prompts = {{1, std::string(40, 'a')},
                                                    {2, std::string(36, 'a') + "bc"},
                                                    {3, "another one"},
                                                    {4, std::string(70, 'a')},
                                                    {5, std::string(40, 'a')}};
  std::map<RequestId, std::vector<TokenId>> expected;
  const auto tokenizer = tokenizer::make_byte_tokenizer();
  for (const auto& [id, prompt] : prompts) {
    expected[id] = testing::alone(RefusalLoop::request_of_text(prompt), id, kRefusalLength,
                                  kRefusalVocab, *tokenizer)
                       .tokens;
  }
  int n_failed = 0, n_spared = 0;  // requests that failed; that went on beside one that did
  // Each of the first ones, then a prime apart, to the end of what a run allocates.
  for (int64_t refused_at = 0;; refused_at += refused_at < 200 ? 1 : 13) {
    SCOPED_TRACE(::testing::Message() << "allocation " << refused_at);
    RefusalLoop f(GetParam());
    f.ask(1, prompts.at(1));
    f.ask(2, prompts.at(2));
    f.step();
    n_before_refusal = refused_at;
    n_to_refuse = GetParam().n_refused;
    f.ask(3, prompts.at(3));
    f.ask(4, prompts.at(4));
    f.run();
    const bool is_behind_the_end = n_before_refusal > 0;
    n_before_refusal = -1;
    f.ask(5, prompts.at(5));
    f.run();
    const int n_failed_before = n_failed;
    for (const auto& [id, heard] : f.heard) {
      ASSERT_TRUE(heard.finish.has_value()) << "request " << id << " has no end";
      if (heard.finish->reason == FinishReason::kError) {
        ++n_failed;
        ASSERT_NE(id, 5u) << heard.finish->error->message;
        ASSERT_EQ(heard.finish->error->code, ErrorCode::kResourceExhausted);
      } else {
        ASSERT_EQ(heard.tokens, expected[id]) << "request " << id;
      }
    }
    if (n_failed > n_failed_before) n_spared += 4 - (n_failed - n_failed_before);
    ASSERT_EQ(f.loop.stats().held_kv_bytes, 0u);
    if (::testing::Test::HasFailure() || is_behind_the_end) break;
  }
  EXPECT_GT(n_failed, 100);
  EXPECT_GT(n_spared, 100);
}

INSTANTIATE_TEST_SUITE_P(All, RefusedAllocations,
                         ::testing::Values(RefusalCase{64, 0, 1}, RefusalCase{9, 0, 1},
                                           RefusalCase{64, 16, 1}, RefusalCase{12, 8, 1}));

}  // namespace
}  // namespace tempo9::engine
