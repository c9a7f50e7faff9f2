#include "tokenizer/special_matcher.h"

namespace tempo9::tokenizer {

void SpecialMatcher::reserve(size_t n_bytes) { edges_.reserve(n_bytes); }

void SpecialMatcher::add(std::string_view spelling, TokenId id, bool control) {
  if (spelling.empty()) return;
  uint32_t node = 0;
  for (const char c : spelling) {
    const auto byte = static_cast<unsigned char>(c);
    const uint32_t* next =
        node == 0 ? (first_[byte] == 0 ? nullptr : &first_[byte]) : edges_.find(edge(node, byte));
    if (next != nullptr) {
      node = *next;
      continue;
    }
    const auto fresh = static_cast<uint32_t>(nodes_.size());
    nodes_.emplace_back();
    if (node == 0) {
      first_[byte] = fresh;
    } else {
      edges_.insert(edge(node, byte), fresh);
    }
    node = fresh;
  }
  if (nodes_[node].id == -1) nodes_[node] = {id, control};
}

SpecialMatcher::Match SpecialMatcher::find(std::string_view text, size_t from,
                                           bool control_too) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    uint32_t node = first_[static_cast<unsigned char>(text[begin])];
    if (node == 0) continue;
    Match match;
    for (size_t end = begin + 1;; ++end) {
      if (nodes_[node].id != -1 && (control_too || !nodes_[node].control))
        match = {begin, end, nodes_[node].id};
      if (end == text.size()) break;
      const uint32_t* next = edges_.find(edge(node, static_cast<unsigned char>(text[end])));
      if (next == nullptr) break;
      node = *next;
    }
    if (match.id != -1) return match;
  }
  return {};
}

}  // namespace tempo9::tokenizer
