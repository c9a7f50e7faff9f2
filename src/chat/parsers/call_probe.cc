#include "chat/call_probe.h"

#include "chat/parsers/bare_calls.h"
#include "chat/parsers/format.h"

namespace tempo9::chat {
namespace {

class BareCallProbe final : public CallProbe {
 public:
  BareCallProbe(const std::vector<Tool>& tools, const OutputFormat& format)
      : calls_(tools, format.bare), open_list_(format.open_list) {}

  Answer feed(std::string_view text) override {
    for (const char c : text) {
      if (answer_ != Answer::kOpen) break;
      if (!calls_.feed(c) || calls_.form() == BareCalls::Form::kListed) {
        answer_ = Answer::kNo;
      } else if (calls_.form() == BareCalls::Form::kAlone) {
        answer_ = Answer::kAlone;
      }
    }
    return answer_;
  }
  std::string list_opening() const override { return open_list_(calls_.name()); }

 private:
  BareCalls calls_;
  std::string (*open_list_)(std::string_view name);
  Answer answer_ = Answer::kOpen;
};

}  // namespace

Result<std::unique_ptr<CallProbe>> make_call_probe(std::string_view name,
                                                   const std::vector<Tool>& tools) {
  T9_TRY(const OutputFormat format, find_format(name));
  if (format.open_list == nullptr || tools.empty()) return nullptr;
  return std::make_unique<BareCallProbe>(tools, format);
}

}  // namespace tempo9::chat
