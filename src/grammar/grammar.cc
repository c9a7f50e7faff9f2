#include "grammar/grammar.h"

#include <dlpack/dlpack.h>
#include <xgrammar/xgrammar.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "base/check.h"

namespace tempo9::grammar {

struct Grammar::Impl {
  xgrammar::CompiledGrammar compiled;
  size_t n_tokens = 0;
};

struct Matcher::Impl {
  xgrammar::GrammarMatcher matcher;
  xgrammar::TokenizerInfo vocab;
  size_t n_tokens = 0;
};

struct Compiler::Impl {
  xgrammar::GrammarCompiler compiler;
  size_t n_tokens = 0;
};

namespace {

// Masks that grammars of one compiler share.
constexpr int64_t kRuleCacheBytes = int64_t{96} << 20;

// XGrammar puts the time and its own source line before what it has to say; neither helps who sent
// the grammar.
std::string_view reason_of(const std::exception& error) {
  std::string_view text = error.what();
  if (text.starts_with('[')) {
    const size_t at = text.find(".cc:");
    const size_t colon = at == std::string_view::npos ? at : text.find(": ", at);
    if (colon != std::string_view::npos) text.remove_prefix(colon + 2);
  }
  constexpr std::string_view kCheck = ") is false: ";
  if (const size_t at = text.find(kCheck);
      text.starts_with("Check failed: (") && at != std::string_view::npos) {
    text.remove_prefix(at + kCheck.size());
  }
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

// XGrammar throws. Everything that calls it goes through here.
template <typename T, typename F>
Result<T> guarded(ErrorCode code, std::string_view what, F&& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    return make_error(code, "{}: {}", what, reason_of(error));
  }
}

// A token without text that does not end the reply either.
bool is_control(const Matcher::Impl& impl, TokenId id) {
  return impl.vocab.GetDecodedVocab()[static_cast<size_t>(id)].empty() &&
         std::ranges::count(impl.vocab.GetStopTokenIds(), id) == 0;
}

template <typename F>
Result<Grammar> compile(size_t n_tokens, std::string_view what, std::string_view source, F&& call) {
  if (source.size() > kMaxSourceBytes) {
    return make_error(ErrorCode::kInvalidArgument, "{}: found {} bytes, expected at most {}", what,
                      source.size(), kMaxSourceBytes);
  }
  return guarded<Grammar>(ErrorCode::kInvalidArgument, what, [&] {
    return Grammar(
        std::make_shared<Grammar::Impl>(Grammar::Impl{call(std::string(source)), n_tokens}));
  });
}

}  // namespace

Vocab vocab_of(const tokenizer::Tokenizer& tokenizer) {
  Vocab vocab;
  vocab.tokens.reserve(static_cast<size_t>(tokenizer.size()));
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    const bool ends = tokenizer.ends_generation(id);
    if (ends) vocab.end_tokens.push_back(id);
    std::string text(ends ? std::string_view() : tokenizer.token_bytes(id, false));
    if (text.empty() && !ends && !tokenizer.token_bytes(id, true).empty()) {
      text = kControlByte;
      text += tokenizer.token_bytes(id, true);
    }
    vocab.tokens.push_back(std::move(text));
  }
  return vocab;
}

Matcher::Matcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Matcher::Matcher(Matcher&&) noexcept = default;
Matcher& Matcher::operator=(Matcher&&) noexcept = default;
Matcher::~Matcher() = default;

Status Matcher::fill_mask(std::span<uint32_t> mask) {
  T9_CHECK(mask.size() == mask_words(impl_->n_tokens));
  if (ended()) {
    std::ranges::fill(mask, 0U);
    return {};
  }
  std::array<int64_t, 1> shape = {static_cast<int64_t>(mask.size())};
  DLTensor tensor = {.data = mask.data(),
                     .device = {.device_type = kDLCPU, .device_id = 0},
                     .ndim = 1,
                     .dtype = xgrammar::GetBitmaskDLType(),
                     .shape = shape.data(),
                     .strides = nullptr,
                     .byte_offset = 0};
  return guarded<void>(ErrorCode::kInternal, "grammar mask", [&]() -> Status {
    // False means that every token is allowed; whether the mask was then written is not promised.
    if (!impl_->matcher.FillNextTokenBitmask(&tensor)) std::ranges::fill(mask, ~0U);
    if (const size_t rest = impl_->n_tokens % 32; rest != 0) mask.back() &= (1U << rest) - 1U;
    return {};
  });
}

Result<bool> Matcher::accept(TokenId id) {
  // Asked first, since XGrammar prints a line for each of these.
  if (ended() || id < 0 || static_cast<size_t>(id) >= impl_->n_tokens || is_control(*impl_, id)) {
    return false;
  }
  return guarded<bool>(ErrorCode::kInternal, "grammar step",
                       [&] { return impl_->matcher.AcceptToken(id); });
}

Result<bool> Matcher::accept_text(std::string_view text) {
  if (text.empty()) return true;
  if (ended()) return false;
  return guarded<bool>(ErrorCode::kInternal, "grammar step",
                       [&] { return impl_->matcher.AcceptString(std::string(text)); });
}

Status Matcher::roll_back(int n_tokens) {
  return guarded<void>(ErrorCode::kInternal, "grammar roll-back", [&]() -> Status {
    impl_->matcher.Rollback(n_tokens);
    return {};
  });
}

bool Matcher::can_end() const { return impl_->matcher.IsCompleted(); }
std::string_view Matcher::token_text(TokenId id) const {
  return impl_->vocab.GetDecodedVocab()[static_cast<size_t>(id)];
}

std::vector<std::pair<std::string, std::string>> Matcher::captures() const {
  return impl_->matcher.GetCaptures();
}

bool Matcher::ended() const { return impl_->matcher.IsTerminated(); }

Grammar::Grammar(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Result<Matcher> Grammar::start() const {
  return guarded<Matcher>(ErrorCode::kInternal, "grammar start", [&] {
    return Matcher(std::make_unique<Matcher::Impl>(
        Matcher::Impl{xgrammar::GrammarMatcher(impl_->compiled), impl_->compiled.GetTokenizerInfo(),
                      impl_->n_tokens}));
  });
}

size_t Grammar::n_tokens() const { return impl_->n_tokens; }
size_t Grammar::n_bytes() const { return impl_->compiled.MemorySizeBytes(); }

Compiler::Compiler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Compiler::Compiler(Compiler&&) noexcept = default;
Compiler& Compiler::operator=(Compiler&&) noexcept = default;
Compiler::~Compiler() = default;

Result<Compiler> Compiler::make(Vocab vocab) {
  const size_t n_tokens = vocab.tokens.size();
  if (n_tokens == 0 || vocab.end_tokens.empty()) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "grammar vocabulary: found {} tokens and {} end tokens, expected at least one of each",
        n_tokens, vocab.end_tokens.size());
  }
  for (const TokenId id : vocab.end_tokens) {
    if (id < 0 || static_cast<size_t>(id) >= n_tokens ||
        !vocab.tokens[static_cast<size_t>(id)].empty()) {
      return make_error(
          ErrorCode::kInvalidArgument,
          "grammar vocabulary: end token {} is no control token of the {} in the vocabulary", id,
          n_tokens);
    }
  }
  return guarded<Compiler>(ErrorCode::kInvalidArgument, "grammar vocabulary", [&] {
    const xgrammar::TokenizerInfo info(vocab.tokens, xgrammar::VocabType::RAW, std::nullopt,
                                       std::move(vocab.end_tokens));
    return Compiler(
        std::make_unique<Impl>(Impl{xgrammar::GrammarCompiler(info, 1, true, kRuleCacheBytes,
                                                              /*enable_dynamic_compilation=*/true),
                                    n_tokens}));
  });
}

Result<Grammar> Compiler::ebnf(std::string_view rules) {
  return compile(impl_->n_tokens, "grammar", rules,
                 [&](const std::string& text) { return impl_->compiler.CompileGrammar(text); });
}

Result<Grammar> Compiler::lark(std::string_view rules) {
  return compile(impl_->n_tokens, "grammar", rules,
                 [&](const std::string& text) { return impl_->compiler.CompileLark(text); });
}

}  // namespace tempo9::grammar
