#include "engine/step_loop.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "engine/model_executor.h"
#include "engine/testing/fake_backend.h"
#include "engine/testing/twin.h"

namespace tempo9::engine {
namespace {

constexpr uint32_t kLoopVocab =
    300;  // the byte tokenizer knows 262: the others pad, as real files do

struct HeardReply {
  std::string text;
  std::vector<TokenInfo> tokens, prompt;
  std::vector<float> embedding;
  std::optional<Event::Finish> finish;
  Usage usage;
  uint32_t prompt_done = 0;
  uint64_t seed = 0;
};

struct LoopFixture {
  // n_states above 0: a model with recurrent layers.
  explicit LoopFixture(uint32_t n_pages = 64, uint32_t max_length = 256, sched::Limits limits = {},
                       uint32_t n_states = 0)
      : max_len(max_length),
        tokenizer(tokenizer::make_byte_tokenizer()),
        executor(std::make_unique<testing::FakeBackend>(n_pages, kLoopVocab, n_states), kLoopVocab,
                 static_cast<uint32_t>(tokenizer->size())),
        copier(&executor.backend()),
        loop({limits,
              {.n_pages = n_pages, .state_bytes = n_states > 0 ? 1u : 0u, .n_states = n_states},
              max_length,
              {1, 2}},
             tokenizer.get(), &executor, &copier) {}

  RequestId ask(GenerateRequest request, uint64_t seed = 1) {
    const RequestId id = ++last_id;
    requests[id] = request;
    seeds[id] = seed;
    loop.submit(id, std::move(request), seed, [this, id](Event&& event) {
      HeardReply& h = heard[id];
      EXPECT_FALSE(h.finish.has_value()) << "an event after the last";
      h.text += event.text;
      h.tokens.insert(h.tokens.end(), event.tokens.begin(), event.tokens.end());
      if (!event.prompt_tokens.empty()) {
        EXPECT_TRUE(h.prompt.empty() && h.text == event.text);
        h.prompt = event.prompt_tokens;
      }
      EXPECT_EQ(event.usage.completion_tokens, h.tokens.size());
      EXPECT_GE(event.prompt_done, h.prompt_done);
      h.prompt_done = event.prompt_done;
      h.usage = event.usage;
      h.embedding = event.embedding;
      h.seed = event.seed;
      h.finish = event.finish;
    });
    return id;
  }
  void step() {
    ASSERT_FALSE(loop.step().has_value());
    check();
  }
  void check() {
    const Status status = loop.check_integrity();
    ASSERT_TRUE(status) << status.error().message;
  }
  void run() {
    for (int i = 0; i < 1000000 && !loop.is_idle(); ++i) ASSERT_NO_FATAL_FAILURE(step());
    ASSERT_TRUE(loop.is_idle());
  }
  testing::TwinReply twin(RequestId id) {
    return testing::alone(requests[id], seeds[id], max_len, kLoopVocab, *tokenizer);
  }
  void expect_twin(RequestId id) {
    const testing::TwinReply expected = twin(id);
    const HeardReply& h = heard[id];
    ASSERT_TRUE(h.finish.has_value());
    ASSERT_EQ(h.finish->reason, expected.reason) << "request " << id;
    std::vector<TokenId> ids;
    for (const TokenInfo& info : h.tokens) ids.push_back(info.id);
    ASSERT_EQ(ids, expected.tokens) << "request " << id;
    ASSERT_EQ(h.text, expected.text) << "request " << id;
  }

  uint32_t max_len;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  ModelExecutor executor;
  BackendCopier copier;
  StepLoop loop;
  RequestId last_id = 0;
  std::map<RequestId, GenerateRequest> requests;
  std::map<RequestId, uint64_t> seeds;
  std::map<RequestId, HeardReply> heard;
};

// Replies of printable ASCII and the end token only, so that texts can be compared with the twin's
// bytes.
GenerateRequest ascii_request(const std::vector<TokenId>& prompt, float temperature,
                              size_t max_tokens) {
  GenerateRequest request;
  request.prompt = prompt;
  request.sampling.temperature = temperature;
  request.max_tokens = static_cast<uint32_t>(max_tokens);
  for (TokenId id = 128; id < 256; ++id) request.sampling.logit_bias.emplace_back(id, -100.0f);
  return request;
}

std::vector<TokenId> tokens_of(std::string_view text) { return {text.begin(), text.end()}; }

TEST(StepLoop, AReplyWithItsUsageAndSeed) {
  LoopFixture f;
  const RequestId id = f.ask(ascii_request(tokens_of("hello"), 1.0f, 20), 77);
  f.run();
  f.expect_twin(id);
  EXPECT_EQ(f.heard[id].usage.prompt_tokens, 5u);
  EXPECT_EQ(f.heard[id].prompt_done, 5u);
  EXPECT_EQ(f.heard[id].seed, 77u);
}

TEST(StepLoop, MemoryOfFreePagesGoesBackWhenTheMachineIsShort) {
  LoopFixture f;
  int64_t spare = 1000;
  StepLoopOptions options{{}, {.n_pages = 64, .classes = {{0, 10}}}, 256, {1, 2}};
  options.spare_memory = [&] { return spare; };
  StepLoop loop(options, f.tokenizer.get(), &f.executor, &f.copier);
  GenerateRequest request = ascii_request(std::vector<TokenId>(200, 'a'), 1.0f, 4);
  uint32_t n_cached = 0;
  const auto ask = [&](RequestId id) {
    loop.submit(id, request, 1, [&](Event&& event) { n_cached = event.usage.cached_tokens; });
    while (!loop.is_idle()) loop.step();
  };
  ask(101);
  loop.rest();
  ask(102);
  EXPECT_EQ(n_cached, 199u);
  spare = -35;  // four of the eight pages
  loop.rest();
  spare = 1000;
  ask(103);
  EXPECT_EQ(n_cached, 128u);
  EXPECT_TRUE(loop.may_give_back());
}

// The cap would allow 64 pages; the machine has room for 30, and then for less than is running.
TEST(StepLoop, MemoryReallyLeftBoundsAdmissionAndGrowth) {
  LoopFixture f;
  constexpr uint64_t kPage = uint64_t{1} << 20;
  StepLoopOptions options{
      {.max_batch = 16, .max_rows = 64}, {.n_pages = 64, .classes = {{0, kPage}}}, 256, {1, 2}};
  int64_t left = 30 * kPage;  // for pages
  StepLoop* loop = nullptr;
  options.spare_memory = [&] {
    return left - static_cast<int64_t>(loop->stats().resident_kv_bytes);
  };
  StepLoop owned(options, f.tokenizer.get(), &f.executor, &f.copier);
  loop = &owned;
  std::map<RequestId, std::vector<TokenId>> replies;
  std::map<RequestId, GenerateRequest> requests;
  for (RequestId id = 1; id <= 16; ++id) {
    const auto first = static_cast<TokenId>(id);
    requests[id] = ascii_request(std::vector<TokenId>(150, first), 1.0f, 100);
    requests[id].ignore_eos = true;
    loop->submit(id, requests[id], 1, [&replies, id](Event&& event) {
      for (const TokenInfo& info : event.tokens) replies[id].push_back(info.id);
    });
  }
  uint64_t peak = 0;
  int n_steps = 0;
  for (; !loop->is_idle(); ++n_steps) {
    loop->step();
    const Status status = loop->check_integrity();
    ASSERT_TRUE(status) << status.error().message;
    peak = std::max(peak, loop->stats().resident_kv_bytes);
    if (n_steps == 150) left = 12 * kPage;
    if (n_steps > 150 + 64) {
      ASSERT_LE(loop->stats().resident_kv_bytes, 12 * kPage);
    }
  }
  EXPECT_GT(n_steps, 300);
  EXPECT_GT(peak, 20 * kPage);
  EXPECT_LE(peak, 30 * kPage);
  for (const auto& [id, request] : requests) {
    EXPECT_EQ(replies[id], testing::alone(request, 1, 256, kLoopVocab, *f.tokenizer).tokens);
  }
}

TEST(StepLoop, TheContextsEndIsALength) {  // B55
  LoopFixture f(64, 256);
  GenerateRequest request = ascii_request(std::vector<TokenId>(250, 'a'), 1.0f, 100);
  request.ignore_eos = true;
  const RequestId id = f.ask(request);
  request.prompt.resize(256, 'b');
  const RequestId full = f.ask(request);
  f.run();
  EXPECT_EQ(f.heard[id].finish->reason, FinishReason::kLength);
  EXPECT_EQ(f.heard[id].usage.completion_tokens, 6u);
  EXPECT_EQ(f.heard[full].finish->reason, FinishReason::kLength);
  EXPECT_EQ(f.heard[full].usage.completion_tokens, 0u);
}

TEST(StepLoop, OnlyThePromptWhenNoTokensAreAsked) {
  LoopFixture f;
  GenerateRequest request = ascii_request(tokens_of("prompt"), 1.0f, 0);
  request.n_logprobs = 5;
  request.prompt_logprobs = true;
  const RequestId id = f.ask(request);
  f.run();
  EXPECT_EQ(f.heard[id].finish->reason, FinishReason::kLength);
  EXPECT_TRUE(f.heard[id].tokens.empty());
  EXPECT_EQ(f.heard[id].prompt.size(), 6u);
}

TEST(StepLoop, CachedTokensAreCountedAndChangeNothing) {
  LoopFixture f;
  const std::vector<TokenId> prompt(100, 'x');
  const RequestId a = f.ask(ascii_request(prompt, 0.0f, 30));
  f.run();
  const RequestId b = f.ask(ascii_request(prompt, 0.0f, 30));
  f.run();
  EXPECT_EQ(f.heard[a].usage.cached_tokens, 0u);
  EXPECT_EQ(f.heard[b].usage.cached_tokens, 99u);
  EXPECT_EQ(f.heard[a].text, f.heard[b].text);
  f.expect_twin(b);
}

TEST(StepLoop, LogprobsOfReplyAndPrompt) {
  LoopFixture f(64, 512, {.max_batch = 4, .max_rows = 40, .max_logit_rows = 11});
  GenerateRequest request = ascii_request(std::vector<TokenId>(200, 'y'), 0.7f, 10);
  for (size_t i = 0; i < 200; ++i) request.prompt[i] = static_cast<TokenId>(i % 97);
  f.ask(request);
  f.run();
  request.n_logprobs = 20;
  request.prompt_logprobs = true;
  const RequestId id = f.ask(request);
  const RequestId neighbour = f.ask(ascii_request(tokens_of("n"), 1.0f, 100));
  f.run();
  f.expect_twin(id);
  f.expect_twin(neighbour);
  const testing::TwinReply expected = f.twin(id);
  const HeardReply& h = f.heard[id];
  EXPECT_EQ(h.usage.cached_tokens, 0u);
  ASSERT_EQ(h.prompt.size(), 200u);
  EXPECT_FALSE(h.prompt[0].logprob.has_value());
  EXPECT_TRUE(h.prompt[0].top.empty());
  for (size_t i = 1; i < 200; ++i) {
    ASSERT_EQ(h.prompt[i].id, request.prompt[i]);
    ASSERT_EQ(*h.prompt[i].logprob, expected.prompt_logprobs[i - 1]);
    ASSERT_EQ(h.prompt[i].top.size(), 20u);
  }
  for (size_t i = 0; i < h.tokens.size(); ++i) {
    EXPECT_EQ(*h.tokens[i].logprob, expected.logprobs[i]);
    for (const TokenLogprob& top : h.tokens[i].top) {
      EXPECT_LT(top.id, f.tokenizer->size());
    }
  }
}

TEST(StepLoop, PromptLogprobsSurvivePreemption) {
  LoopFixture f(5, 160, {.max_batch = 3, .max_rows = 16, .max_logit_rows = 6});
  std::vector<RequestId> ids;
  for (int i = 0; i < 3; ++i) {
    GenerateRequest request = ascii_request(std::vector<TokenId>(40, 'a' + i), 1.0f, 110);
    request.ignore_eos = true;
    request.n_logprobs = 0;
    request.prompt_logprobs = true;
    ids.push_back(f.ask(request));
  }
  f.run();
  for (const RequestId id : ids) {
    f.expect_twin(id);
    ASSERT_EQ(f.heard[id].prompt.size(), 40u);
    const testing::TwinReply expected = f.twin(id);
    for (size_t i = 1; i < 40; ++i) {
      ASSERT_EQ(*f.heard[id].prompt[i].logprob, expected.prompt_logprobs[i - 1]);
    }
  }
  EXPECT_GT(f.loop.scheduler().n_preemptions(), 0u);
}

// What the fake model's states pool to, alone and in one piece.
std::vector<float> pooled_alone(const GenerateRequest& request) {
  constexpr uint32_t kWidth = testing::FakeBackend::kStateWidth;
  std::vector<double> sum(kWidth);
  std::vector<float> state(kWidth), first;
  uint64_t hash = 0;
  for (const TokenId token : request.prompt) {
    hash = kv::testing::FakeArena::step(hash, token);
    testing::fake_logits(hash, kWidth, state.data());
    if (first.empty()) first = state;
    for (uint32_t i = 0; i < kWidth; ++i) sum[i] += static_cast<double>(state[i]);
  }
  if (request.pooling == Pooling::kCls) return first;
  if (request.pooling == Pooling::kLast) return state;
  for (uint32_t i = 0; i < kWidth; ++i) {
    state[i] = static_cast<float>(sum[i] / static_cast<double>(request.prompt.size()));
  }
  return state;
}

// Beside replies that take their pages away, in slices, with and without cached prefixes.
TEST(StepLoop, EmbeddingsHaveTheirBitsWhateverHappens) {
  LoopFixture f(9, 200, {.max_batch = 4, .max_rows = 16, .max_logit_rows = 6});
  for (int i = 0; i < 4; ++i) {
    GenerateRequest request = ascii_request(std::vector<TokenId>(30, 'a' + i), 1.0f, 120);
    request.ignore_eos = true;
    f.ask(request);
  }
  for (int i = 0; i < 20; ++i) f.step();
  std::vector<RequestId> ids;
  for (const size_t n : {150u, 1u, 97u, 150u, 32u}) {
    for (const Pooling pooling : {Pooling::kMean, Pooling::kLast, Pooling::kCls}) {
      GenerateRequest request;
      for (size_t i = 0; i < n; ++i) request.prompt.push_back(static_cast<TokenId>(i % 89));
      request.pooling = pooling;
      request.max_tokens = 0;
      ids.push_back(f.ask(request));
    }
  }
  f.run();
  EXPECT_GT(f.loop.scheduler().n_preemptions(), 0u);
  uint32_t n_cached = 0;
  for (const RequestId id : ids) {
    const HeardReply& h = f.heard[id];
    ASSERT_EQ(h.finish->reason, FinishReason::kStop);
    EXPECT_EQ(h.embedding, pooled_alone(f.requests[id])) << "request " << id;
    EXPECT_EQ(h.usage.completion_tokens, 0u);
    EXPECT_EQ(h.usage.prompt_tokens, f.requests[id].prompt.size());
    const bool is_last = f.requests[id].pooling == Pooling::kLast;
    EXPECT_TRUE(is_last || h.usage.cached_tokens == 0);
    n_cached += h.usage.cached_tokens;
  }
  EXPECT_GT(n_cached, 0u);
}

TEST(StepLoop, SeedsChoicesAndPositionsGiveDifferentReplies) {  // B74
  LoopFixture f;
  GenerateRequest request = ascii_request(tokens_of("same"), 1.0f, 30);
  const RequestId a = f.ask(request, 1), b = f.ask(request, 1), c = f.ask(request, 2);
  request.choice = 1;
  const RequestId d = f.ask(request, 1);
  f.run();
  EXPECT_EQ(f.heard[a].text, f.heard[b].text);
  EXPECT_NE(f.heard[a].text, f.heard[c].text);
  EXPECT_NE(f.heard[a].text, f.heard[d].text);
}

TEST(StepLoop, NeighboursDoNotChangeAReply) {  // B90
  for (const float temperature : {0.0f, 0.8f}) {
    for (const int n_others : {0, 1, 3, 7}) {
      LoopFixture f(256, 700, {.max_batch = 8});
      std::mt19937_64 random(static_cast<uint64_t>(n_others));
      GenerateRequest request = ascii_request(tokens_of("the one"), temperature, 512);
      request.ignore_eos = true;
      const RequestId id = f.ask(request, 5);
      for (int i = 0; i < n_others; ++i) {
        for (size_t n = random() % 20; n > 0; --n) {
          if (!f.loop.is_idle()) f.step();
        }
        f.ask(ascii_request(std::vector<TokenId>(1 + random() % 300, 'o'), 1.0f, random() % 200),
              random());
      }
      f.run();
      EXPECT_EQ(f.heard[id].tokens.size(), 512u);
      f.expect_twin(id);
    }
  }
}

TEST(StepLoop, AFailedStepFailsItsRequestsOnly) {
  LoopFixture f;
  static_cast<testing::FakeBackend&>(f.executor.backend()).fail_at_step = 3;
  const RequestId a = f.ask(ascii_request(tokens_of("a"), 0.0f, 50));
  f.step();
  f.step();
  f.step();
  f.check();
  EXPECT_EQ(f.heard[a].finish->reason, FinishReason::kError);
  EXPECT_NE(f.heard[a].finish->error->message.find("fake backend"), std::string::npos);
  const RequestId b = f.ask(ascii_request(tokens_of("a"), 0.0f, 50));
  f.run();
  f.expect_twin(b);
}

TEST(StepLoop, CancelAndEndAll) {
  LoopFixture f;
  const RequestId a = f.ask(ascii_request(tokens_of("abc"), 1.0f, 100));
  const RequestId b = f.ask(ascii_request(tokens_of("def"), 1.0f, 100));
  f.step();
  f.loop.cancel(a);
  f.loop.cancel(a);
  f.loop.cancel(999);
  EXPECT_EQ(f.heard[a].finish->reason, FinishReason::kCancelled);
  EXPECT_FALSE(f.heard[b].finish.has_value());
  f.check();
  f.loop.end_all({.reason = FinishReason::kCancelled});
  EXPECT_EQ(f.heard[b].finish->reason, FinishReason::kCancelled);
  EXPECT_TRUE(f.loop.is_idle());
  f.check();
}

// Nobody knows how far its state got: the same prompt begins anew.
TEST(StepLoop, NobodyGoesOnFromTheStateOfAStepThatFailed) {
  LoopFixture f(64, 256, {.max_batch = 4, .max_rows = 64}, 40);
  static_cast<testing::FakeBackend&>(f.executor.backend()).fail_at_step = 3;
  const std::vector<TokenId> prompt(100, 'x');
  const RequestId failed = f.ask(ascii_request(prompt, 0.0f, 30));
  f.run();
  EXPECT_EQ(f.heard[failed].finish->reason, FinishReason::kError);
  const RequestId next = f.ask(ascii_request(prompt, 0.0f, 30));
  f.run();
  f.expect_twin(next);
  EXPECT_EQ(f.heard[next].usage.cached_tokens, 96u);  // the border that the first steps kept
}

// The proof: whatever the batch, slices, cache, preemption, arrival and cancellation, bytes are the
// twin's.
TEST(StepLoop, AThousandRandomRequestsEqualTheTwin) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  uint64_t n_preemptions = 0, n_cached = 0;
  for (int round = 0; round < 10; ++round) {
    // Every other round is short of pages, so that preemption is at home.
    const auto n_pages = static_cast<uint32_t>(round % 2 == 0 ? 10 : 10 + below(30));
    LoopFixture f(n_pages, 300,
                  {.max_batch = static_cast<uint32_t>(1 + below(8)),
                   .max_rows = static_cast<uint32_t>(8 + below(100)),
                   .max_logit_rows = static_cast<uint32_t>(9 + below(20))},
                  round % 3 == 2 ? 40 : 0);
    std::map<RequestId, bool> cancelled;
    while (f.last_id < 100 || !f.loop.is_idle()) {
      while (f.last_id < 100 && (f.loop.is_idle() || below(4) == 0)) {
        std::vector<TokenId> prompt;
        if (f.last_id > 0 && below(3) != 0) {
          const RequestId other = 1 + below(f.last_id);
          prompt = f.requests[other].prompt;
          for (const TokenInfo& info : f.heard[other].tokens) prompt.push_back(info.id);
          prompt.resize(below(std::min<size_t>(prompt.size(), 200) + 1));
        }
        while (prompt.empty() || below(30) != 0) prompt.push_back(static_cast<TokenId>(below(4)));
        prompt.resize(std::min<size_t>(prompt.size(), 290));
        GenerateRequest request = ascii_request(prompt, below(2) == 0 ? 0.0f : 0.9f, below(60));
        request.choice = static_cast<uint32_t>(below(3));
        request.sampling.top_k = below(3) == 0 ? 5 : 0;
        request.sampling.top_p = below(3) == 0 ? 0.8f : 1.0f;
        request.sampling.min_p = below(3) == 0 ? 0.1f : 0.0f;
        request.sampling.repetition_penalty = below(3) == 0 ? 1.3f : 1.0f;
        request.sampling.frequency_penalty = below(3) == 0 ? 0.5f : 0.0f;
        request.ignore_eos = below(2) == 0;
        request.spell_control = below(2) == 0;
        if (below(4) == 0) request.stop = {std::string(1, static_cast<char>('a' + below(26))), "1"};
        if (below(6) == 0) request.n_logprobs = static_cast<uint32_t>(below(4));
        request.prompt_logprobs = request.n_logprobs && below(2) == 0;
        f.ask(std::move(request), random());
      }
      if (below(40) == 0) {
        const RequestId id = 1 + below(f.last_id);
        if (!f.heard[id].finish) {
          f.loop.cancel(id);
          cancelled[id] = true;
          ASSERT_NO_FATAL_FAILURE(f.check());
        }
      }
      if (!f.loop.is_idle()) {
        ASSERT_NO_FATAL_FAILURE(f.step());
      }
    }
    for (RequestId id = 1; id <= f.last_id; ++id) {
      n_cached += f.heard[id].usage.cached_tokens;
      if (!cancelled[id]) {
        ASSERT_NO_FATAL_FAILURE(f.expect_twin(id));
      } else {
        ASSERT_EQ(f.heard[id].finish->reason, FinishReason::kCancelled);
        ASSERT_TRUE(f.twin(id).bytes.starts_with(f.heard[id].text));
      }
    }
    n_preemptions += f.loop.scheduler().n_preemptions();
  }
  EXPECT_GT(n_cached, 0u);
  RecordProperty("n_preemptions", std::to_string(n_preemptions));  // dozens; other tests force it
}

}  // namespace
}  // namespace tempo9::engine
