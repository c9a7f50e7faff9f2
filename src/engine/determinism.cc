#include "engine/determinism.h"

#include <algorithm>
#include <future>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "base/cpu_count.h"

namespace tempo9::engine {
namespace {

using Replies = std::vector<std::vector<TokenId>>;

// One greedy request and one that is sampled with a seed.
constexpr float kTemperatures[] = {0.0f, 0.9f};
constexpr uint64_t kSeed = 20260504;
constexpr uint32_t kNeighbours[] = {1, 3, 7};
constexpr uint32_t kPercentCached[] = {0, 25, 50, 99};
constexpr uint32_t kSlices[] = {64, 512, 2048};

class Trial {
 public:
  Trial(const EngineOptions& options, const DeterminismPlan& plan,
        const std::function<void(const DeterminismCase&)>& on_case)
      : options_(options), plan_(plan), on_case_(on_case) {
    options_.kv_folder.clear();
    options_.log = nullptr;
    if (options_.n_threads == 0) options_.n_threads = usable_cpus().n_cpus;
  }

  Result<bool> run() {
    T9_TRY(auto engine, Engine::create(options_));
    if (engine->info().max_length < plan_.n_prompt + plan_.n_reply) {
      return make_error(ErrorCode::kInvalidArgument,
                        "the context holds {} tokens, expected at least {}: give a larger "
                        "--max-length",
                        engine->info().max_length, plan_.n_prompt + plan_.n_reply);
    }
    prompt_ = make_prompt(*engine, 0);
    T9_TRY(expected_, ask(*engine, prompt_));
    T9_TRY(again_with_cache(*engine));
    engine.reset();
    for (const uint32_t n : kNeighbours) T9_TRY(beside_others(n));
    T9_TRY(in_other_shapes());
    if (!plan_.disk_folder.empty()) T9_TRY(after_a_restart());
    return equal_;
  }

 private:
  // Words that a model goes on from, another text for each salt.
  std::vector<TokenId> make_prompt(const Engine& engine, uint32_t salt) const {
    std::vector<TokenId> prompt;
    for (uint32_t i = 0; prompt.size() < plan_.n_prompt; ++i) {
      const std::string line =
          fmt::format("{} {}: the value of item {} is {}.\n", salt % 2 == 0 ? "Entry" : "Note",
                      i + 31 * salt, (i * 7919 + salt) % 1000, (i * 104729 + salt) % 9973);
      engine.tokenizer().encode(line, {}, &prompt);
    }
    prompt.resize(plan_.n_prompt);
    return prompt;
  }

  struct Pending {
    std::vector<TokenId> tokens;
    std::promise<Status> done;
  };

  // on_tokens: told how many there are, on the engine's thread, until the reply ends; may be null.
  Result<std::shared_ptr<Pending>> submit(
      Engine& engine, std::vector<TokenId> prompt, float temperature,
      std::function<void(size_t n_tokens)> on_tokens = nullptr) const {
    GenerateRequest request;
    request.prompt = std::move(prompt);
    request.max_tokens = plan_.n_reply;
    request.ignore_eos = true;
    request.sampling.temperature = temperature;
    request.sampling.seed = kSeed;
    auto pending = std::make_shared<Pending>();
    T9_TRY(engine.submit(std::move(request), [pending, on_tokens](Event&& event) {
      for (const TokenInfo& info : event.tokens) pending->tokens.push_back(info.id);
      if (on_tokens) on_tokens(pending->tokens.size());
      if (!event.finish) return;
      pending->done.set_value(event.finish->error ? Status(*event.finish->error) : Status());
    }));
    return pending;
  }

  Result<Replies> ask(Engine& engine, const std::vector<TokenId>& prompt) const {
    Replies replies;
    for (const float temperature : kTemperatures) {
      T9_TRY(const auto pending, submit(engine, prompt, temperature));
      T9_TRY(pending->done.get_future().get());
      replies.push_back(pending->tokens);
    }
    return replies;
  }

  void compare(const Engine& engine, std::string name, const Replies& replies) {
    DeterminismCase result{.name = std::move(name),
                           .n_replies = static_cast<uint32_t>(replies.size()),
                           .n_different = 0,
                           .first_difference = {}};
    for (size_t i = 0; i < replies.size(); ++i) {
      const auto& expected = expected_[i % expected_.size()];
      if (replies[i] == expected) continue;
      equal_ = false;
      if (result.n_different++ > 0) continue;
      const auto at = std::ranges::mismatch(expected, replies[i]);
      const auto text = [&](auto begin, auto end) {
        return engine.tokenizer().decode(std::vector<TokenId>(begin, end), true);
      };
      result.first_difference =
          fmt::format("from token {} on: \"{}\", expected \"{}\"", at.in1 - expected.begin(),
                      text(at.in2, replies[i].end()), text(at.in1, expected.end()));
    }
    on_case_(result);
  }

  Status again_with_cache(Engine& engine) {
    for (const uint32_t percent : kPercentCached) {
      // A new engine, so that nothing but the share wanted is cached.
      T9_TRY(auto fresh, Engine::create(options_));
      if (percent > 0) {
        std::vector<TokenId> head = prompt_;
        head.resize(prompt_.size() * percent / 100);
        T9_TRY(ask(*fresh, head));
      }
      T9_TRY(const Replies replies, ask(*fresh, prompt_));
      compare(engine, fmt::format("{} % of the prompt cached", percent), replies);
    }
    return {};
  }

  // The others arrive while ours is written, each at a token that is drawn; at 0 it is there
  // before.
  Status beside_others(uint32_t n_others) {
    T9_TRY(auto engine, Engine::create(options_));
    std::mt19937 random(n_others);
    Replies replies;
    for (const float temperature : kTemperatures) {
      std::vector<size_t> arrivals;
      for (uint32_t i = 0; i < n_others; ++i) arrivals.push_back(random() % plan_.n_reply);
      std::ranges::sort(arrivals);
      std::vector<Result<std::shared_ptr<Pending>>> others;
      const auto arrive = [&](size_t n_tokens) {
        while (others.size() < n_others && arrivals[others.size()] <= n_tokens) {
          const auto salt = static_cast<uint32_t>(others.size()) + 1;
          others.push_back(submit(*engine, make_prompt(*engine, salt), 0.7f));
        }
      };
      arrive(0);
      T9_TRY(const auto ours, submit(*engine, prompt_, temperature, arrive));
      T9_TRY(ours->done.get_future().get());
      replies.push_back(ours->tokens);
      for (auto& other : others) {
        T9_TRY(const auto pending, std::move(other));
        T9_TRY(pending->done.get_future().get());
      }
    }
    compare(*engine, fmt::format("beside {} other{}", n_others, n_others == 1 ? "" : "s"), replies);
    return {};
  }

  Status in_other_shapes() {
    std::vector<uint32_t> threads = {1, 2};
    if (options_.n_threads > 2) threads.push_back(options_.n_threads);
    for (const uint32_t n : threads) {
      EngineOptions options = options_;
      options.n_threads = n;
      T9_TRY(with(options, fmt::format("{} {}", n, n == 1 ? "thread" : "threads")));
    }
    for (const uint32_t rows : kSlices) {
      EngineOptions options = options_;
      options.max_rows = rows;
      T9_TRY(with(options, fmt::format("the prompt in slices of {}", rows)));
    }
    return {};
  }

  Status after_a_restart() {
    EngineOptions options = options_;
    options.kv_folder = plan_.disk_folder;
    options.kv_disk_bytes = uint64_t{4} << 30;
    {
      T9_TRY(auto engine, Engine::create(options));
      T9_TRY(ask(*engine, prompt_));
    }
    return with(options, "the prompt read from disk after a restart");
  }

  Status with(const EngineOptions& options, std::string name) {
    T9_TRY(auto engine, Engine::create(options));
    T9_TRY(const Replies replies, ask(*engine, prompt_));
    compare(*engine, std::move(name), replies);
    return {};
  }

  EngineOptions options_;
  const DeterminismPlan& plan_;
  const std::function<void(const DeterminismCase&)>& on_case_;
  std::vector<TokenId> prompt_;
  Replies expected_;
  bool equal_ = true;
};

}  // namespace

Result<bool> try_determinism(const EngineOptions& options, const DeterminismPlan& plan,
                             const std::function<void(const DeterminismCase&)>& on_case) {
  return Trial(options, plan, on_case).run();
}

}  // namespace tempo9::engine
