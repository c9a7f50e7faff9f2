#include "engine/reply.h"

#include <gtest/gtest.h>

#include <memory>

namespace tempo9::engine {
namespace {

struct ReplyFixture {
  explicit ReplyFixture(uint32_t max_new = 1000) : max_new_(max_new) {}

  // Each inner list is an increment.
  void add(const std::vector<std::vector<TokenId>>& increments) {
    if (!reply) reply.emplace(request, max_new_, *tokenizer);
    for (const auto& ids : increments) {
      Increment increment;
      for (const TokenId id : ids) increment.tokens.push_back({.id = id, .logprob = {}, .top = {}});
      add_one(std::move(increment));
    }
  }
  void add_one(Increment increment) {
    if (!reply) reply.emplace(request, max_new_, *tokenizer);
    if (reply->ended()) return;
    events.emplace_back();
    reply->add(std::move(increment), &events.back());
  }
  std::string text() const {
    std::string all;
    for (const Event& event : events) all += event.text;
    return all;
  }
  size_t n_tokens() const {
    size_t n = 0;
    for (const Event& event : events) n += event.tokens.size();
    return n;
  }
  const Event::Finish& finish() const { return *events.back().finish; }

  std::unique_ptr<tokenizer::Tokenizer> tokenizer = tokenizer::make_byte_tokenizer();
  GenerateRequest request;
  std::optional<Reply> reply;
  std::vector<Event> events;
  TokenId end() const { return tokenizer->eos(); }
  TokenId mark(const char* spelling) const { return tokenizer->find(spelling); }

 private:
  uint32_t max_new_;
};

TEST(Reply, EndTokenStopsAndIsNotShown) {
  ReplyFixture f;
  f.request.spell_control = true;
  f.add({{'h'}, {'i'}, {f.end()}, {'x'}});
  EXPECT_EQ(f.text(), "hi");
  EXPECT_EQ(f.finish().reason, FinishReason::kStop);
  EXPECT_FALSE(f.finish().stop_string);
  EXPECT_EQ(f.events.back().tokens.at(0).id, f.end());
  EXPECT_EQ(f.reply->n_tokens(), 3u);
}

TEST(Reply, IgnoredEndTokenIsAnOrdinaryOne) {
  ReplyFixture f(4);
  f.request.ignore_eos = true;
  f.request.spell_control = true;
  f.add({{'a'}, {f.end()}, {'b'}, {'c'}, {'d'}});
  EXPECT_EQ(f.text(), "a<|im_end|>bc");
  EXPECT_EQ(f.finish().reason, FinishReason::kLength);
}

TEST(Reply, StopTokenIds) {
  ReplyFixture f;
  f.request.stop_token_ids = {'c'};
  f.request.ignore_eos = true;
  f.add({{'a', 'b', 'c', 'd'}});
  EXPECT_EQ(f.text(), "ab");
  EXPECT_EQ(f.n_tokens(), 3u);
  EXPECT_EQ(f.finish().reason, FinishReason::kStop);
}

TEST(Reply, LengthCountsTokensAlsoInsideAnIncrement) {
  ReplyFixture f(3);
  f.add({{'a', 'b'}, {'c', 'd', 'e'}});
  EXPECT_EQ(f.text(), "abc");
  EXPECT_EQ(f.n_tokens(), 3u);
  EXPECT_EQ(f.finish().reason, FinishReason::kLength);
}

TEST(Reply, StopStringAcrossTokensAndIncrements) {
  ReplyFixture f;
  f.request.stop = {"aab"};
  f.add({{'a'}, {'a'}, {'a'}, {'b', 'z'}, {'c'}});
  EXPECT_EQ(f.text(), "a");
  EXPECT_EQ(f.n_tokens(), 4u);  // the token that completed it is the last one
  EXPECT_EQ(*f.finish().stop_string, "aab");
  EXPECT_EQ(f.finish().reason, FinishReason::kStop);
}

TEST(Reply, AStopStringOnTheLastAllowedTokenIsAStop) {
  ReplyFixture f(2);
  f.request.stop = {"b"};
  f.add({{'a'}, {'b'}});
  EXPECT_EQ(f.finish().reason, FinishReason::kStop);
}

TEST(Reply, HeldBackTextIsShownAtTheEnd) {
  ReplyFixture f(3);
  f.request.stop = {"xyz"};
  f.add({{'a'}, {'x'}, {'y'}});
  EXPECT_EQ(f.events[1].text, "");
  EXPECT_EQ(f.text(), "axy");
  EXPECT_EQ(f.finish().reason, FinishReason::kLength);
}

TEST(Reply, WholeCharactersOnlyAndReplacementOnlyAtTheEnd) {
  ReplyFixture f(5);
  f.add({{0xF0}, {0x9F}, {0xA7}, {0x91}, {0xE2}});
  EXPECT_EQ(f.events[2].text, "");
  EXPECT_EQ(f.events[3].text, "\xF0\x9F\xA7\x91");
  EXPECT_EQ(f.events[4].text, "\xEF\xBF\xBD");
}

TEST(Reply, ControlTokensAreSilentUnlessSpelled) {
  ReplyFixture f;
  f.add({{'a'}, {f.mark("<think>")}, {'b'}});
  EXPECT_EQ(f.text(), "ab");
  EXPECT_TRUE(f.events[1].marks.empty());
}

TEST(Reply, MarksAreRangesOfTheirEventsText) {
  ReplyFixture f;
  f.request.spell_control = true;
  f.add({{'<', f.mark("<think>"), 'b', f.mark("</think>")}, {'c'}});
  EXPECT_EQ(f.events[0].text, "<<think>b</think>");
  using Range = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(f.events[0].marks, (std::vector<Range>{{1, 8}, {9, 17}}));
  EXPECT_TRUE(f.events[1].marks.empty());
}

TEST(Reply, AMarkIsNeverSplitByWhatAStopHoldsBack) {
  ReplyFixture f;
  f.request.spell_control = true;
  f.request.stop = {"k>!"};
  f.add({{'a', f.mark("<think>")}, {'b'}});
  EXPECT_EQ(f.events[0].text, "a");
  EXPECT_TRUE(f.events[0].marks.empty());
  EXPECT_EQ(f.events[1].text, "<think>b");
  EXPECT_EQ(f.events[1].marks.size(), 1u);

  ReplyFixture cut;  // a stop inside a mark leaves text, not a mark
  cut.request.spell_control = true;
  cut.request.stop = {"ink"};
  cut.add({{cut.mark("<think>")}});
  EXPECT_EQ(cut.text(), "<th");
  EXPECT_TRUE(cut.events[0].marks.empty());
}

TEST(Reply, MarksAfterGarbageAndInLaterEvents) {
  ReplyFixture f;
  f.request.spell_control = true;
  f.add({{0xE2}, {f.mark("<think>")}, {'x'}});
  EXPECT_EQ(f.events[0].text, "");
  EXPECT_EQ(f.events[1].text, "\xEF\xBF\xBD<think>");
  using Range = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(f.events[1].marks, (std::vector<Range>{{3, 10}}));
}

TEST(Reply, TheExecutorsOwnTextAndEnd) {
  ReplyFixture f;
  f.add_one(
      {.tokens = {{.id = 'a', .logprob = {}, .top = {}}, {.id = 'b', .logprob = {}, .top = {}}},
       .bytes = "whole",
       .finish = std::nullopt});
  f.add_one({.tokens = {}, .bytes = {}, .finish = Event::Finish{.reason = FinishReason::kError}});
  EXPECT_EQ(f.events[0].text, "whole");
  EXPECT_EQ(f.events[0].tokens.size(), 2u);
  EXPECT_EQ(f.finish().reason, FinishReason::kError);
}

}  // namespace
}  // namespace tempo9::engine
