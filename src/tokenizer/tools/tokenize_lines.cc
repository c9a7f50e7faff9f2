// Test tool: ids of many strings, for comparison with other tokenizers
// (tests/golden/test_tokenizers.py).
//   t9_tokenize_lines FILE.gguf [--pre NAME] [--parse-control] [--add-special]
// stdin: for each string its length (4 bytes, little-endian) and bytes. stdout: for each string the
// number of ids and the ids, then the length and bytes of what they decode to (control tokens
// spelled), all numbers 4 bytes.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>

#include "gguf/gguf.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace tempo9;  // NOLINT(google-build-using-namespace): a program of one file

struct Options {
  std::string path, pre;
  tokenizer::EncodeOptions encode;
};

bool read_all(void* to, size_t n) { return std::fread(to, 1, n, stdin) == n; }

void write_u32(size_t value) {
  const auto narrow = static_cast<uint32_t>(value);
  std::fwrite(&narrow, 1, sizeof narrow, stdout);
}

Status run(const Options& options) {
  T9_TRY(const gguf::File file, gguf::File::open(options.path));
  T9_TRY(tokenizer::VocabData vocab, tokenizer::read_vocab(file));
  if (!options.pre.empty()) vocab.pre = options.pre;
  T9_TRY(const auto tokenizer, tokenizer::make_tokenizer(std::move(vocab)));
  std::string text;
  std::vector<tokenizer::TokenId> ids;
  for (uint32_t n = 0; read_all(&n, sizeof n);) {
    text.resize(n);
    if (!read_all(text.data(), n))
      return make_error(ErrorCode::kInvalidArgument, "stdin ends within a string");
    ids.clear();
    tokenizer->encode(text, options.encode, &ids);
    const std::string decoded = tokenizer->decode(ids, true);
    write_u32(ids.size());
    std::fwrite(ids.data(), sizeof ids[0], ids.size(), stdout);
    write_u32(decoded.size());
    std::fwrite(decoded.data(), 1, decoded.size(), stdout);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--parse-control") {
      options.encode.parse_control = true;
    } else if (arg == "--add-special") {
      options.encode.add_special = true;
    } else if (arg == "--pre" && i + 1 < argc) {
      options.pre = argv[++i];
    } else {
      options.path = arg;
    }
  }
  if (const Status status = run(options); !status) {
    fmt::print(stderr, "{}\n", status.error().message);
    return 1;
  }
  return 0;
}
