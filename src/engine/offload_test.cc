// A restart in the middle: what comes from disk gives the text that computing it would have given.
#include "engine/offload.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <numeric>
#include <random>

#include "base/testing/file_size_limit.h"
#include "base/testing/temp_folder.h"
#include "engine/model_executor.h"
#include "engine/step_loop.h"
#include "engine/testing/fake_backend.h"
#include "engine/testing/twin.h"

namespace tempo9::engine {
namespace {

constexpr uint32_t kOffloadVocab = 300;
constexpr uint32_t kOffloadMaxLength = 1024;
constexpr auto kPageBytes = kv::testing::FakeArena::kPageBytes;
constexpr auto kStateBytes = kv::testing::FakeArena::kStateBytes;

// One process: an engine over a folder.
struct Process {
  explicit Process(const std::string& folder, uint32_t n_pages = 64, uint64_t cap = 20'000'000,
                   uint32_t n_states = 0)
      : tokenizer(tokenizer::make_byte_tokenizer()) {
    auto store = kv::DiskStore::open({folder, cap, "fake", kPageBytes});
    EXPECT_TRUE(store);
    tier = std::make_unique<kv::DiskTier>(*std::move(store), kPageBytes, nullptr,
                                          std::chrono::nanoseconds(0));
    executor.emplace(std::make_unique<testing::FakeBackend>(n_pages, kOffloadVocab, n_states),
                     kOffloadVocab, static_cast<uint32_t>(tokenizer->size()));
    copier.emplace(&executor->backend());
    StepLoopOptions options{
        {.max_batch = 4, .max_rows = 128}, {.n_pages = n_pages}, kOffloadMaxLength};
    if (n_states > 0) {
      options.cache.state_bytes = kStateBytes;
      options.cache.n_states = n_states;
      auto states = kv::DiskStore::open({folder, cap, "fake states", kStateBytes});
      EXPECT_TRUE(states);
      state_tier = std::make_unique<kv::DiskTier>(*std::move(states), kStateBytes, nullptr,
                                                  std::chrono::nanoseconds(0), /*is_chain=*/false);
      options.disk_states = state_tier.get();
    }
    options.cache_secret = tier->secret();
    options.disk = tier.get();
    options.backend = &executor->backend();
    loop.emplace(options, tokenizer.get(), &*executor, &*copier);
  }
  ~Process() {
    if (drains) loop->drain_to_disk(std::chrono::steady_clock::now() + std::chrono::seconds(20));
  }

  RequestId ask(std::vector<TokenId> prompt, float temperature = 0.0f) {
    GenerateRequest request;
    request.prompt = std::move(prompt);
    request.max_tokens = 40;
    request.sampling.temperature = temperature;
    requests[++last] = request;
    loop->submit(last, request, /*seed=*/last, [this, id = last](Event&& event) {
      for (const TokenInfo& info : event.tokens) replies[id].push_back(info.id);
      usages[id] = event.usage;
      ended[id] = event.finish.has_value();
    });
    return last;
  }
  void run() {
    while (!loop->is_idle()) {
      if (loop->step() == StepLoop::kUntilWoken) std::this_thread::yield();
      const Status status = loop->check_integrity();
      ASSERT_TRUE(status) << status.error().message;
    }
  }
  void expect_twin(RequestId id) {
    EXPECT_TRUE(ended[id]);
    EXPECT_EQ(
        replies[id],
        testing::alone(requests[id], id, kOffloadMaxLength, kOffloadVocab, *tokenizer).tokens);
  }

  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  std::unique_ptr<kv::DiskTier> tier, state_tier;
  std::optional<ModelExecutor> executor;
  std::optional<BackendCopier> copier;
  std::optional<StepLoop> loop;
  RequestId last = 0;
  bool drains = true;
  std::map<RequestId, GenerateRequest> requests;
  std::map<RequestId, std::vector<TokenId>> replies;
  std::map<RequestId, Usage> usages;
  std::map<RequestId, bool> ended;
};

std::vector<TokenId> prompt_of(size_t n, int salt = 0) {
  std::mt19937 random(static_cast<uint32_t>(salt));
  std::vector<TokenId> prompt(n);
  for (TokenId& token : prompt) token = static_cast<TokenId>(random() % 120);
  return prompt;
}

TEST(Offload, TheFirstRequestAfterARestartIsServedFromDisk) {
  const TempFolder folder;
  std::vector<TokenId> cold;
  {
    Process p(folder.path());
    const RequestId id = p.ask(prompt_of(500), 0.8f);
    p.run();
    p.expect_twin(id);
    EXPECT_EQ(p.usages[id].cached_tokens, 0u);
    cold = p.replies[id];
  }
  Process p(folder.path());
  const RequestId id = p.ask(prompt_of(500), 0.8f);
  p.run();
  p.expect_twin(id);
  EXPECT_EQ(p.replies[id], cold);
  EXPECT_GE(p.usages[id].cached_tokens, 480u);
  EXPECT_EQ(p.usages[id].cached.disk, p.usages[id].cached_tokens);
  const RequestId again = p.ask(prompt_of(500), 0.8f);
  p.run();
  EXPECT_EQ(p.usages[again].cached_tokens, 499u);
  EXPECT_EQ(p.usages[again].cached.ram, 499u);
}

// With recurrent layers: the pages, and the state behind the last border before the prompt's end.
TEST(Offload, StatesComeFromDiskWithThePagesBeforeThem) {
  const TempFolder folder;
  constexpr uint32_t kStates = 24;
  std::vector<TokenId> next = prompt_of(500), cold;
  {
    Process p(folder.path(), 64, 20'000'000, kStates);
    const RequestId id = p.ask(prompt_of(500), 0.8f);
    p.run();
    p.expect_twin(id);
    cold = p.replies[id];
    next.insert(next.end(), cold.begin(), cold.end());
    next.push_back(7);
  }
  Process p(folder.path(), 64, 20'000'000, kStates);
  const RequestId id = p.ask(prompt_of(500), 0.8f);
  p.run();
  p.expect_twin(id);
  EXPECT_EQ(p.replies[id], cold);
  EXPECT_EQ(p.usages[id].cached, (kv::CachedTokens{.disk = 480}));
  const RequestId follow_up = p.ask(next);
  std::vector<TokenId> edited = prompt_of(500);
  edited[350] = 1;
  const RequestId fork = p.ask(edited);
  p.run();
  p.expect_twin(follow_up);
  p.expect_twin(fork);
  EXPECT_EQ(p.usages[follow_up].cached.total(), 539u);  // where the reply ended, in memory
  EXPECT_EQ(p.usages[fork].cached.total() % 32, 0u);
}

TEST(Offload, AFollowUpAndAnEditedPromptTakeWhatIsEqual) {
  const TempFolder folder;
  std::vector<TokenId> turn = prompt_of(300);
  {
    Process p(folder.path());
    const RequestId id = p.ask(turn);
    p.run();
    turn.insert(turn.end(), p.replies[id].begin(), p.replies[id].end());
  }
  turn.resize(turn.size() + 10, 'x');
  Process p(folder.path());
  std::vector<TokenId> edited = prompt_of(300);
  edited[150] = 1;
  const RequestId next = p.ask(turn), other = p.ask(edited);
  p.run();
  p.expect_twin(next);
  p.expect_twin(other);
  EXPECT_GE(p.usages[next].cached_tokens, 320u);
  EXPECT_EQ(p.usages[other].cached_tokens, 150u);  // inside a page
}

TEST(Offload, EqualPromptsAfterARestartAreReadOnce) {
  const TempFolder folder;
  {
    Process p(folder.path());
    p.ask(prompt_of(400));
    p.run();
  }
  Process p(folder.path());
  for (int i = 0; i < 6; ++i) p.ask(prompt_of(400));
  p.run();
  for (RequestId id = 1; id <= 6; ++id) p.expect_twin(id);
  EXPECT_LE(p.tier->stats().n_loaded, 13u);
}

TEST(Offload, ARequestThatLeavesWhileItsPagesComeHurtsNobody) {
  const TempFolder folder;
  {
    Process p(folder.path());
    p.ask(prompt_of(400));
    p.ask(prompt_of(400, 1));
    p.run();
  }
  Process p(folder.path());
  const RequestId first = p.ask(prompt_of(400)), second = p.ask(prompt_of(400, 1)),
                  third = p.ask(prompt_of(400));
  p.loop->cancel(first);
  p.loop->step();
  p.run();
  p.expect_twin(second);
  p.expect_twin(third);
  const RequestId fourth = p.ask(prompt_of(410));
  p.loop->cancel(fourth);
  EXPECT_TRUE(p.loop->is_idle());
  p.expect_twin(p.last = third);
}

TEST(Offload, PagesThatDoNotFitInMemoryAreComputed) {
  const TempFolder folder;
  {
    Process p(folder.path(), 64);
    p.ask(prompt_of(900));
    p.ask(prompt_of(900, 1));
    p.run();
  }
  Process p(folder.path(), 33);
  const RequestId a = p.ask(prompt_of(900)), b = p.ask(prompt_of(900, 1));
  p.run();
  p.expect_twin(a);
  p.expect_twin(b);
}

// A conversation that goes on behind pages that were lost: those go down first.
TEST(Offload, WhatAFullDiskDidNotTakeIsWrittenOnceItCan) {
  const TempFolder folder;
  std::vector<TokenId> turn = prompt_of(300);
  {
    Process p(folder.path());
    {
      const FileSizeLimit full(1000);
      const RequestId id = p.ask(turn);
      p.run();
      p.loop->drain_to_disk(std::chrono::steady_clock::now() + std::chrono::seconds(20));
      turn.insert(turn.end(), p.replies[id].begin(), p.replies[id].end());
    }
    EXPECT_EQ(p.tier->stats().n_stored, 0u);
    EXPECT_FALSE(p.tier->stats().writes);
    turn.resize(turn.size() + 64, 'x');
    p.ask(turn);
    p.run();
  }
  Process p(folder.path());
  const RequestId id = p.ask(turn);
  p.run();
  p.expect_twin(id);
  EXPECT_GE(p.usages[id].cached.disk, turn.size() - kv::kPageTokens);
}

// A prompt's pages are pinned while the rest of them comes; a running one needs that memory.
TEST(Offload, WhatIsBroughtFromDiskGivesWay) {
  const TempFolder folder;
  const std::vector<TokenId> turn = prompt_of(500, 1);
  {
    Process p(folder.path());
    p.ask(turn);
    p.run();
  }
  Process p(folder.path(), 33);
  p.ask({turn.begin(), turn.begin() + 288});
  p.run();
  const RequestId running = p.ask(prompt_of(900));
  for (int i = 0; i < 6; ++i) p.loop->step();  // 24 pages
  const RequestId next = p.ask(turn);
  p.run();
  p.expect_twin(running);
  p.expect_twin(next);
}

// Restarts, some of them without a drain, and damage in between, against the twin.
TEST(Offload, RandomRestartsEqualTheTwin) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const TempFolder folder;
  std::vector<std::vector<TokenId>> known = {prompt_of(200)};
  for (int round = 0; round < 8; ++round) {
    Process p(folder.path(), 40, 2'000'000);
    p.drains = random() % 3 != 0;
    for (int i = 0; i < 12; ++i) {
      std::vector<TokenId> prompt = known[random() % known.size()];
      prompt.resize(1 + random() % prompt.size());
      for (size_t k = random() % 150; k > 0; --k) {
        prompt.push_back(static_cast<TokenId>(random() % 3));
      }
      prompt.resize(std::min<size_t>(prompt.size(), 600));
      const RequestId id = p.ask(prompt, random() % 2 == 0 ? 0.0f : 1.0f);
      if (random() % 6 == 0) p.loop->cancel(id);
      known.push_back(prompt);
      if (random() % 3 == 0) p.run();
    }
    p.run();
    for (const auto& [id, reply] : p.replies) {
      if (p.usages[id].completion_tokens > 0) p.expect_twin(id);
    }
  }
}

}  // namespace
}  // namespace tempo9::engine
