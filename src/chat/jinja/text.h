// A string whose bytes know where they came from: the template's author, or outside (messages,
// tools, arguments).
//
// The marks are byte ranges, sorted, disjoint and never touching, so a whole message is one range
// however long it is. Every operation of the template language is built from append and slice,
// which carry the marks along.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tempo9::chat::jinja {

class Text {
 public:
  Text() = default;
  explicit Text(std::string bytes, bool outside = false);

  const std::string& bytes() const { return bytes_; }
  std::string_view view() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

  // The text counts as escaped HTML (Python's Markup): what is added to it is escaped first.
  bool markup() const { return markup_; }
  void set_markup(bool markup) { markup_ = markup; }

  // Is the byte at this place from outside?
  bool outside_at(size_t at) const;
  bool any_outside() const { return !ranges_.empty(); }

  void append(std::string_view bytes, bool outside);
  void append(const Text& other) { append_slice(other, 0, other.size()); }
  // Bytes [begin, end) of other, with their marks. Requires: begin <= end <= other.size(), other is
  // not this.
  void append_slice(const Text& other, size_t begin, size_t end);
  Text slice(size_t begin, size_t end) const;

  // Calls f(bytes, outside) for each longest run of one origin, in order.
  template <typename F>
  void for_each_run(F&& f) const {
    size_t at = 0;
    for (const Range& range : ranges_) {
      if (at < range.begin) f(view().substr(at, range.begin - at), false);
      f(view().substr(range.begin, range.end - range.begin), true);
      at = range.end;
    }
    if (at < size()) f(view().substr(at), false);
  }

 private:
  struct Range {
    size_t begin, end;
  };
  void mark(size_t begin, size_t end);  // begin is not before the last range

  std::string bytes_;
  std::vector<Range> ranges_;
  bool markup_ = false;
};

}  // namespace tempo9::chat::jinja
