#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/testing/temp_folder.h"
#include "gguf/gguf.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::tokenizer {
namespace {

// A GGUF file of metadata only, written by hand.
class Writer {
 public:
  Writer& text(const std::string& key, const std::string& value) {
    head(key, 8);
    string(value);
    return *this;
  }
  Writer& number(const std::string& key, uint32_t value) {
    head(key, 4);
    raw(value);
    return *this;
  }
  Writer& flag(const std::string& key, bool value) {
    head(key, 7);
    raw(value);
    return *this;
  }
  Writer& texts(const std::string& key, const std::vector<std::string>& values) {
    head(key, 9);
    raw(uint32_t{8});
    raw(uint64_t{values.size()});
    for (const std::string& value : values) string(value);
    return *this;
  }
  Writer& types(const std::vector<int32_t>& values) {
    head("tokenizer.ggml.token_type", 9);
    raw(uint32_t{5});
    raw(uint64_t{values.size()});
    for (const int32_t value : values) raw(value);
    return *this;
  }

  Result<VocabData> read() const {
    const TempFolder folder;
    const std::string path = folder.file("vocab.gguf");
    {
      std::ofstream out(path, std::ios::binary);
      const uint32_t magic = 0x46554747, version = 3;
      const uint64_t n_tensors = 0;
      for (const auto& [data, size] : {std::pair<const void*, size_t>{&magic, 4},
                                       {&version, 4},
                                       {&n_tensors, 8},
                                       {&n_keys_, 8},
                                       {body_.data(), body_.size()}}) {
        out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
      }
    }
    T9_TRY(const gguf::File file, gguf::File::open(path));
    return read_vocab(file);
  }

 private:
  template <typename T>
  void raw(T value) {
    body_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void string(const std::string& value) {
    raw(uint64_t{value.size()});
    body_ += value;
  }
  void head(const std::string& key, uint32_t kind) {
    string(key);
    raw(kind);
    ++n_keys_;
  }
  std::string body_;
  uint64_t n_keys_ = 0;
};

Writer base(const std::string& model) {
  Writer writer;
  writer.text("general.architecture", "llama").text("tokenizer.ggml.model", model);
  writer.texts("tokenizer.ggml.tokens", {"x", "y", "z", "w"});
  return writer;
}

TEST(ReadVocab, DefaultsOfSentencePiece) {
  const auto vocab = base("llama").read();
  ASSERT_TRUE(vocab) << vocab.error().message;
  EXPECT_EQ(vocab->bos, 1);
  EXPECT_EQ(vocab->eos, 2);
  EXPECT_EQ(vocab->unk, 0);
  EXPECT_TRUE(vocab->add_bos);
  EXPECT_FALSE(vocab->add_eos);
  EXPECT_TRUE(vocab->add_space_prefix);
}

TEST(ReadVocab, DefaultsOfByteLevel) {
  const auto plain = base("gpt2").text("tokenizer.ggml.pre", "qwen2").read();
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->pre, "qwen2");
  EXPECT_EQ(plain->bos, -1);
  EXPECT_FALSE(plain->add_bos);
  EXPECT_TRUE(base("gpt2").text("tokenizer.ggml.pre", "llama-bpe").read()->add_bos);
}

TEST(ReadVocab, TheFileHasTheLastWord) {
  const auto vocab = base("llama")
                         .number("tokenizer.ggml.bos_token_id", 3)
                         .number("tokenizer.ggml.eot_token_id", 2)
                         .number("tokenizer.ggml.eom_token_id", 1)
                         .flag("tokenizer.ggml.add_bos_token", false)
                         .flag("tokenizer.ggml.add_eos_token", true)
                         .flag("tokenizer.ggml.add_space_prefix", false)
                         .types({1, 3, 4, 77777})
                         .texts("tokenizer.ggml.merges", {"x y"})
                         .read();
  ASSERT_TRUE(vocab) << vocab.error().message;
  EXPECT_EQ(vocab->bos, 3);
  EXPECT_EQ(vocab->eot, 2);
  EXPECT_EQ(vocab->eom, 1);
  EXPECT_FALSE(vocab->add_bos);
  EXPECT_TRUE(vocab->add_eos);
  EXPECT_FALSE(vocab->add_space_prefix);
  EXPECT_EQ(vocab->types, (std::vector<int32_t>{1, 3, 4, 0}));
  EXPECT_EQ(vocab->merges, (std::vector<std::string>{"x y"}));
}

TEST(ReadVocab, Gemma4AlwaysGetsItsBos) {
  EXPECT_TRUE(base("gemma4").flag("tokenizer.ggml.add_bos_token", false).read()->add_bos);
}

TEST(ReadVocab, WrongKeysAreNamed) {
  EXPECT_THAT(Writer().text("general.architecture", "x").read().error().message,
              testing::HasSubstr("tokenizer.ggml.model"));
  const auto high = base("gpt2").number("tokenizer.ggml.eos_token_id", 4).read();
  ASSERT_FALSE(high);
  EXPECT_EQ(high.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(high.error().message, testing::HasSubstr("tokenizer.ggml.eos_token_id is 4"));
  const auto kind = base("gpt2").text("tokenizer.ggml.add_bos_token", "yes").read();
  ASSERT_FALSE(kind);
  EXPECT_THAT(kind.error().message, testing::HasSubstr("add_bos_token"));
}

}  // namespace
}  // namespace tempo9::tokenizer
