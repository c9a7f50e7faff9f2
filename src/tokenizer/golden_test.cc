// Ids of the original tokenizers on strings that are hard to tokenise. Files and how they were
// made: tools/golden/tokenizer_goldens.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "gguf/gguf.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::tokenizer {
namespace {

const std::string kData = T9_TEST_DATA "/tokenizer/";

struct Family {
  std::string golden;  // <golden>.ids
  std::string file;    // the vocabulary
  std::string pre;     // empty: the file's own
};

void PrintTo(const Family& family, std::ostream* out) { *out << family.golden; }

std::vector<Family> families() {
  std::vector<Family> all = {{"llama", "llama.gguf", ""},
                             {"gemma", "gemma.gguf", ""},
                             {"gemma4", "gemma4.gguf", ""},
                             {"bert", "bert.gguf", ""},
                             {"bert-cased", "bert-cased.gguf", ""}};
  for (const std::string_view pre : pre_tokenizer_names()) {
    // Names with the same rule share a golden, that of the first one.
    const PreTokenizer* self = find_pre_tokenizer(pre);
    std::string golden(pre);
    for (const std::string_view other : pre_tokenizer_names()) {
      const PreTokenizer* candidate = find_pre_tokenizer(other);
      const unsigned mask = kNfc | kIgnoreMerges;
      if (candidate->split == self->split && (candidate->flags & mask) == (self->flags & mask)) {
        golden = other;
        break;
      }
    }
    all.push_back({golden, "bpe.gguf", std::string(pre)});
  }
  return all;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::vector<TokenId> ids_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<TokenId> ids;
  for (TokenId id; in >> id;) ids.push_back(id);
  return ids;
}

class Golden : public testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    const auto file = gguf::File::open(kData + GetParam().file);
    ASSERT_TRUE(file) << file.error().message;
    auto vocab = read_vocab(*file);
    ASSERT_TRUE(vocab) << vocab.error().message;
    if (!GetParam().pre.empty()) vocab->pre = GetParam().pre;
    auto made = make_tokenizer(std::move(*vocab));
    ASSERT_TRUE(made) << made.error().message;
    tokenizer_ = std::move(*made);
    strings_ = lines_of(kData + "strings.hex");
    ASSERT_GE(strings_.size(), 500u);
  }
  // BERT's pieces tell neither case nor how many spaces there were.
  std::unique_ptr<Tokenizer> tokenizer_;
  std::vector<std::string> strings_;
};

TEST_P(Golden, IdsAreTheOriginals) {
  const std::vector<std::string> expected = lines_of(kData + GetParam().golden + ".ids");
  ASSERT_EQ(expected.size(), strings_.size()) << GetParam().golden << ".ids";
  for (size_t i = 0; i < strings_.size(); ++i) {
    const std::string text = from_hex(strings_[i]);
    const size_t bar = expected[i].find('|');
    std::vector<TokenId> plain, parsed;
    tokenizer_->encode(text, {}, &plain);
    EXPECT_EQ(plain, ids_of(expected[i].substr(0, bar))) << testing::PrintToString(text);
    tokenizer_->encode(text, {.parse_control = true}, &parsed);
    EXPECT_EQ(parsed, bar == std::string::npos ? plain : ids_of(expected[i].substr(bar + 1)))
        << testing::PrintToString(text);
  }
}

// Of the families whose tokens keep the text: WordPiece changes case and white space.
class GoldenText : public Golden {};

TEST_P(GoldenText, DecodesToTheText) {
  const PreTokenizer* pre = find_pre_tokenizer(GetParam().pre);
  const bool changes_text = pre != nullptr && (pre->flags & kNfc) != 0;
  for (const std::string& hex : strings_) {
    const std::string text = from_hex(hex);
    // U+2581 is a space to the families without a pre-tokenizer.
    if (changes_text || (pre == nullptr && text.find("\xE2\x96\x81") != std::string::npos))
      continue;
    std::vector<TokenId> ids;
    tokenizer_->encode(text, {}, &ids);
    EXPECT_EQ(tokenizer_->decode(ids, false), text);
  }
}

TEST_P(GoldenText, InvalidBytesRoundTrip) {
  for (size_t i = 0; i < strings_.size(); i += 7) {
    const std::string head = from_hex(strings_[i]),
                      tail = from_hex(strings_[strings_.size() - 1 - i]);
    const std::string text =
        fmt::format("{}\xFF\xC3({}\xE4\xB8", head.substr(1), tail.substr(0, tail.size() - 1));
    std::string expected;
    const PreTokenizer* pre = find_pre_tokenizer(GetParam().pre);
    if (pre != nullptr && (pre->flags & kNfc) != 0) continue;
    for (size_t at = 0; at < text.size(); ++at) {
      const bool space = pre == nullptr && text.compare(at, 3, "\xE2\x96\x81") == 0;
      expected.push_back(space ? ' ' : text[at]);
      if (space) at += 2;
    }
    for (const bool parse_control : {false, true}) {
      // A space prefix comes behind each control token, too.
      if (parse_control && tokenizer_->vocab().add_space_prefix) continue;
      std::vector<TokenId> ids;
      tokenizer_->encode(text, {.parse_control = parse_control}, &ids);
      EXPECT_EQ(tokenizer_->decode(ids, true), expected);
    }
  }
}

std::string test_name(const testing::TestParamInfo<Family>& family) {
  std::string text = family.param.pre.empty() ? family.param.golden : family.param.pre;
  for (char& c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return text;
}

std::vector<Family> families_that_keep_text() {
  std::vector<Family> kept = families();
  std::erase_if(kept, [](const Family& family) { return family.golden.starts_with("bert"); });
  return kept;
}

INSTANTIATE_TEST_SUITE_P(Families, Golden, testing::ValuesIn(families()), test_name);
INSTANTIATE_TEST_SUITE_P(Families, GoldenText, testing::ValuesIn(families_that_keep_text()),
                         test_name);

}  // namespace
}  // namespace tempo9::tokenizer
