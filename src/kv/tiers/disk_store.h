// Pages on disk: what was computed outlives the process. File format: docs/formats/kv-cache.md.
//
// A folder holds index.sqlite (which page is where, and what it should hold) and segment files (the
// bytes). Several processes, also with different models, may share a folder: each writes segments
// of its own, which it keeps locked; what no living process writes, anyone may remove.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "kv/cache.h"
#include "kv/prefix_key.h"
#include "kv/tiers/sqlite.h"

namespace tempo9::kv {

struct DiskStoreOptions {
  std::string folder;      // made when it is not there
  uint64_t cap_bytes = 0;  // all files of the folder together
  // Everything that a page's bytes depend on beside its tokens: weights, tokenizer, KV type and
  // layout, version of the arithmetic. Pages of another identity are not seen.
  std::string identity;
  uint64_t page_bytes = 0;
};

// What a page is, without its bytes: 32 tokens behind the prefix named parent.
struct PageName {
  PrefixKey parent, key;
  std::array<TokenId, kPageTokens> tokens{};
};

// Whether a file of the folder is one of ours that holds pages.
bool is_segment_name(const std::string& name);

// Invariants:
//  - the sizes of all segments, as reserved or as they are, with the index's files, stay within the
//    cap: room is reserved in the index, in one transaction, before a segment is begun;
//  - a page is handed out only when its tokens are equal and its checksum, which covers identity,
//    name and bytes, holds; one that fails is removed.
// No fsync is needed: what a crash tears fails its checksum. Threads: one at a time.
class DiskStore {
 public:
  // Removes what is foreign, orphaned or above the cap. A damaged index is begun anew.
  // Errors: kIo (folder cannot be used), kResourceExhausted (disk full, or a cap too small for
  // anything).
  static Result<std::unique_ptr<DiskStore>> open(const DiskStoreOptions& options);
  ~DiskStore();

  // The key of the folder's hashes, so that a prefix has the same name in the next process.
  const HashKey& secret() const { return secret_; }

  // All pages of this identity.
  Result<std::vector<PrefixKey>> keys();

  // Stores a page unless it is there. Errors: kResourceExhausted (no room that could be made, disk
  // full), kIo, kCorrupt (the index).
  Status put(const PageName& name, std::span<const uint8_t> bytes);

  // The page behind parent that begins with the most of tokens (at most 32), at least min of them;
  // its tokens and bytes. None: a miss, also when what was there is damaged. removed: its key then.
  struct Found {
    PageName name;
    std::vector<uint8_t> bytes;
  };
  Result<std::optional<Found>> find(const PrefixKey& parent, std::span<const TokenId> tokens,
                                    uint32_t min);

  uint64_t n_damaged() const { return n_damaged_; }
  // Pages that left the store since the last call, evicted or damaged.
  std::vector<PrefixKey> take_removed();

  // Of all files of the folder.
  uint64_t bytes_on_disk() const;

 private:
  struct Segment {
    int64_t id = 0;
    std::string name;
    int fd = -1;
    uint64_t size = 0;  // written
  };
  struct Row {
    PageName name;
    int64_t segment = 0;
    uint64_t offset = 0;
    uint64_t checksum = 0;
  };

  explicit DiskStore(const DiskStoreOptions& options);
  Status open_index();
  Status check_owner() const;
  Status create_tables();
  Status prepare();
  Status read_identity();
  Status clean_up();
  Status remove_unlisted_files();
  Status settle_segments();
  void start_anew();

  uint64_t index_bytes() const;
  Result<uint64_t> reserved_bytes();
  Status make_room(uint64_t n_bytes);
  Result<bool> evict_segment();
  Result<bool> remove_segment(int64_t id, const std::string& name);
  Status begin_segment();
  void close_segment();

  Result<std::optional<Row>> find_row(const PrefixKey& parent, std::span<const TokenId> tokens,
                                      uint32_t min);
  Result<bool> read(const Row& row, std::span<uint8_t> bytes);
  Status remove_page(const PrefixKey& key);
  Result<int> reader(int64_t segment);
  uint64_t checksum(const PageName& name, std::span<const uint8_t> bytes) const;
  std::string path_of(const std::string& name) const { return options_.folder + "/" + name; }

  DiskStoreOptions options_;
  uint64_t segment_bytes_;
  uint64_t index_slack_;  // what the index may grow by while a segment fills
  HashKey secret_{};
  int64_t space_ = 0;  // the identity's number in the index
  std::optional<SqlConnection> db_;
  SqlStatement insert_page_, find_key_, find_children_, delete_page_, touch_page_, segment_name_;
  Segment writing_;
  std::unordered_map<int64_t, int> readers_;  // open files by segment
  std::vector<PrefixKey> removed_;
  uint64_t n_damaged_ = 0;
};

}  // namespace tempo9::kv
