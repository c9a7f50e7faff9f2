// Where in Markdown the reply's text stands: at the start of a line, in a fence, in quotes.
#pragma once

#include <string>
#include <string_view>

namespace tempo9::chat {

class Prose {
 public:
  // Passes what stands at the front of rest (one byte, or the marks of a fence) and returns its
  // size; 0: it depends on what follows. REQUIRES: rest is not empty.
  size_t pass(std::string_view rest, bool is_last);

  // No more than white space stands on the line so far.
  bool at_line_start() const { return at_line_start_; }
  // Goes on behind a call.
  void resume(bool at_line_start) {
    at_line_start_ = at_line_start;
    last_ = '\0';
  }
  bool in_fence() const { return fence_size_ > 0; }
  // A call that begins here is an example, and no call: directly behind a backtick, or in a fence
  // of more than three marks or of another language than models put their calls in. Once true, it
  // holds up to the next backtick or empty line, or to the fence's end.
  bool quotes();

 private:
  bool at_line_start_ = true;
  char last_ = '\0';
  bool quoted_ = false;
  char fence_ = '\0';
  size_t fence_size_ = 0;
  bool in_info_ = false;  // on the line that opened the fence
  std::string info_;
};

}  // namespace tempo9::chat
