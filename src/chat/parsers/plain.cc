// "none": a reply is text.
#include "chat/parsers/plain.h"

#include <utility>

#include "chat/parsers/format.h"

namespace tempo9::chat {
namespace {

class PlainParser : public OutputParser {
 public:
  void feed(std::string_view increment, bool, std::vector<Event>* out) override {
    if (!increment.empty())
      out->emplace_back(std::in_place_type<TextDelta>, std::string(increment));
  }
  void finish(FinishReason, std::vector<Event>*) override {}
};

// The length of a whole, valid sequence at the front; 0 if more bytes are needed, -1 if the first
// byte is none.
int sequence_length(std::string_view s) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  int n = lead >= 0xC2 && lead < 0xE0   ? 2
          : lead >= 0xE0 && lead < 0xF0 ? 3
          : lead >= 0xF0 && lead < 0xF5 ? 4
                                        : -1;
  if (n < 0) return -1;
  unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (int i = 1; i < n; ++i) {
    if (static_cast<size_t>(i) >= s.size()) return 0;
    unsigned char c = byte(static_cast<size_t>(i));
    if (c < (i == 1 ? low : 0x80) || c > (i == 1 ? high : 0xBF)) return -1;
  }
  return n;
}

class Utf8Joiner : public OutputParser {
 public:
  explicit Utf8Joiner(std::unique_ptr<OutputParser> rest) : rest_(std::move(rest)) {}

  void feed(std::string_view increment, bool is_token, std::vector<Event>* out) override {
    bool joined = !held_.empty();
    held_ += increment;
    std::string whole = take_whole(false);
    if (!whole.empty()) rest_->feed(whole, is_token && !joined, out);
  }

  void finish(FinishReason reason, std::vector<Event>* out) override {
    std::string whole = take_whole(true);
    if (!whole.empty()) rest_->feed(whole, false, out);
    rest_->finish(reason, out);
  }

 private:
  std::string take_whole(bool last) {
    std::string whole;
    size_t at = 0;
    while (at < held_.size()) {
      int n = sequence_length(std::string_view(held_).substr(at));
      if (n == 0 && !last) break;
      if (n <= 0) {
        whole += "\xEF\xBF\xBD";
        ++at;
      } else {
        whole.append(held_, at, static_cast<size_t>(n));
        at += static_cast<size_t>(n);
      }
    }
    held_.erase(0, at);
    return whole;
  }

  std::unique_ptr<OutputParser> rest_;
  std::string held_;
};

}  // namespace

std::unique_ptr<OutputParser> make_utf8_joiner(std::unique_ptr<OutputParser> rest) {
  return std::make_unique<Utf8Joiner>(std::move(rest));
}

std::unique_ptr<OutputParser> make_plain_parser() { return std::make_unique<PlainParser>(); }

OutputFormat plain() { return {}; }

}  // namespace tempo9::chat
