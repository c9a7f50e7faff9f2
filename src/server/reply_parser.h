// One choice's events from the engine to chat events: what every chat dialect does before it
// writes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chat/parser.h"
#include "engine/engine.h"
#include "server/forced_call.h"
#include "server/service.h"

namespace tempo9::server {

struct ReplyParserOptions {
  chat::ParserOptions parser;                   // tools, starts_in_thinking; the rest is set here
  std::vector<CallOpening::Increment> opening;  // what the reply was begun with
};

// Not thread-safe. service and options must outlive it.
class ReplyParser {
 public:
  ReplyParser(const Service& service, const ReplyParserOptions& options)
      : service_(service), options_(options) {}

  // In the order of the choice's events; the last one (event.finish) ends it.
  void feed(const engine::Event& event, std::vector<chat::Event>* out);

  // Tokens that went into thinking so far, its marks included.
  uint32_t n_reasoning_tokens() const { return n_reasoning_tokens_; }

 private:
  void make(const std::string& script_format, std::vector<chat::Event>* out);
  void feed_text(const engine::Event& event, std::vector<chat::Event>* out);
  void count(uint32_t n_tokens, const std::vector<chat::Event>& events, size_t first);

  const Service& service_;
  const ReplyParserOptions& options_;
  std::unique_ptr<chat::OutputParser> parser_;
  uint32_t n_tokens_ = 0;   // seen
  uint32_t n_counted_ = 0;  // of them, those whose kind is known
  uint32_t n_reasoning_tokens_ = 0;
};

}  // namespace tempo9::server
