// For tests: an engine whose events come from the test. Token ids are bytes (the tokenizer of
// script mode).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace tempo9::server::testing {

class FakeEngine final : public engine::Engine {
 public:
  struct Submitted {
    engine::GenerateRequest request;
    engine::EventSink sink;
    bool cancelled = false;
  };

  FakeEngine() : tokenizer_(tokenizer::make_byte_tokenizer()) {
    info_.name = "fake";
    info_.max_length = 1000;
    info_.is_script = true;
    info_.chat_template =
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
  }

  Result<engine::RequestId> submit(engine::GenerateRequest request,
                                   engine::EventSink sink) override {
    if (refuse_from <= submitted.size())
      return make_error(ErrorCode::kInvalidArgument, "top_p: refused");
    submitted.push_back({std::move(request), std::move(sink)});
    return submitted.size() - 1;
  }
  void cancel(engine::RequestId id) override { submitted.at(id).cancelled = true; }
  const engine::ModelInfo& info() const override { return info_; }
  const tokenizer::Tokenizer& tokenizer() const override { return *tokenizer_; }
  engine::Stats stats() const override { return stats_; }

  void say(size_t id, std::string text) {
    engine::Event event;
    event.text = std::move(text);
    submitted.at(id).sink(std::move(event));
  }
  void end(size_t id, engine::FinishReason reason, uint32_t n_prompt = 5, uint32_t n_new = 3) {
    engine::Event event;
    event.finish = engine::Event::Finish{.reason = reason};
    event.usage = {.prompt_tokens = n_prompt, .cached_tokens = 2, .completion_tokens = n_new};
    submitted.at(id).sink(std::move(event));
  }

  // Before a service is made of it.
  void add_control_tokens(const std::vector<std::string>& spellings) {
    tokenizer::VocabData vocab = tokenizer_->vocab();
    for (const std::string& spelling : spellings) {
      vocab.tokens.emplace_back(spelling);
      vocab.types.push_back(static_cast<int32_t>(tokenizer::TokenType::kControl));
    }
    tokenizer_ = std::move(*tokenizer::make_tokenizer(std::move(vocab)));
  }

  engine::ModelInfo info_;
  engine::Stats stats_;
  std::vector<Submitted> submitted;
  size_t refuse_from = SIZE_MAX;

 private:
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
};

}  // namespace tempo9::server::testing
