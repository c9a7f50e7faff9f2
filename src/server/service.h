// What the routes serve: the engine, and what belongs to its model on the text side.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/chat.h"
#include "chat/parser.h"
#include "engine/engine.h"
#include "server/metrics.h"
#include "server/prompt.h"
#include "server/response_store.h"

namespace tempo9::grammar {
class Library;
}

namespace tempo9::server {

// Immutable but for its metrics, its store and the texts that it knows; any thread.
class Service {
 public:
  struct Options {
    std::string name;                            // --name; empty: the model's own
    std::optional<std::string> template_source;  // --chat-template-file; wins over the file's
    std::string format;  // --tool-parser, of chat::format_names(); empty: the model's own
    std::function<void(const std::string&)> log;  // told what no client sees; from any thread
  };
  // The engine must outlive the service's last call, not its destructor.
  // Errors: as ChatTemplate::compile, for the template that was given; a broken one in the file is
  // a warning and makes chat answer 400.
  static Result<std::shared_ptr<Service>> create(engine::Engine& engine, const Options& options);

  engine::Engine& engine() const { return engine_; }
  const tokenizer::Tokenizer& tokenizer() const { return engine_.tokenizer(); }
  const std::string& name() const { return name_; }
  int64_t created() const { return created_; }
  // Errors: kInvalidArgument when there is none, naming --chat-template-file.
  Result<const chat::ChatTemplate*> chat_template() const;
  const std::string& format() const { return format_; }
  const std::string& warning() const { return warning_; }
  chat::VocabLookup vocab_lookup() const;
  grammar::Library& library() const { return *library_; }  // this model's grammars

  std::vector<TokenId> encode(const std::vector<chat::Segment>& segments) const {
    return encode_segments(tokenizer(), control_, segments, &encoded_);
  }

  // "chatcmpl-" and 24 letters and digits that no other id of this process has.
  std::string make_id(std::string_view prefix) const;
  uint64_t draw() const;

  void log(const std::string& message) const {
    if (log_) log_(message);
  }
  Metrics& metrics() const { return *metrics_; }
  ResponseStore& responses() const { return responses_; }

 private:
  explicit Service(engine::Engine& engine);

  engine::Engine& engine_;
  std::string name_;
  std::optional<chat::ChatTemplate> template_;
  std::string template_error_;
  std::string format_ = "none";
  std::string warning_;
  std::function<void(const std::string&)> log_;
  ControlTokens control_;
  mutable EncodedTexts encoded_;
  std::shared_ptr<grammar::Library> library_;
  int64_t created_ = 0;
  uint64_t id_key_ = 0;
  mutable std::atomic<uint64_t> n_ids_{0};
  std::unique_ptr<Metrics> metrics_;
  mutable ResponseStore responses_;
};

}  // namespace tempo9::server
