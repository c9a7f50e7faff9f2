// The KV cache of all sequences: page tables over one pool, and the prefix cache that finds what
// was computed before. Knows tokens and page numbers; bytes move through the PageCopier.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kv/page_pool.h"
#include "kv/prefix_key.h"

namespace tempo9::kv {

inline constexpr uint32_t kPageTokens = 32;

class PageCopier {
 public:
  virtual ~PageCopier() = default;
  // Copies the first n_tokens positions of a page, all layers.
  virtual void copy_page(PageId from, PageId to, uint32_t n_tokens) = 0;
  // The page's memory may go back to the system; its content is not asked for again.
  virtual void drop_page(PageId page) = 0;
};

// Prompt tokens that were found, by where their pages were: held by a running sequence, free but
// still in memory, or brought from disk for this request.
struct CachedTokens {
  uint32_t live = 0, ram = 0, disk = 0;
  uint32_t total() const { return live + ram + disk; }
  CachedTokens& operator+=(const CachedTokens& other) {
    live += other.live, ram += other.ram, disk += other.disk;
    return *this;
  }
  bool operator==(const CachedTokens&) const = default;
};

// Where a page's KV came from.
enum class Origin { kComputed, kDisk };

class Cache;

// A sequence's pages, held until the lease ends. Move-only; the cache must outlive it. A moved-from
// or default lease holds nothing, and only assignment and destruction are allowed then.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();

  // The key of the whole pages that are committed or were found.
  PrefixKey chain() const;
  // Tokens of the prompt that need not be computed.
  uint32_t n_cached() const;
  CachedTokens cached() const;
  // Page i holds positions [32 i, 32 i + 32).
  std::span<const PageId> pages() const;
  // Makes the pages cover n_tokens positions. False, and nothing has changed, when too few pages
  // are free.
  [[nodiscard]] bool extend(uint32_t n_tokens);
  // How many more pages n_tokens positions need.
  uint32_t n_missing_pages(uint32_t n_tokens) const;
  // States that the KV of tokens has been computed: others can find it from now on. A page that
  // turns out to hold the same as one that is already known is given back, and the known one takes
  // its place: pages() may change. Requires: tokens begins with what was committed or found before,
  // and the pages cover it.
  void commit(std::span<const TokenId> tokens, Origin origin = Origin::kComputed);

 private:
  friend class Cache;
  Lease(Cache* cache, uint32_t table) : cache_(cache), table_(table) {}
  Cache* cache_ = nullptr;
  uint32_t table_ = 0;
};

// Invariants (check_integrity):
//  - a page's holders are exactly the tables that list it or wait to copy from it;
//  - a page with known content is in its parent's list of children, and in the index of whole pages
//  when it is full;
//    keys in that index are unique, and each key is the hash of the page's tokens after its parent;
//  - whole committed pages of a table chain: each one's parent is the key of the one before.
// Threads: one (the engine's).
class Cache {
 public:
  // copier must outlive the cache. secret: random, so that nobody can aim at collisions.
  Cache(uint32_t n_pages, const HashKey& secret, PageCopier* copier);
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // Finds the longest known prefix of tokens, at most limit of them, and pins it: one walk. A hit
  // may end inside a page: that part is copied when the lease is first extended.
  Lease match_prefix(std::span<const TokenId> tokens, uint32_t limit) {
    return match_prefix(tokens, limit, /*counts=*/true);
  }
  // The same for someone who brings pages in for a request that is still to come: what it finds is
  // not counted as used.
  Lease pin_prefix(std::span<const TokenId> tokens) {
    return match_prefix(tokens, static_cast<uint32_t>(tokens.size()), /*counts=*/false);
  }

  uint32_t n_pages() const { return pool_.n_pages(); }
  uint32_t n_free_pages() const { return pool_.n_free(); }
  uint32_t n_warm_pages() const { return pool_.n_warm(); }
  uint32_t n_resident_pages() const { return pool_.n_resident(); }

  // Gives the memory of up to n free pages back, those without content first, then the oldest.
  // Returns how many.
  uint32_t give_back(uint32_t n);
  // Memory is short: free pages are used again before more memory is touched.
  void set_thrifty(bool thrifty) { pool_.set_thrifty(thrifty); }

  // For a tier below: whole computed pages, in the order in which they became whole (parents before
  // children), each once. Spans are valid until the page is handed out again.
  struct WholePage {
    PageId page = kNoPage;
    PrefixKey parent, key;
    std::span<const TokenId> tokens;
  };
  void set_lists_whole_pages(bool lists) { lists_whole_pages_ = lists; }
  std::optional<WholePage> next_whole_page();
  size_t n_listed_whole_pages() const { return whole_pages_.size(); }

  Status check_integrity() const;

 private:
  friend class Lease;

  // What is known of a page's content. It outlives the holders, until the page is handed out again.
  struct Content {
    uint32_t n_tokens = 0;  // 0: nothing is known, and the rest means nothing
    std::array<TokenId, kPageTokens> tokens{};
    PrefixKey parent;  // of the prefix before this page
    PrefixKey key;     // with this page; full pages only
    PageId next_sibling = kNoPage;
    PageId previous_sibling = kNoPage;
    bool from_disk = false;  // and nobody has hit it yet
    std::span<const TokenId> span() const { return {tokens.data(), n_tokens}; }
  };
  struct Table {
    bool in_use = false;
    std::vector<PageId> pages;
    CachedTokens cached;
    uint32_t n_committed = 0;      // positions whose content is registered
    PrefixKey chain;               // of the whole pages among them
    PageId tail_source = kNoPage;  // to be copied into the next new page; held
    uint32_t n_tail = 0;
  };

  Lease match_prefix(std::span<const TokenId> tokens, uint32_t limit, bool counts);
  uint32_t new_table();
  void close(uint32_t table_index);
  bool extend(Table* table, uint32_t n_tokens);
  void commit(Table* table, std::span<const TokenId> tokens, Origin origin);
  void count_hit(Table* table, PageId page, uint32_t n_tokens, bool counts);
  PageId find_full(const PrefixKey& parent, std::span<const TokenId> tokens, PrefixKey* key) const;
  void find_tail(Table* table, std::span<const TokenId> tokens) const;
  PageId take_page();
  void learn(PageId page, const PrefixKey& parent, std::span<const TokenId> tokens, Origin origin);
  void forget(PageId page);
  Status check_contents() const;
  Status check_tables() const;

  HashKey secret_;
  PageCopier* copier_;
  PagePool pool_;
  std::vector<Content> contents_;
  std::unordered_map<PrefixKey, PageId, PrefixKeyHash> full_pages_;   // by key
  std::unordered_map<PrefixKey, PageId, PrefixKeyHash> first_child_;  // by parent
  std::vector<Table> tables_;
  std::vector<uint32_t> free_tables_;
  bool lists_whole_pages_ = false;
  std::deque<std::pair<PageId, PrefixKey>> whole_pages_;  // some may have been forgotten since
};

}  // namespace tempo9::kv
