#include "chat/jinja/text.h"

#include <algorithm>
#include <utility>

namespace tempo9::chat::jinja {

Text::Text(std::string bytes, bool outside) : bytes_(std::move(bytes)) {
  if (outside) mark(0, bytes_.size());
}

bool Text::outside_at(size_t at) const {
  auto it = std::upper_bound(ranges_.begin(), ranges_.end(), at,
                             [](size_t key, const Range& range) { return key < range.end; });
  return it != ranges_.end() && it->begin <= at;
}

void Text::mark(size_t begin, size_t end) {
  if (begin == end) return;
  if (!ranges_.empty() && ranges_.back().end == begin) {
    ranges_.back().end = end;
  } else {
    ranges_.push_back({begin, end});
  }
}

void Text::append(std::string_view bytes, bool outside) {
  size_t begin = bytes_.size();
  bytes_.append(bytes);
  if (outside) mark(begin, bytes_.size());
}

void Text::append_slice(const Text& other, size_t begin, size_t end) {
  size_t base = bytes_.size();
  bytes_.append(other.bytes_, begin, end - begin);
  auto it = std::upper_bound(other.ranges_.begin(), other.ranges_.end(), begin,
                             [](size_t key, const Range& range) { return key < range.end; });
  for (; it != other.ranges_.end() && it->begin < end; ++it) {
    mark(base + std::max(it->begin, begin) - begin, base + std::min(it->end, end) - begin);
  }
}

Text Text::slice(size_t begin, size_t end) const {
  Text out;
  out.append_slice(*this, begin, end);
  out.markup_ = markup_;
  return out;
}

}  // namespace tempo9::chat::jinja
