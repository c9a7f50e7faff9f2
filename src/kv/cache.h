// The KV cache of all sequences: page tables over one pool, and the prefix cache that finds what
// was computed before. Knows tokens and page numbers; bytes move through the PageCopier.
#pragma once

#include <algorithm>
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
inline constexpr uint64_t pages_for(uint64_t n_tokens) {
  return (n_tokens + kPageTokens - 1) / kPageTokens;
}

// A kind of layer. Each page has a part of each kind, whose memory comes and goes by itself: what
// lies behind a sliding window is no longer needed.
struct PageClass {
  uint32_t window = 0;  // a token sees the last so many, itself included; 0: all
  uint64_t bytes = 1;   // of a page's part
  bool operator==(const PageClass&) const = default;
};
inline constexpr size_t kMaxPageClasses = 8;

// What recurrent layers know of a prefix, all layers: one slot. Unlike pages it is of one place, so
// a sequence has one that moves on with it, and leaves others behind where someone may go on from.
using StateSlot = uint32_t;
inline constexpr StateSlot kNoSlot = ~0u;

// The state behind a row of a step goes into a slot.
struct StateOut {
  uint32_t row = 0;
  StateSlot slot = kNoSlot;
  bool operator==(const StateOut&) const = default;
};

struct CacheOptions {
  uint32_t n_pages = 0;  // pages there are names for
  std::vector<PageClass> classes = {PageClass{}};
  uint64_t memory_bytes = 0;  // that all parts may take; 0: what n_pages whole pages take
  uint32_t step_tokens = 0;   // that one sequence may add in a step
  uint64_t state_bytes = 0;   // of a slot of recurrent state; 0: no layer is recurrent
  uint32_t n_states = 0;      // slots there are names for
};

// Memory that one sequence of n_tokens needs at most at any time.
uint64_t sequence_bytes(const CacheOptions& options, uint64_t n_tokens);

class PageCopier {
 public:
  virtual ~PageCopier() = default;
  // Copies the first n_tokens positions of a page, all layers.
  virtual void copy_page(PageId from, PageId to, uint32_t n_tokens) = 0;
  // Copies a page's part of one class.
  virtual void copy_part(PageId from, PageId to, size_t page_class) = 0;
  // The part's memory may go back to the system; its content is not asked for again.
  virtual void drop_part(PageId page, size_t page_class) = 0;
  // Likewise a slot's.
  virtual void drop_state(StateSlot slot) = 0;
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
  // A request goes on from what was found: what came from disk counts as in memory from now on.
  void use();
  // Page i holds positions [32 i, 32 i + 32).
  std::span<const PageId> pages() const;
  // Makes the pages cover n_tokens positions. False, and nothing has changed, when too little is
  // free. computes: they will be computed, so there is also a state that moves on with them.
  [[nodiscard]] bool extend(uint32_t n_tokens, bool computes = true);
  // How much more memory n_tokens positions need, beside what this lease already needs.
  uint64_t missing_bytes(uint32_t n_tokens) const;
  uint64_t missing_pages(uint32_t n_tokens) const {
    return std::max<uint64_t>(pages_for(n_tokens), pages().size()) - pages().size();
  }
  bool covers(uint32_t n_tokens) const { return pages().size() * size_t{kPageTokens} >= n_tokens; }
  // States that the KV of tokens has been computed: others can find it from now on. A page that
  // turns out to hold the same as one that is already known is given back, and the known one takes
  // its place: pages() may change. Requires: tokens begins with what was committed or found before,
  // and the pages cover it.
  void commit(std::span<const TokenId> tokens, Origin origin = Origin::kComputed);

  // Recurrent layers. A step of n_rows tokens reads the state behind what is committed or found
  // from `in` (kNoSlot: there is nothing before them) and leaves the states behind some rows in
  // others; commit() says that it did. Valid until the next call. Requires: extend() covers the
  // rows.
  struct StepStates {
    StateSlot in = kNoSlot;
    std::span<const StateOut> out;
  };
  StepStates begin_step(uint32_t n_rows);
  // When this sequence comes to the last page border before n_tokens, the state is kept there, so
  // that others can go on from it.
  void want_state(uint32_t n_tokens);
  // A slot for the state behind the first n_tokens of what is committed, whole pages of them; the
  // caller fills it at once. kNoSlot: it is there, or there is no room.
  StateSlot add_state(uint32_t n_tokens);
  // The cache is given up: nothing is released.
  void detach() { cache_ = nullptr; }

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
//  - whole committed pages of a table chain: each one's parent is the key of the one before;
//  - a part that a sequence needs has memory, and all parts together take no more than they may;
//  - what is counted as needed is what the tables say;
//  - a state belongs to a page and stands behind all tokens that are known of it, or to one table.
// Threads: one (the engine's).
class Cache {
 public:
  // copier must outlive the cache. secret: random, so that nobody can aim at collisions.
  Cache(CacheOptions options, const HashKey& secret, PageCopier* copier);
  // Pages that all layers see to the end, one byte each.
  Cache(uint32_t n_pages, const HashKey& secret, PageCopier* copier)
      : Cache(CacheOptions{.n_pages = n_pages}, secret, copier) {}
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // Finds the longest known prefix of tokens, at most limit of them, and pins it: one walk. A hit
  // may end inside a page: that part is copied when the lease is first extended. Nothing is counted
  // as used before Lease::use(): whoever looks may have to wait, or only bring pages in for others.
  Lease match_prefix(std::span<const TokenId> tokens, uint32_t limit);
  Lease match_prefix(std::span<const TokenId> tokens) {
    return match_prefix(tokens, static_cast<uint32_t>(tokens.size()));
  }

  uint32_t n_pages() const { return pool_.n_pages(); }
  uint32_t n_free_pages() const { return pool_.n_free(); }
  uint32_t n_warm_pages() const { return pool_.n_warm(); }
  uint64_t memory_bytes() const { return options_.memory_bytes; }  // that all parts may take
  // Memory that the parts of all pages take.
  uint64_t resident_bytes() const { return resident_bytes_; }
  // Of that, what sequences need; and what they may still take.
  uint64_t needed_bytes() const {
    return uint64_t{pool_.n_pages() - pool_.n_free()} * full_bytes_ + needed_window_bytes_ +
           uint64_t{states_.n_pages() - states_.n_free()} * options_.state_bytes;
  }
  bool has_states() const { return options_.state_bytes > 0; }
  uint64_t free_bytes() const { return limit_bytes_ - std::min(limit_bytes_, needed_bytes()); }

  // For now all parts may take so much, at most memory_bytes(). What sequences need stays, also
  // where that is more.
  void set_limit(uint64_t n_bytes) { limit_bytes_ = std::min(n_bytes, options_.memory_bytes); }

  // Gives up to n bytes of memory that no sequence needs back: parts that windows have passed by,
  // pages without content, then the oldest. Returns how much.
  uint64_t give_back(uint64_t n);
  // Memory is short: free pages are used again before more memory is touched.
  void set_thrifty(bool thrifty) { is_thrifty_ = thrifty; }

  // For a tier below: whole computed pages, in the order in which they became whole (parents before
  // children), each once, as long as all their parts are there. Spans are valid until the page is
  // handed out again.
  struct WholePage {
    PageId page = kNoPage;
    PrefixKey parent, key;
    std::span<const TokenId> tokens;
  };
  void set_lists_whole_pages(bool lists) { lists_whole_pages_ = lists; }
  std::optional<WholePage> next_whole_page();
  // A page by its key, if it is there with all its parts.
  std::optional<WholePage> whole_page(const PrefixKey& key) const;
  // It is the next one in the list, once more.
  void list_next(const WholePage& page) { whole_pages_.emplace_front(page.page, page.key); }
  size_t n_listed_whole_pages() const { return whole_pages_.size(); }
  // Likewise the states behind whole pages, as long as they are there.
  struct WholeState {
    StateSlot slot = kNoSlot;
    WholePage page;
  };
  std::optional<WholeState> next_whole_state();
  size_t n_listed_whole_states() const { return whole_states_.size(); }

  // What is known can no longer be trusted: all memory goes back, and the cache may only be
  // destroyed. Requires: no lease is left, or all were detached.
  void give_up();

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
    bool from_disk = false;  // and nobody has used it yet
    // A sequence ended or forked within the windows that reach over this page: its parts stay as
    // long as the page.
    bool is_border = false;
    StateSlot state = kNoSlot;  // behind its n_tokens
    std::span<const TokenId> span() const { return {tokens.data(), n_tokens}; }
  };
  using Parts = uint8_t;  // bit c: the part of class c has memory
  struct Table {
    bool in_use = false;
    std::vector<PageId> pages;
    CachedTokens cached;
    uint32_t n_committed = 0;      // positions whose content is registered
    PrefixKey chain;               // of the whole pages among them
    PageId tail_source = kNoPage;  // to be copied into the next new page; held
    uint32_t n_tail = 0;
    uint32_t fork = 0;  // tokens that others know, though not all parts are there any more

    uint32_t n_state = 0;                 // tokens that the state below stands behind
    StateSlot own_state = kNoSlot;        // moves on with the sequence
    StateSlot state_source = kNoSlot;     // a page's, held: where the next step starts from
    std::vector<uint32_t> wanted_states;  // page borders
    std::vector<StateOut> step_states;    // of the step that was begun
  };

  uint32_t new_table(Table table);
  void close(uint32_t table_index);
  bool extend(Table* table, uint32_t n_tokens, bool computes);
  void commit(Table* table, std::span<const TokenId> tokens, Origin origin);
  void wait_for(PageId page, PageId equal);
  void hit(Table* table, PageId page, uint32_t n_tokens);
  void use(const Table& table);
  PageId find_full(const PrefixKey& parent, std::span<const TokenId> tokens, PrefixKey* key) const;
  void find_tail(Table* table, std::span<const TokenId> tokens) const;
  PageId take_page();

  // cache_states.cc
  size_t find_state(Table* table, std::span<const TokenId> tokens) const;
  PageId child_with_state(const PrefixKey& parent, std::span<const TokenId> tokens) const;
  void hold_state(Table* table, const Content& content);
  Lease::StepStates begin_step(Table* table, uint32_t n_rows);
  void want_state(Table* table, uint32_t n_tokens);
  StateSlot add_state(const Table& table, uint32_t n_tokens);
  void end_step(Table* table, uint32_t n_tokens, Origin origin);
  void cancel_step(Table* table);
  void close_states(Table* table);
  StateSlot take_state(bool is_needed);
  void keep_state(PageId page, StateSlot slot);
  void list_whole_state(PageId page);
  void release_state(StateSlot slot);
  void forget_state(PageId page);
  void disown_state(StateSlot slot);
  bool drop_state(StateSlot slot, uint64_t* n_dropped);
  Status check_states() const;

  // cache_memory.cc
  bool has_windows() const { return full_bytes_ < page_bytes_; }
  bool is_whole(PageId page) const { return parts_[page] == all_parts_; }
  std::vector<bool> usable(std::span<const PageId> pages) const;
  size_t n_usable(std::span<const PageId> pages) const;
  // The first page that a token at n_tokens still sees.
  size_t first_needed(size_t page_class, size_t n_tokens) const;
  size_t first_needed(const Table& table, size_t page_class) const {
    return first_needed(page_class, table.n_committed);
  }
  uint64_t missing_bytes(const Table& table, uint32_t n_tokens) const;
  void need(PageId page, size_t page_class, int change);
  void need_all(PageId page, int change);
  void need_at(const Table& table, size_t index, int change);
  void advance(Table* table, uint32_t n_committed);
  Parts needed_parts(PageId page) const;
  void mark_border(const Table& table, size_t n_tokens);
  uint64_t drop_passed(uint64_t n_bytes, bool borders_too, PageId filling = kNoPage);
  uint64_t drop(PageId page, size_t page_class);
  bool drop_oldest(uint64_t* n_dropped);
  void fill_parts(PageId page);
  void move_parts(PageId from, PageId to);
  uint64_t bytes_of(Parts parts) const;
  void learn(PageId page, const PrefixKey& parent, std::span<const TokenId> tokens, Origin origin);
  void forget(PageId page);
  Status check_contents() const;
  Status check_needs() const;
  Status check_memory() const;
  Status check_tables() const;

  CacheOptions options_;
  HashKey secret_;
  PageCopier* copier_;
  PagePool pool_;
  std::vector<Content> contents_;
  std::vector<Parts> parts_;                  // of each page
  uint64_t limit_bytes_ = 0;                  // at most options_.memory_bytes
  uint64_t page_bytes_ = 0, full_bytes_ = 0;  // of a whole page, and of its parts without window
  Parts all_parts_ = 0;
  uint64_t resident_bytes_ = 0;
  // With windows: by page and class, how many sequences need the part (of classes with a window
  // only); and the bytes of those that any needs.
  using Needs = std::array<uint16_t, kMaxPageClasses>;
  std::vector<Needs> n_needing_;
  uint64_t needed_window_bytes_ = 0;
  bool is_thrifty_ = false;
  std::unordered_map<PrefixKey, PageId, PrefixKeyHash> full_pages_;   // by key
  std::unordered_map<PrefixKey, PageId, PrefixKeyHash> first_child_;  // by parent
  std::vector<Table> tables_;
  std::vector<uint32_t> free_tables_;
  bool lists_whole_pages_ = false;
  std::deque<std::pair<PageId, PrefixKey>> whole_pages_;   // some may have been forgotten since
  std::deque<std::pair<PageId, PrefixKey>> whole_states_;  // likewise

  PagePool states_;                     // of slots: those that a page owns are warm when not held
  std::vector<PageId> state_owners_;    // by slot; kNoPage: a table's, or blank
  std::vector<bool> state_has_memory_;  // by slot
  uint64_t n_resident_states_ = 0;      // of those
};

}  // namespace tempo9::kv
