// Token masks of rows with rules, worked out on a thread of their own while the model computes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grammar/constraint.h"

namespace tempo9::engine {

struct MaskJob {
  MaskJob(std::unique_ptr<grammar::Constraint> c, size_t n_tokens)
      : constraint(std::move(c)), mask(grammar::mask_words(n_tokens)) {}
  std::unique_ptr<grammar::Constraint> constraint;
  std::vector<uint32_t> mask;
  Result<bool> filled = false;  // what fill_mask said
  std::exception_ptr thrown;    // or threw: there was no memory
};

// Between add() and wait() a job belongs to the worker. The thread starts with the first job, and
// sleeps when there is none.
class MaskWorker {
 public:
  MaskWorker() = default;
  ~MaskWorker();

  void add(MaskJob* job);  // stays where it is until wait() returns
  void wait();             // until all that were added are filled

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable work_, done_;
  std::vector<MaskJob*> jobs_;  // guarded by mutex_
  size_t n_open_ = 0;           // guarded by mutex_; not filled yet
  bool stopping_ = false;       // guarded by mutex_
  std::jthread thread_;         // last: it uses all of the above
};

}  // namespace tempo9::engine
