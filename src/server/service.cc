#include "server/service.h"

#include <chrono>
#include <random>
#include <utility>

#include "grammar/library.h"

namespace tempo9::server {
namespace {

// SplitMix64 (Steele, Lea and Flood 2014): a bijection, so that different inputs give different
// ids.
uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

std::string spelling(const tokenizer::Tokenizer& tokenizer, TokenId id) {
  return id < 0 ? std::string() : std::string(tokenizer.token_bytes(id, /*spell_control=*/true));
}

}  // namespace

Service::Service(engine::Engine& engine)
    : engine_(engine),
      control_(engine.tokenizer()),
      library_(std::make_shared<grammar::Library>(&engine.tokenizer())) {
  created_ = std::chrono::duration_cast<std::chrono::seconds>(
                 std::chrono::system_clock::now().time_since_epoch())
                 .count();
  std::random_device device;
  id_key_ = (static_cast<uint64_t>(device()) << 32) ^ device();
}

Result<std::shared_ptr<Service>> Service::create(engine::Engine& engine, const Options& options) {
  std::shared_ptr<Service> service(new Service(engine));
  service->name_ = options.name.empty() ? engine.info().name : options.name;
  service->log_ = options.log;
  service->metrics_ = std::make_unique<Metrics>(service->name_);
  const tokenizer::Tokenizer& tokenizer = engine.tokenizer();
  const std::string source =
      options.template_source ? *options.template_source : engine.info().chat_template.value_or("");
  if (!source.empty()) {
    auto compiled = chat::ChatTemplate::compile(
        source, {spelling(tokenizer, tokenizer.bos()), spelling(tokenizer, tokenizer.eos())});
    if (compiled) {
      service->template_ = std::move(*compiled);
      service->format_ = chat::choose_format(source, service->vocab_lookup());
    } else if (options.template_source) {
      return std::move(compiled).error();
    } else {
      service->template_error_ = compiled.error().message;
      service->warning_ =
          "the model's own chat template cannot be used: " + compiled.error().message;
    }
  }
  if (!options.format.empty()) service->format_ = options.format;
  return service;
}

Result<const chat::ChatTemplate*> Service::chat_template() const {
  if (template_) return &*template_;
  if (!template_error_.empty()) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "messages: the model's own chat template cannot be used ({}); start the server with "
        "--chat-template-file, or use /v1/completions",
        template_error_);
  }
  return make_error(ErrorCode::kInvalidArgument,
                    "messages: the model file has no chat template; start the server with "
                    "--chat-template-file, or use "
                    "/v1/completions");
}

chat::VocabLookup Service::vocab_lookup() const {
  return [&tokenizer = tokenizer()](std::string_view text) {
    const TokenId id = tokenizer.find(text);
    if (id < 0) return false;
    const tokenizer::TokenType type = tokenizer.type(id);
    return type == tokenizer::TokenType::kControl || type == tokenizer::TokenType::kUserDefined;
  };
}

uint64_t Service::draw() const { return mix(id_key_ + n_ids_.fetch_add(1)); }

std::string Service::make_id(std::string_view prefix) const {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::string id(prefix);
  // 12 base-36 digits hold 62 bits of each draw: enough that two ids do not meet.
  for (int half = 0; half < 2; ++half) {
    uint64_t value = draw();
    for (int i = 0; i < 12; ++i, value /= kDigits.size()) id += kDigits[value % kDigits.size()];
  }
  return id;
}

}  // namespace tempo9::server
