#include "engine/cache_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

namespace tempo9::engine {
namespace {

using tokenizer::TokenId;

constexpr size_t kKnown = 32;
constexpr size_t kTokensBefore = 24;
constexpr size_t kTokensAfter = 48;
// Fewer equal tokens than this are chance, or the template's first words.
constexpr uint32_t kAlike = 16;
// A hit ends at any token; this much is lost to what a page border may cost.
constexpr uint32_t kPage = kv::kPageTokens;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The text with each digit as 0 and each letter as a: what kind of thing it is, not which.
std::string shape(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (is_digit(c)) c = '0';
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) c = 'a';
  }
  return out;
}

// The word around the difference: what follows the last space before it, up to the next one.
std::string word(std::string_view before, std::string_view rest) {
  const size_t begin = before.find_last_of(" \n\t\"");
  const size_t end = rest.find_first_of(" \n\t\"");
  return std::string(before.substr(begin == std::string_view::npos ? 0 : begin + 1)) +
         std::string(rest.substr(0, end));
}

bool is_identifier(std::string_view word) {
  const auto n_hex = std::ranges::count_if(
      word, [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
  return word.size() >= 6 && n_hex >= static_cast<std::ptrdiff_t>(word.size() * 3 / 4) &&
         std::ranges::any_of(word, is_digit);
}

std::multiset<std::string> quoted_words(std::string_view text) {
  std::multiset<std::string> words;
  for (size_t at = text.find('"'); at != std::string_view::npos;) {
    const size_t end = text.find('"', at + 1);
    if (end == std::string_view::npos) break;
    words.insert(std::string(text.substr(at + 1, end - at - 1)));
    at = text.find('"', end + 1);
  }
  return words;
}

// Most of the quoted words of both are the same ones, but not in the same order.
bool is_reordered(std::string_view was, std::string_view now) {
  const auto a = quoted_words(was), b = quoted_words(now);
  std::vector<std::string> common;
  std::ranges::set_intersection(a, b, std::back_inserter(common));
  return common.size() >= 2 && 3 * common.size() >= 2 * std::min(a.size(), b.size());
}

bool names_month_or_day(std::string_view text) {
  static constexpr const char* kNames[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul",
                                           "Aug", "Sep", "Oct", "Nov", "Dec", "Mon", "Tue",
                                           "Wed", "Thu", "Fri", "Sat", "Sun"};
  return std::ranges::any_of(kNames, [&](const char* name) { return text.starts_with(name); });
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string cause_of(const CacheReport::Difference& d) {
  const std::string was = word(d.before, d.was), now = word(d.before, d.now);
  const std::string line = d.before.substr(d.before.rfind('\n') + 1);
  const std::string was_shape = shape(was), now_shape = shape(now);
  if (contains(line, "billing") || contains(line, "cch=")) return "a billing stamp that changes";
  if (contains(was_shape, "0:00") && contains(now_shape, "0:00")) {
    return "a time stamp that changes";
  }
  if ((contains(was_shape, "0000-00-00") && contains(now_shape, "0000-00-00")) ||
      (contains(was_shape, "0/00/") && contains(now_shape, "0/00/")) ||
      (names_month_or_day(was) && names_month_or_day(now))) {
    return "a date that changes";
  }
  if (contains(d.was, "<think>") && !contains(d.now, "<think>")) {
    return "thinking that the conversation no longer holds";
  }
  if (is_identifier(was) && is_identifier(now)) return "an id or nonce that changes";
  if (std::ranges::all_of(was, is_digit) && std::ranges::all_of(now, is_digit) && !was.empty()) {
    return "a number that changes";
  }
  if (is_reordered(d.was, d.now)) return "the same keys in another order";
  return "other text";
}

std::string CacheReporter::text(std::span<const TokenId> tokens) const {
  std::string out;
  for (const TokenId id : tokens) {
    out += tokenizer_->token_bytes(id, /*spell_control=*/true);
  }
  return out;
}

// The word behind the control token that begins the message, in templates that have such.
std::string CacheReporter::place_of(std::span<const TokenId> tokens, size_t position) const {
  for (size_t i = position; i-- > 0;) {
    if (tokenizer_->type(tokens[i]) != tokenizer::TokenType::kControl) continue;
    const std::string head =
        text(tokens.subspan(i + 1, std::min<size_t>(8, tokens.size() - i - 1)));
    for (const char* role : {"system", "developer", "user", "assistant", "tool", "model"}) {
      if (head.starts_with(role)) return role;
    }
  }
  return "";
}

CacheReport CacheReporter::report(std::span<const TokenId> prompt,
                                  const kv::CachedTokens& cached) const {
  CacheReport report;
  report.prompt_tokens = static_cast<uint32_t>(prompt.size());
  report.cached = cached;
  const std::vector<TokenId>* nearest = nullptr;
  for (auto it = known_.rbegin(); it != known_.rend(); ++it) {
    const auto n = static_cast<uint32_t>(std::ranges::mismatch(prompt, *it).in1 - prompt.begin());
    if (n > report.alike_tokens) {
      report.alike_tokens = n;
      nearest = &*it;
    }
  }
  if (report.alike_tokens < kAlike) {
    report.alike_tokens = 0;
    report.cause = cached.total() + kPage < prompt.size() ? "nothing alike was asked lately" : "";
    return report;
  }
  const size_t at = report.alike_tokens;
  if (at < prompt.size() && at < nearest->size()) {
    const size_t begin = at - std::min(at, kTokensBefore);
    const auto old = std::span(*nearest);
    report.difference = CacheReport::Difference{
        .before = text(prompt.subspan(begin, at - begin)),
        .was = text(old.subspan(at, std::min(kTokensAfter, old.size() - at))),
        .now = text(prompt.subspan(at, std::min(kTokensAfter, prompt.size() - at))),
        .place = place_of(prompt, at)};
  }
  if (cached.total() + kPage < at) {
    report.cause = has_states_
                       ? "recurrent layers go on from a kept state only, and the nearest one "
                         "stands where the hit ends"
                       : "its pages were given to others meanwhile";
  } else if (report.difference) {
    report.cause = cause_of(*report.difference);
    if (!report.difference->place.empty()) {
      report.cause += fmt::format(" in {} text", report.difference->place);
    }
  }
  return report;
}

void CacheReporter::remember(std::vector<TokenId> tokens) {
  known_.push_back(std::move(tokens));
  if (known_.size() > kKnown) known_.pop_front();
}

}  // namespace tempo9::engine
