// Damaged files of every sort: whatever happens to a file, it opens with all tensors inside it, or
// is refused with a message. The seed is fixed; fuzz/gguf_fuzz.cc does the same without an end.
#include <gtest/gtest.h>

#include <random>

#include "gguf/gguf.h"
#include "gguf/test_writer.h"

namespace tempo9::gguf {
namespace {

constexpr uint64_t kInteresting[] = {0,          1,          2,          3,
                                     8,          31,         32,         64,
                                     255,        65'535,     65'536,     1u << 31,
                                     UINT32_MAX, 1ull << 32, 1ull << 40, 1ull << 61,
                                     1ull << 62, 1ull << 63, UINT64_MAX, UINT64_MAX - 31};

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  void mutate(std::vector<uint8_t>& bytes) {
    if (bytes.empty()) return;
    switch (below(6)) {
      case 0:
        bytes[below(bytes.size())] ^= static_cast<uint8_t>(1u << below(8));
        break;
      case 1:
        overwrite<uint32_t>(bytes);
        break;
      case 2:
        overwrite<uint64_t>(bytes);
        break;
      case 3:
        bytes.resize(below(bytes.size() + 1));
        break;
      case 4: {  // lose some bytes in the middle
        const size_t at = below(bytes.size());
        const size_t n = 1 + below(std::min<size_t>(bytes.size() - at, 40));
        bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(at),
                    bytes.begin() + static_cast<ptrdiff_t>(at + n));
        break;
      }
      default:  // and find some
        bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(below(bytes.size())), 1 + below(40),
                     static_cast<uint8_t>(below(256)));
    }
  }

  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

 private:
  template <typename T>
  void overwrite(std::vector<uint8_t>& bytes) {
    if (bytes.size() < sizeof(T)) return;
    const auto value = static_cast<T>(kInteresting[below(std::size(kInteresting))]);
    std::memcpy(bytes.data() + below(bytes.size() - sizeof(T) + 1), &value, sizeof(T));
  }

  std::mt19937 random_;
};

TEST(Mutations, NeverCrashAndNeverPointOutside) {
  const std::vector<uint8_t> whole = rich_file().build();
  Mutator mutator(20'260'729);
  int n_opened = 0;
  for (int round = 0; round < 6000; ++round) {
    std::vector<uint8_t> bytes = whole;
    for (size_t n = 1 + mutator.below(3); n > 0; --n) mutator.mutate(bytes);
    auto file = File::from_bytes(bytes, "mutant");
    if (!file) {
      ASSERT_EQ(file.error().message.rfind("mutant: ", 0), 0u) << "round " << round;
      continue;
    }
    ++n_opened;
    ASSERT_EQ(file->file_bytes(), bytes.size());
    uint64_t sum = 0;
    for (const Tensor& tensor : file->tensors()) {
      for (uint8_t byte : tensor.data) sum += byte;  // AddressSanitizer watches
      ASSERT_LE(tensor.data.size(), bytes.size()) << "round " << round;
    }
    for (const auto& [key, value] : file->metadata()) {
      (void)file->get_uint(key);
      (void)file->get_strings(key);
      (void)file->get_ints(key);
      (void)file->get_per_layer(key, 2, 0);
    }
    ASSERT_LT(sum, UINT64_MAX);
  }
  // Many changes hit data or values that may be anything, so both sides must have been seen.
  EXPECT_GT(n_opened, 300);
  EXPECT_LT(n_opened, 5700);
}

}  // namespace
}  // namespace tempo9::gguf
