#include "engine/mask_worker.h"

#include <exception>

namespace tempo9::engine {
namespace {

void fill(MaskJob* job) {
  try {
    job->filled = job->constraint->fill_mask(job->mask);
  } catch (...) {  // an error with words in it would take memory again
    job->thrown = std::current_exception();
  }
}

}  // namespace

MaskWorker::~MaskWorker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
}

void MaskWorker::add(MaskJob* job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job);
    ++n_open_;
    if (!thread_.joinable()) thread_ = std::jthread([this] { run(); });
  }
  work_.notify_one();
}

void MaskWorker::wait() {
  std::unique_lock lock(mutex_);
  // What the worker has not begun yet is done here rather than waited for.
  while (!jobs_.empty()) {
    MaskJob* job = jobs_.back();
    jobs_.pop_back();
    lock.unlock();
    fill(job);
    lock.lock();
    --n_open_;
  }
  done_.wait(lock, [this] { return n_open_ == 0; });
}

void MaskWorker::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    MaskJob* job = jobs_.back();
    jobs_.pop_back();
    lock.unlock();
    fill(job);
    lock.lock();
    if (--n_open_ == 0) done_.notify_all();
  }
}

}  // namespace tempo9::engine
