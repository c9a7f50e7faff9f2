// Hashing and the two hash tables of this room: open addressing, filled once at load, then read by
// all threads.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace tempo9::tokenizer {

T9_INLINE uint64_t mix(uint64_t x) {
  x *= 0x9E3779B97F4A7C15u;
  return x ^ (x >> 32);
}

T9_INLINE uint64_t hash_bytes(std::string_view s) {
  uint64_t h = s.size();
  const char* p = s.data();
  size_t n = s.size();
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    h = mix(h ^ word);
  }
  uint64_t word = 0;
  for (size_t i = 0; i < n; ++i)
    word |= static_cast<uint64_t>(static_cast<unsigned char>(p[i])) << (8 * i);
  return mix(mix(h ^ word));
}

// Strings to their numbers. Holds numbers only: the strings are the caller's, strings[number] is
// the key.
class StringIndex {
 public:
  static constexpr int32_t kNone = -1;

  void reserve(size_t n) { slots_.assign(std::bit_ceil(n * 2 + 2), Slot{}); }

  // The first of equal strings stays. Requires: no more insertions than reserved.
  template <typename Strings>
  void insert(const Strings& strings, int32_t number) {
    const std::string_view key = strings[static_cast<size_t>(number)];
    const uint64_t h = hash_bytes(key);
    for (size_t i = h & mask();; i = (i + 1) & mask()) {
      Slot& slot = slots_[i];
      if (slot.number == kNone) {
        slot = {static_cast<uint32_t>(h >> 32), number};
        return;
      }
      if (slot.tag == static_cast<uint32_t>(h >> 32) &&
          strings[static_cast<size_t>(slot.number)] == key)
        return;
    }
  }

  template <typename Strings>
  int32_t find(const Strings& strings, std::string_view key) const {
    if (slots_.empty()) return kNone;
    const uint64_t h = hash_bytes(key);
    for (size_t i = h & mask();; i = (i + 1) & mask()) {
      const Slot& slot = slots_[i];
      if (slot.number == kNone) return kNone;
      if (slot.tag == static_cast<uint32_t>(h >> 32) &&
          strings[static_cast<size_t>(slot.number)] == key) {
        return slot.number;
      }
    }
  }

 private:
  struct Slot {
    uint32_t tag = 0;
    int32_t number = kNone;
  };
  size_t mask() const { return slots_.size() - 1; }
  std::vector<Slot> slots_;
};

// 64-bit keys to small values. The key of all ones is not allowed.
template <typename Value>
class IntegerMap {
 public:
  void reserve(size_t n) { slots_.assign(std::bit_ceil(n + n / 3 + 2), Slot{}); }

  // The first value of a key stays. Requires: no more insertions than reserved.
  void insert(uint64_t key, Value value) {
    for (size_t i = mix(key) & mask();; i = (i + 1) & mask()) {
      if (slots_[i].key == kEmpty) {
        slots_[i] = {key, value};
        return;
      }
      if (slots_[i].key == key) return;
    }
  }

  const Value* find(uint64_t key) const {
    if (slots_.empty()) return nullptr;
    for (size_t i = mix(key) & mask();; i = (i + 1) & mask()) {
      if (slots_[i].key == key) return &slots_[i].value;
      if (slots_[i].key == kEmpty) return nullptr;
    }
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  struct Slot {
    uint64_t key = kEmpty;
    Value value{};
  };
  size_t mask() const { return slots_.size() - 1; }
  std::vector<Slot> slots_;
};

}  // namespace tempo9::tokenizer
