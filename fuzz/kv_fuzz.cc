// Links: t9_kv
// Changes: 60
// The KV cache's files, damaged in any way: what is found is what was stored, and the folder can be
// written again. The input is a list of changes of six bytes: file, kind, place (4); of a file of
// three pages and its index.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/testing/temp_folder.h"
#include "kv/tiers/disk_store.h"

namespace {

using namespace tempo9::kv;  // NOLINT(google-build-using-namespace): one file, one purpose
namespace fs = std::filesystem;

constexpr uint64_t kPageBytes = 4096;
constexpr TokenId kPages = 3;

std::vector<uint8_t> bytes_of(TokenId page) {
  return std::vector<uint8_t>(kPageBytes, static_cast<uint8_t>(page + 1));
}

// The files that are damaged, with those as they should be beside them.
struct Place {
  tempo9::TempFolder folder;
  std::string used = folder.file("used"), kept = folder.file("kept");

  Place() { put_all(kept); }

  static void put_all(const std::string& path) {
    auto store = DiskStore::open({path, 8 << 20, "model", kPageBytes});
    T9_CHECK(store.has_value());
    PrefixKey parent;
    for (TokenId page = 0; page < kPages; ++page) {
      PageName name{parent, {}, {}};
      name.tokens.fill(page);
      name.key = extend_key((*store)->secret(), parent, name.tokens);
      T9_CHECK((*store)->put(name, bytes_of(page)).has_value());
      parent = name.key;
    }
  }
  static void find_all(const std::string& path) {
    auto store = DiskStore::open({path, 8 << 20, "model", kPageBytes});
    if (!store) return;
    PrefixKey parent;
    for (TokenId page = 0; page < kPages; ++page) {
      std::array<TokenId, kPageTokens> tokens;
      tokens.fill(page);
      const auto found = (*store)->find(parent, tokens, kPageTokens);
      if (!found || !*found) return;
      T9_CHECK((*found)->bytes == bytes_of(page));
      parent = (*found)->name.key;
    }
  }
};

void change(const std::vector<std::string>& files, const uint8_t* six) {
  const std::string& path = files[six[0] % files.size()];
  uint32_t place = 0;
  std::memcpy(&place, six + 2, sizeof place);
  const uintmax_t size = fs::file_size(path);
  if (size == 0) return;
  if (six[1] == 0) {
    fs::resize_file(path, place % size);
    return;
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(place % size));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(place % size));
  file.put(static_cast<char>(byte ^ six[1]));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Place place;
  fs::remove_all(place.used);
  fs::copy(place.kept, place.used, fs::copy_options::recursive);
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(place.used)) {
    files.push_back(entry.path().string());
  }
  std::ranges::sort(files, {}, [](const std::string& path) { return fs::path(path).extension(); });
  for (size_t i = 0; i + 6 <= size; i += 6) change(files, data + i);
  Place::find_all(place.used);
  Place::put_all(place.used);
  Place::find_all(place.used);
  return 0;
}
