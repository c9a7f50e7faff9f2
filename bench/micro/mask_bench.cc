// Links: t9_grammar t9_tokenizer t9_gguf
//
// What a reply that is held to a schema costs a token: its mask and the step of its grammar. Run as
// `mask_bench MODEL.gguf`: only the vocabulary is read. Processor time of one thread, which other
// work on the machine does not change much.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "gguf/gguf.h"
#include "grammar/grammar.h"
#include "grammar/rules.h"
#include "grammar/schema_ebnf.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace tempo9;

constexpr const char* kSchema = R"({"type": "object", "properties": {
  "path": {"type": "string"}, "mode": {"enum": ["create", "append", "replace"]},
  "lines": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true},
  "content": {"type": "string"}}, "required": ["path", "content"], "additionalProperties": false})";

struct Subject {
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  std::shared_ptr<const grammar::Rules> rules;
  std::vector<tokenizer::TokenId> reply;
};

// content_bytes: of the last argument.
Result<Subject> make(const std::string& path, size_t content_bytes) {
  Subject out;
  T9_TRY(const gguf::File file, gguf::File::open(path));
  T9_TRY(tokenizer::VocabData vocab, tokenizer::read_vocab(file));
  T9_TRY(out.tokenizer, tokenizer::make_tokenizer(std::move(vocab)));
  T9_TRY(grammar::Schema read, grammar::Schema::parse(kSchema, {.closed_objects = true}));
  auto schema = std::make_shared<const grammar::Schema>(std::move(read));
  T9_TRY(const std::string rules, grammar::schema_to_ebnf(*schema, {.closed_objects = true}));
  T9_TRY(auto compiler, grammar::Compiler::make(grammar::vocab_of(*out.tokenizer)));
  T9_TRY(grammar::Grammar compiled,
         compiler.ebnf(fmt::format("root ::= value\n{}{}", rules, grammar::common_rules())));
  out.rules = grammar::grammar_rules(std::move(compiled), std::move(schema));
  std::string content;
  while (content.size() < content_bytes)
    content += fmt::format("def f{}(a, b):\\n    return [a + b, {{\\\"k\\\": a * {}}}]\\n\\n",
                           content.size(), content.size() % 97);
  const std::string text = fmt::format(
      R"({{"path": "src/tools/make.py", "mode": "create", "lines": [1, 5, 12, 40], "content": "{}"}})",
      content);
  out.tokenizer->encode(text, {}, &out.reply);
  return out;
}

void hold(benchmark::State& state, const std::string& path) {
  const auto subject = make(path, static_cast<size_t>(state.range(0)));
  if (!subject) return state.SkipWithError(subject.error().message.c_str());
  std::vector<uint32_t> mask(grammar::mask_words(subject->rules->n_tokens()));
  for (auto _ : state) {
    auto constraint = subject->rules->start();
    for (const tokenizer::TokenId id : subject->reply) {
      if (!*(*constraint)->fill_mask(mask) || !*(*constraint)->accept(id))
        return state.SkipWithError("the reply is not held");
    }
  }
  state.counters["per_token"] = benchmark::Counter(
      static_cast<double>(subject->reply.size()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["tokens"] = static_cast<double>(subject->reply.size());
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: mask_bench MODEL.gguf\n");
    return 2;
  }
  const std::string path = argv[1];
  benchmark::RegisterBenchmark("hold", [path](benchmark::State& state) { hold(state, path); })
      ->Arg(200)
      ->Arg(4'000)
      ->Arg(32'000)
      ->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
