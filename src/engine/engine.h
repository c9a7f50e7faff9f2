// The engine: many requests in, tokens and text out. Owns the scheduler, the KV pages and the
// model's backend on one thread of its own; others talk to it by messages.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/cache_report.h"
#include "grammar/constraint.h"
#include "kv/cache.h"
#include "sampling/params.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::engine {

using tokenizer::TokenId;

// How a prompt's hidden states become one vector: their mean, the first token's, the last token's.
enum class Pooling { kNone, kMean, kCls, kLast };

struct GenerateRequest {
  std::vector<TokenId> prompt = {};  // at least one token
  sampling::Params sampling = {};    // validated by submit
  std::optional<uint32_t> max_tokens =
      {};  // none: to the end of the context; more than fits is clamped; 0: prompt only
  std::vector<std::string> stop = {};  // text that ends the reply and is not part of it
  std::vector<TokenId> stop_token_ids = {};
  bool ignore_eos = false;
  bool spell_control = false;  // control tokens appear in text by their spelling
  std::optional<uint32_t> n_logprobs =
      {};                        // alternatives a generated token (0 to 20); none: no logprobs
  bool prompt_logprobs = false;  // the same for the prompt's tokens (with n_logprobs)
  uint32_t choice = 0;           // part of the random stream's key
  uint64_t session = 0;          // whose it is: sessions share the batch fairly; 0: nobody's
  bool explain_cache = false;    // Usage::cache_report is wanted
  // Not kNone: there is no reply; the last event has Event::embedding. Everything about sampling
  // and text is unused then.
  Pooling pooling = Pooling::kNone;
  // What the reply must look like; none: anything. A script's line is held to it as far as it goes,
  // unless the line names another output format than rules_format.
  std::shared_ptr<const grammar::Rules> rules = {};
  // Script mode only; unused by models.
  std::string rules_format = {};
  std::string match_text = {};  // last user or tool text: `when` looks here
  std::string echo_text = {};   // last user text: the reply when no line fits (empty: match_text)
};

struct TokenLogprob {
  TokenId id;
  float logprob;
};
// Of the raw distribution, before temperature, penalties and bias.
struct TokenInfo {
  TokenId id = -1;
  std::optional<float> logprob;   // none: not asked for, or the first token of a prompt
  std::vector<TokenLogprob> top;  // most likely first
};

enum class FinishReason { kStop, kLength, kCancelled, kError };

// Seconds since the request was submitted, on the engine's clock; 0: not yet (or no clock).
struct Timing {
  double now = 0;          // of this event
  double started = 0;      // the first slice of the prompt was planned
  double first_token = 0;  // the prompt was read
};

struct Usage {
  uint32_t prompt_tokens = 0;
  uint32_t cached_tokens = 0;    // of the prompt, found in the prefix cache
  kv::CachedTokens cached = {};  // the same by where they were found
  uint32_t completion_tokens = 0;
  std::shared_ptr<const CacheReport> cache_report = {};  // with explain_cache, once it is known
  Timing timing = {};
  bool tells_timing = false;  // the client asked for it (set by the server)
};

// One increment of one request. Text is whole UTF-8 characters only and never shows a part of a
// stop string. A token's bytes may arrive with a later event than the token itself.
struct Event {
  std::vector<TokenInfo> prompt_tokens;  // once, before the first text, when prompt_logprobs
  std::string text;
  // Byte ranges [begin, end) of text that are the whole spelling of one control or user-defined
  // token (with spell_control): output parsers tell marks from the same letters written as plain
  // text. Ascending; a mark is never split over two events.
  std::vector<std::pair<uint32_t, uint32_t>> marks;
  std::string format;  // script mode, every event: the line's output format; empty: the model's
  std::vector<TokenInfo> tokens;  // generated tokens, also the one that ended the reply
  // With pooling, on the last event if that ended well: [ModelInfo::embedding_width], not
  // normalised.
  std::vector<float> embedding;
  struct Finish {
    FinishReason reason = FinishReason::kStop;
    std::optional<std::string> stop_string = {};  // which one matched
    std::optional<Error> error = {};              // with kError
  };
  std::optional<Finish> finish;  // set on the last event, exactly once per request
  Usage usage;                   // so far
  uint64_t seed = 0;             // the seed in use, drawn at admission when none was given
  // Progress while the prompt is being read: prompt tokens done so far (usage.prompt_tokens in
  // all).
  uint32_t prompt_done = 0;
};
// Called on the engine thread, in order, must not block or call back into the engine.
using EventSink = std::function<void(Event&&)>;
using RequestId = uint64_t;

struct EngineOptions {
  std::string model_path;
  uint32_t n_threads = 0;   // 0: by affinity and cgroup quota
  uint32_t max_length = 0;  // 0: the smaller of 32768 and the file's
  uint32_t max_batch = 16;
  uint32_t max_rows = 512;  // of one step: the longest slice of a prompt
  std::string kv_type = "i16";
  std::string pooling;        // mean, last or cls; empty: as the file declares
  uint64_t memory_bytes = 0;  // 0: no cap of ours
  std::string isa;            // TEMPO9_CPU_ISA
  std::string script_path;    // script mode instead of a model
  // Where computed pages outlive the process; empty: nowhere. What cannot be used is logged and
  // done without.
  std::string kv_folder;
  uint64_t kv_disk_bytes = 0;  // cap on all files of it
  std::string packed_path;     // packed weights for later starts; empty: not kept
  std::function<void(const std::string&)> log = nullptr;  // trouble that no client sees; any thread
  // Once, on the engine's thread, when it cannot go on and all its requests have ended: why. For
  // good: only a new process helps.
  std::function<void(const std::string&)> on_failure = nullptr;
  // Without a request for so long the model's memory is given back, and a request loads it again;
  // 0: never.
  std::chrono::milliseconds idle_unload{0};
};

struct ModelInfo {
  std::string name;  // general.name, else the file's stem; "script" for a script without a file
  std::string architecture;
  std::string path;
  uint32_t max_length = 0;  // tokens a request may hold, prompt and reply
  uint64_t file_bytes = 0;
  uint64_t n_parameters = 0;         // 0: no file
  std::string quantization;          // the format that holds most of them: "Q4_K"; empty: no file
  uint64_t embedding_length = 0;     // 0: unknown
  Pooling pooling = Pooling::kNone;  // of embeddings; kNone: the model gives none
  bool declares_pooling = false;     // the file says so: an embedding model
  uint32_t embedding_width = 0;      // numbers of an embedding
  bool writes_text = true;           // false: it only embeds (its rows see both ways)
  std::string backend;
  uint32_t n_threads = 0;  // in use
  bool is_script = false;  // replies come from a script
  std::optional<std::string> chat_template;
  // Script mode: the formats that lines name. Whoever knows the formats checks them at start.
  struct ScriptFormat {
    uint32_t line = 0;
    std::string name;
  };
  std::vector<ScriptFormat> script_formats;
  std::string warning;              // said once at start (length above the file's own...)
  uint64_t memory_limit_bytes = 0;  // what weights, KV cache and work were planned to fit in
};

struct Stats {
  uint32_t n_running = 0, n_waiting = 0;
  uint64_t n_steps = 0;
  uint64_t n_preemptions = 0;
  // Memory of KV pages: what they may take, what running requests hold, what they take.
  uint64_t kv_bytes = 0, held_kv_bytes = 0, resident_kv_bytes = 0;
  bool is_loaded = true;    // false: the model's memory was given back, and comes with a request
  bool has_failed = false;  // the engine is gone (EngineOptions::on_failure)
};

// What the prefix cache did since the start, in tokens of prompts.
struct CacheTotals {
  uint64_t asked = 0;
  struct Found {
    uint64_t live = 0, ram = 0, disk = 0;
  } found;
  // By CacheReport::cause: prompts that have one, and their tokens that had to be computed.
  struct Misses {
    uint64_t n_prompts = 0, n_tokens = 0;
  };
  std::map<std::string, Misses> misses;
};

class Engine {
 public:
  // Opens and checks the file, loads the model, starts the engine thread.
  // Errors: as gguf::File::open, models::build_program, tokenizer::make_tokenizer; kInvalidArgument
  // for options.
  static Result<std::unique_ptr<Engine>> create(const EngineOptions& options);
  virtual ~Engine() = default;  // cancels what runs, joins

  // From any thread. Errors (kInvalidArgument): empty prompt, unknown ids, prompt longer than
  // max_length (both numbers, "maximum context length is M tokens ... N tokens"), a sampling value
  // out of range (named). No sink call then. Requires: no pooling where info().pooling is kNone,
  // and pooling where not info().writes_text.
  virtual Result<RequestId> submit(GenerateRequest request, EventSink sink) = 0;
  // From any thread. The request ends within one step; its sink gets kCancelled unless it had
  // ended. Idempotent.
  virtual void cancel(RequestId id) = 0;

  virtual const ModelInfo& info() const = 0;
  virtual const tokenizer::Tokenizer& tokenizer() const = 0;
  virtual Stats stats() const = 0;
  // Of the last requests, oldest first.
  virtual std::vector<CacheReport> cache_reports() const { return {}; }
  virtual CacheTotals cache_totals() const { return {}; }
};

}  // namespace tempo9::engine
