#include "grammar/library.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace tempo9::grammar {

struct Library::Impl {
  struct Job {
    std::string source;
    Syntax syntax;
    std::optional<Result<Grammar>> result;  // guarded by mutex
  };

  const tokenizer::Tokenizer* tokenizer;
  LibraryOptions options;
  std::optional<Result<Compiler>> compiler;  // the thread's

  std::mutex mutex;
  std::condition_variable work, done;
  std::deque<std::shared_ptr<Job>> jobs;
  std::list<std::pair<std::string, Grammar>> kept;  // last used first; key: syntax and source
  bool stopping = false;
  std::jthread thread;  // last: it uses all of the above

  static std::string key_of(const std::string& source, Syntax syntax) {
    return (syntax == Syntax::kLark ? "L" : "E") + source;
  }

  // With the mutex held.
  const Grammar* find(const std::string& key) {
    for (auto it = kept.begin(); it != kept.end(); ++it) {
      if (it->first != key) continue;
      kept.splice(kept.begin(), kept, it);
      return &kept.front().second;
    }
    return nullptr;
  }

  // With the mutex held. Grammars grow while they are used, so all are weighed again.
  void keep(std::string key, const Grammar& grammar) {
    kept.emplace_front(std::move(key), grammar);
    size_t n_bytes = 0;
    for (auto it = kept.begin(); it != kept.end(); ++it) {
      n_bytes += it->first.size() + it->second.n_bytes();
      if (n_bytes <= options.cache_bytes || it == kept.begin()) continue;
      kept.erase(it, kept.end());
      return;
    }
  }

  Result<Grammar> compile(const Job& job) {
    try {
      if (!compiler) compiler = Compiler::make(vocab_of(*tokenizer));
      if (!*compiler) return compiler->error();
      return job.syntax == Syntax::kLark ? (*compiler)->lark(job.source)
                                         : (*compiler)->ebnf(job.source);
    } catch (const std::exception& error) {  // out of memory
      return make_error(ErrorCode::kResourceExhausted, "grammar: {}", error.what());
    }
  }

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      work.wait(lock, [this] { return stopping || !jobs.empty(); });
      if (stopping) return;
      const std::shared_ptr<Job> job = std::move(jobs.front());
      jobs.pop_front();
      if (job.use_count() == 1) continue;  // nobody waits for it any more
      lock.unlock();
      Result<Grammar> result = compile(*job);
      lock.lock();
      if (result) keep(key_of(job->source, job->syntax), *result);
      job->result = std::move(result);
      done.notify_all();
    }
  }
};

Library::Library(const tokenizer::Tokenizer* tokenizer, const LibraryOptions& options)
    : impl_(std::make_unique<Impl>()) {
  impl_->tokenizer = tokenizer;
  impl_->options = options;
}

Library::~Library() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->work.notify_all();
}

Result<Grammar> Library::compile(std::string source, Syntax syntax) {
  std::unique_lock lock(impl_->mutex);
  if (const Grammar* known = impl_->find(Impl::key_of(source, syntax))) return *known;
  if (!impl_->thread.joinable())
    impl_->thread = std::jthread([impl = impl_.get()] { impl->run(); });
  const auto job = std::make_shared<Impl::Job>();
  job->source = std::move(source);
  job->syntax = syntax;
  impl_->jobs.push_back(job);
  impl_->work.notify_one();
  const bool in_time = impl_->done.wait_for(lock, impl_->options.time_limit,
                                            [&] { return job->result.has_value(); });
  if (in_time) return *job->result;
  return make_error(ErrorCode::kInvalidArgument,
                    "grammar: found one that takes more than {} ms to compile (or waits for one), "
                    "expected a smaller one",
                    impl_->options.time_limit.count());
}

}  // namespace tempo9::grammar
