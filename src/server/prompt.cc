#include "server/prompt.h"

#include <algorithm>

namespace tempo9::server {

ControlTokens::ControlTokens(const tokenizer::Tokenizer& tokenizer) {
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    if (tokenizer.type(id) != tokenizer::TokenType::kControl) continue;
    const std::string_view spelling = tokenizer.token_bytes(id, /*spell_control=*/true);
    if (spelling.empty()) continue;
    by_first_byte_[static_cast<unsigned char>(spelling.front())].push_back(
        {std::string(spelling), id});
  }
  for (auto& entries : by_first_byte_) {
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.spelling.size() > b.spelling.size();
    });
  }
}

std::string_view ControlTokens::match(std::string_view text, TokenId* id) const {
  if (text.empty()) return {};
  for (const Entry& entry : by_first_byte_[static_cast<unsigned char>(text.front())]) {
    if (text.starts_with(entry.spelling)) {
      *id = entry.id;
      return entry.spelling;
    }
  }
  return {};
}

void EncodedTexts::encode(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                          std::vector<TokenId>* ids) {
  // To find a short one costs as much as its tokens.
  constexpr size_t kShort = 64;
  if (text.size() < kShort) {
    if (!text.empty()) tokenizer.encode(text, {}, ids);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_text_.find(text); found != by_text_.end()) {
      ++n_found_;
      entries_.splice(entries_.begin(), entries_, found->second);
      ids->insert(ids->end(), found->second->ids.begin(), found->second->ids.end());
      return;
    }
  }
  Entry entry{.text = std::string(text), .ids = {}};
  tokenizer.encode(text, {}, &entry.ids);
  ids->insert(ids->end(), entry.ids.begin(), entry.ids.end());
  if (entry.n_bytes() > max_bytes_) return;
  const std::lock_guard lock(mutex_);
  if (by_text_.contains(text)) return;  // another request was faster
  n_bytes_ += entry.n_bytes();
  entries_.push_front(std::move(entry));
  by_text_.emplace(entries_.front().text, entries_.begin());
  while (n_bytes_ > max_bytes_) {
    n_bytes_ -= entries_.back().n_bytes();
    by_text_.erase(entries_.back().text);
    entries_.pop_back();
  }
}

size_t EncodedTexts::n_bytes() const {
  const std::lock_guard lock(mutex_);
  return n_bytes_;
}

size_t EncodedTexts::n_found() const {
  const std::lock_guard lock(mutex_);
  return n_found_;
}

std::vector<TokenId> encode_segments(const tokenizer::Tokenizer& tokenizer,
                                     const ControlTokens& control,
                                     const std::vector<chat::Segment>& segments,
                                     EncodedTexts* known) {
  std::vector<TokenId> ids;
  std::string plain;
  const auto flush = [&] {
    if (known != nullptr) {
      known->encode(tokenizer, plain, &ids);
    } else if (!plain.empty()) {
      tokenizer.encode(plain, {}, &ids);
    }
    plain.clear();
  };
  for (size_t k = 0; k < segments.size();) {
    // Neighbours of one kind are one text: a control token may be spelled across them.
    const bool is_template = segments[k].is_template;
    std::string joined;
    for (; k < segments.size() && segments[k].is_template == is_template; ++k)
      joined += segments[k].text;
    if (!is_template) {
      plain += joined;
      continue;
    }
    for (std::string_view rest = joined; !rest.empty();) {
      TokenId id = -1;
      const std::string_view spelling = control.match(rest, &id);
      if (spelling.empty()) {
        plain += rest.front();
        rest.remove_prefix(1);
      } else {
        flush();
        ids.push_back(id);
        rest.remove_prefix(spelling.size());
      }
    }
  }
  flush();
  return ids;
}

}  // namespace tempo9::server
