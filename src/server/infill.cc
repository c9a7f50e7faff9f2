#include "server/infill.h"

#include <string>

namespace tempo9::server {
namespace {

// Written before the prefix, between the two, and behind the suffix.
struct Marks {
  std::string_view before, between, behind;
};
constexpr Marks kMarks[] = {
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},     // Qwen, CodeGemma
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},           // StarCoder, Granite
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},           // SantaCoder
    {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},     // DeepSeek
    {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"},  // GLM, CodeGeeX
};

const Marks* find_marks(const Service& service) {
  const auto has_token = service.vocab_lookup();
  for (const Marks& marks : kMarks) {
    if (has_token(marks.before) && has_token(marks.between) && has_token(marks.behind))
      return &marks;
  }
  return nullptr;
}

}  // namespace

bool knows_infill(const Service& service) { return find_marks(service) != nullptr; }

Result<std::vector<TokenId>> encode_infill(const Service& service, std::string_view prefix,
                                           std::string_view suffix) {
  const Marks* marks = find_marks(service);
  if (marks == nullptr) {
    return make_error(ErrorCode::kInvalidArgument,
                      "suffix: this model does not support insert (its vocabulary has no "
                      "fill-in-the-middle tokens); leave suffix out");
  }
  const tokenizer::Tokenizer& tokenizer = service.tokenizer();
  std::vector<TokenId> special, ids;
  tokenizer.encode("", {.add_special = true, .parse_control = false}, &special);
  if (!special.empty() && special.front() == tokenizer.bos()) ids.push_back(special.front());
  const std::vector<TokenId> rest = service.encode({{std::string(marks->before), true},
                                                    {std::string(prefix), false},
                                                    {std::string(marks->between), true},
                                                    {std::string(suffix), false},
                                                    {std::string(marks->behind), true}});
  ids.insert(ids.end(), rest.begin(), rest.end());
  return ids;
}

}  // namespace tempo9::server
