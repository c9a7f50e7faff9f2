#include "tokenizer/pre_tokenizer.h"

#include <iterator>

#include "tokenizer/pre_splitters.h"

namespace tempo9::tokenizer {
namespace {

constexpr PreTokenizer kPreTokenizers[] = {
#define T9_PRE(name, split, flags) {name, split, flags},
#include "tokenizer/pre_list.inc"  // NOLINT
#undef T9_PRE
};

}  // namespace

const PreTokenizer* find_pre_tokenizer(std::string_view name) {
  for (const PreTokenizer& pre : kPreTokenizers) {
    if (pre.name == name) return &pre;
  }
  return nullptr;
}

std::vector<std::string_view> pre_tokenizer_names() {
  std::vector<std::string_view> names;
  for (const PreTokenizer& pre : kPreTokenizers) names.push_back(pre.name);
  return names;
}

}  // namespace tempo9::tokenizer
