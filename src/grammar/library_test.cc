#include "grammar/library.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "grammar/testing/byte_vocab.h"

namespace tempo9::grammar {
namespace {

TEST(Library, ManyThreadsGetTheirGrammars) {
  const auto tokenizer = tokenizer::make_byte_tokenizer();
  Library library(tokenizer.get());
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&library, t] {
      for (int i = 0; i < 5; ++i) {
        const auto grammar = library.compile(fmt::format("root ::= \"{}\"", (t + i) % 6));
        ASSERT_TRUE(grammar);
        EXPECT_TRUE(accepts(*grammar, std::to_string((t + i) % 6)));
      }
    });
  }
}

TEST(Library, ABadGrammarIsItsOwnersError) {
  const auto tokenizer = tokenizer::make_byte_tokenizer();
  Library library(tokenizer.get());
  const auto bad = library.compile("root ::= (");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(library.compile("start: \"a\"\n", Library::Syntax::kLark));
}

TEST(Library, ASmallCacheForgetsAndCompilesAgain) {
  const auto tokenizer = tokenizer::make_byte_tokenizer();
  Library library(tokenizer.get(), {.cache_bytes = 1});
  for (int round = 0; round < 2; ++round) {
    for (const char* text : {"a", "b"}) {
      const auto grammar = library.compile(fmt::format("root ::= \"{}\"", text));
      ASSERT_TRUE(grammar);
      EXPECT_TRUE(accepts(*grammar, text));
    }
  }
}

TEST(Library, WhatTakesTooLongIsRefused) {
  const auto tokenizer = tokenizer::make_byte_tokenizer();
  Library library(tokenizer.get(), {.time_limit = std::chrono::milliseconds(0)});
  std::string slow = "root ::= r0\n";
  for (int i = 0; i < 2'000; ++i)
    slow += fmt::format("r{} ::= \"a\" r{} | \"b\"\n", i, (i + 1) % 2'000);
  const auto grammar = library.compile(slow);
  ASSERT_FALSE(grammar);
  EXPECT_NE(grammar.error().message.find("more than 0 ms"), std::string::npos);
}

}  // namespace
}  // namespace tempo9::grammar
