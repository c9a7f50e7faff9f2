// Runs a fuzzer without libFuzzer: every corpus file as it is, then N times one of them changed in
// small ways from a fixed seed, so that ordinary builds keep the fuzzers alive and a little
// curious; or for N seconds. What is being run lies in the file that --keep names: what made it
// crash, too.
//
//   <name>_fuzz [--changes N] [--seconds N] [--seed N] [--keep FILE] FILE-OR-FOLDER...
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

// Each input lies in a block of its own size, so that a sanitizer sees one byte too many.
void run(const Bytes& bytes, int kept) {
  const bool is_kept =
      kept < 0 || (::ftruncate(kept, 0) == 0 && ::pwrite(kept, bytes.data(), bytes.size(), 0) ==
                                                    static_cast<ssize_t>(bytes.size()));
  if (!is_kept) std::abort();  // a finding would be lost
  const Bytes exact(bytes);
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

// One to four of: a bit flipped, a byte set to an extreme, the end cut off, a stretch doubled.
void change(Bytes& bytes, std::mt19937_64& random) {
  constexpr uint8_t kExtremes[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
  for (uint64_t n = 1 + random() % 4; n > 0 && !bytes.empty(); --n) {
    const size_t at = random() % bytes.size();
    switch (random() % 4) {
      case 0:
        bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1U << (random() % 8)));
        break;
      case 1:
        bytes[at] = kExtremes[random() % std::size(kExtremes)];
        break;
      case 2:
        bytes.resize(at);
        break;
      default: {
        const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(at + 1);
        const Bytes stretch(end - static_cast<std::ptrdiff_t>(1 + random() % (at + 1)), end);
        bytes.insert(end, stretch.begin(), stretch.end());
      }
    }
  }
}

std::vector<std::filesystem::path> files_of(const std::string& name) {
  if (!std::filesystem::is_directory(name)) return {name};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(name)) files.push_back(entry.path());
  std::ranges::sort(files);  // a folder lists its files in any order
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t n_changes = 0, n_seconds = 0, seed = 1;
  int kept = -1;
  std::vector<Bytes> corpus;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    uint64_t* const number = word == "--changes"   ? &n_changes
                             : word == "--seconds" ? &n_seconds
                             : word == "--seed"    ? &seed
                                                   : nullptr;
    if (number != nullptr && i + 1 < argc) {
      *number = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--keep" && i + 1 < argc) {
      kept = ::open(argv[++i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      if (kept < 0) return 1;
    } else {
      for (const auto& path : files_of(word)) corpus.push_back(read_file(path));
    }
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(n_seconds);
  for (const Bytes& bytes : corpus) run(bytes, kept);
  if (corpus.empty()) return 1;  // a corpus that is gone is not a pass
  std::mt19937_64 random(seed);
  uint64_t n = 0;
  for (; n < n_changes || (n_seconds > 0 && std::chrono::steady_clock::now() < end); ++n) {
    Bytes changed = corpus[n % corpus.size()];
    change(changed, random);
    run(changed, kept);
  }
  std::printf("%zu files, %llu changed ones\n", corpus.size(), static_cast<unsigned long long>(n));
  return 0;
}
