#include "cpu/roofs.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/clock.h"
#include "base/memory_limit.h"
#include "cpu/cpu.h"
#include "cpu/memory.h"
#include "cpu/thread_pool.h"

namespace tempo9::cpu {

#define T9_ISA(isa, needs)         \
  namespace isa {                  \
  extern const RoofKernels kRoofs; \
  }
#include "cpu/list.inc"
#undef T9_ISA

namespace {

constexpr uint32_t kRoundsPerItem = 1 << 15;
constexpr uint32_t kItemsPerThread = 16;  // between two looks at the clock
constexpr size_t kReadItem = 1 << 20;

// No cache holds it: several times the last one's size, as far as a quarter of the memory allows.
size_t default_read_bytes() {
  const auto last_cache = static_cast<size_t>(std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE)));
  return std::min(std::max(size_t{512} << 20, 8 * last_cache),
                  static_cast<size_t>(memory_limit() / 4));
}

class Meter {
 public:
  Meter(const ops::RoofOptions& options, const KernelTable& table, const RoofKernels& kernels)
      : options_(options), kernels_(kernels), pool_(options.n_threads, table.enter_thread) {}

  Result<std::vector<double>> measure(ops::Roof roof) {
    if (roof == ops::Roof::kRead) T9_TRY(make_buffer());
    rate(roof);  // clocks go up, threads wake, pages are there
    std::vector<double> rates;
    for (uint32_t i = 0; i < options_.n_repeats; ++i) rates.push_back(rate(roof));
    return rates;
  }

 private:
  Status make_buffer() {
    const size_t wanted = options_.read_bytes > 0 ? options_.read_bytes : default_read_bytes();
    T9_TRY(buffer_, Memory::reserve(std::max(wanted / kReadItem, size_t{1}) * kReadItem));
    buffer_.prefer_huge_pages();
    // Written, so that each page is memory of its own and not the system's one page of zeros.
    pool_.run(n_read_items(), 1, [&](uint32_t begin, uint32_t end, uint32_t) {
      std::fill(buffer_.data() + begin * kReadItem, buffer_.data() + end * kReadItem, uint8_t{1});
    });
    return {};
  }
  uint32_t n_read_items() const { return static_cast<uint32_t>(buffer_.size() / kReadItem); }

  // Does a batch of work on all threads; returns how much it was.
  double work(ops::Roof roof) {
    const uint32_t n_items =
        roof == ops::Roof::kRead ? n_read_items() : kItemsPerThread * pool_.size();
    pool_.run(n_items, 1, [&](uint32_t begin, uint32_t end, uint32_t) {
      for (uint32_t item = begin; item < end; ++item) work_item(roof, item);
    });
    const double n = n_items;
    switch (roof) {
      case ops::Roof::kInt8Dots:
        return n * kRoundsPerItem * kernels_.dots_per_round;
      case ops::Roof::kF32Fmas:
        return n * kRoundsPerItem * kernels_.fmas_per_round;
      case ops::Roof::kRead:
        break;
    }
    return n * kReadItem;
  }

  void work_item(ops::Roof roof, uint32_t item) {
    switch (roof) {
      case ops::Roof::kInt8Dots:
        sink_.fetch_add(kernels_.int8_dots(kRoundsPerItem, 3, -2), std::memory_order_relaxed);
        return;
      case ops::Roof::kF32Fmas:
        sink_.fetch_add(static_cast<uint64_t>(kernels_.f32_fmas(kRoundsPerItem, 0.5f, 0.25f)),
                        std::memory_order_relaxed);
        return;
      case ops::Roof::kRead:
        sink_.fetch_add(kernels_.read(buffer_.data() + item * kReadItem, kReadItem),
                        std::memory_order_relaxed);
        return;
    }
  }

  double rate(ops::Roof roof) {
    double done = 0, seconds = 0;
    const auto begin = clock_.now();
    do {
      done += work(roof);
      seconds = std::chrono::duration<double>(clock_.now() - begin).count();
    } while (seconds < options_.seconds);
    return done / seconds;
  }

  const ops::RoofOptions& options_;
  const RoofKernels& kernels_;
  ThreadPool pool_;
  SteadyClock clock_;
  Memory buffer_;
  std::atomic<uint64_t> sink_{0};  // results go somewhere, so that they must be computed
};

}  // namespace

const RoofKernels* find_roof_kernels(std::string_view table_name) {
#define T9_ISA(isa, needs) \
  if (table_name == isa::kRoofs.name) return &isa::kRoofs;
#include "cpu/list.inc"
#undef T9_ISA
  return nullptr;
}

Result<ops::RoofRates> measure_roof(ops::Roof roof, const ops::RoofOptions& options) {
  T9_TRY(const KernelTable* table, select_kernels(options.isa));
  Meter meter(options, *table, *find_roof_kernels(table->name));
  T9_TRY(std::vector<double> rates, meter.measure(roof));
  return ops::RoofRates{table->name, std::move(rates)};
}

}  // namespace tempo9::cpu
