// For tests: a scheduler over a model in a line, and its naive twin.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "kv/testing/fake_arena.h"
#include "kv/testing/tokens.h"
#include "sched/scheduler.h"

namespace tempo9::sched {

using kv::testing::iota;
using kv::testing::Tokens;

// A model in a line: the next token is a function of the hash of all tokens before it.
inline TokenId next_token(uint64_t hash) { return static_cast<TokenId>((hash >> 40) % 3); }

// The naive twin: one request, alone, nothing cached, nothing paged.
inline Tokens alone(const Tokens& prompt, size_t n_new) {
  uint64_t hash = 0;
  for (const TokenId token : prompt) {
    hash = kv::testing::FakeArena::step(hash, token);
  }
  Tokens reply;
  while (reply.size() < n_new) {
    reply.push_back(next_token(hash));
    hash = kv::testing::FakeArena::step(hash, reply.back());
  }
  return reply;
}

struct Fixture {
  explicit Fixture(uint32_t n_pages, Limits l = {})
      : Fixture(kv::CacheOptions{.n_pages = n_pages}, l) {}
  Fixture(const kv::CacheOptions& pages, Limits l)
      : limits(l),
        arena(pages.n_pages, pages.classes, pages.n_states),
        cache(pages, {1, 2}, &arena),
        scheduler(limits, &cache) {}

  void add(SequenceId id, const Tokens& prompt, size_t n_new, bool all_logits = false,
           uint64_t session = 0) {
    scheduler.add({.id = id, .prompt = prompt, .all_logits = all_logits, .session = session});
    wanted[id] = n_new;
    prompts[id] = prompt;
  }
  void remove(SequenceId id) {
    scheduler.remove(id);
    wanted.erase(id);
  }

  // One step; checks the rules of a plan, runs it on the arena, removes what is finished.
  void step() {
    plan = {};
    const auto slices = scheduler.plan();
    ASSERT_EQ(slices.empty(), wanted.empty());
    std::vector<SliceResult> results;
    size_t n_rows = 0, n_logit_rows = 0, n_reply_rows = 0;
    for (const Slice& slice : slices) {
      plan.push_back({slice.id, slice.n_past, slice.tokens.size()});
      n_rows += slice.tokens.size();
      n_reply_rows += slice.tokens.size() == 1 ? 1 : 0;
      n_logit_rows += slice.tokens.size() - slice.first_logit_row;
      cached[slice.id] = slice.cached.total();
      sources[slice.id] = slice.cached;
      const uint64_t hash =
          arena.compute(slice.pages, slice.n_past, slice.tokens, slice.states.in, slice.states.out);
      results.push_back({.n_rows = static_cast<uint32_t>(slice.tokens.size()), .tokens = {}});
      for (size_t r = slice.first_logit_row; r < slice.tokens.size(); ++r) {
        logits_at[slice.id].push_back(slice.n_past + r);
      }
      if (slice.samples) {
        results.back().tokens.push_back(next_token(hash));
        replies[slice.id].push_back(next_token(hash));
      }
    }
    ASSERT_LE(n_rows, limits.max_rows);
    ASSERT_LE(n_logit_rows, limits.max_logit_rows);
    ASSERT_LE(slices.size(), limits.max_batch);
    n_computed_rows += n_rows;
    scheduler.apply(results, ms_of_step ? ms_of_step(n_reply_rows, n_rows - n_reply_rows) : 0);
    check();
    for (const auto& p : plan) {
      if (wanted.contains(p.id) && replies[p.id].size() >= wanted[p.id]) {
        remove(p.id);
        finished.push_back(p.id);
      }
    }
    check();
  }
  void run() {
    for (int i = 0; i < 100000 && !wanted.empty(); ++i) {
      ASSERT_NO_FATAL_FAILURE(step());
    }
    ASSERT_TRUE(wanted.empty());
  }
  void check() {
    const Status status = scheduler.check_integrity();
    ASSERT_TRUE(status) << status.error().message;
  }
  bool right(SequenceId id) { return replies[id] == alone(prompts[id], replies[id].size()); }

  struct Planned {
    SequenceId id;
    uint32_t n_past;
    size_t n_rows;
    bool operator==(const Planned&) const = default;
  };
  Limits limits;
  kv::testing::FakeArena arena;
  kv::Cache cache;
  Scheduler scheduler;
  std::vector<Planned> plan;
  std::map<SequenceId, size_t> wanted;
  std::map<SequenceId, Tokens> prompts, replies;
  std::map<SequenceId, uint32_t> cached;
  std::map<SequenceId, kv::CachedTokens> sources;
  std::map<SequenceId, std::vector<size_t>> logits_at;
  std::vector<SequenceId> finished;
  size_t n_computed_rows = 0;
  std::function<double(size_t, size_t)> ms_of_step;  // of rows of replies and of prompts
};
using Planned = Fixture::Planned;

}  // namespace tempo9::sched
