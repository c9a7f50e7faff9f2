#include "cpu/kv_arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <numeric>

namespace tempo9::cpu {
namespace {

#ifndef MADV_COLLAPSE
constexpr int MADV_COLLAPSE = 25;  // Linux 6.1
#endif

constexpr size_t kSystemPage = 4096, kHugePage = size_t{2} << 20;

size_t resident_bytes(const uint8_t* begin, size_t n) {
  std::vector<unsigned char> pages(n / kSystemPage);
  EXPECT_EQ(::mincore(const_cast<uint8_t*>(begin), n, pages.data()), 0);
  return kSystemPage *
         static_cast<size_t>(std::ranges::count_if(pages, [](auto page) { return page & 1; }));
}

// What khugepaged does sooner or later, at once: memory that is in use in part becomes large pages,
// as a whole.
bool collapse(uint8_t* begin, size_t n) {
  auto address = reinterpret_cast<uintptr_t>(begin);
  const size_t skipped = (kHugePage - address % kHugePage) % kHugePage;
  return ::madvise(begin + skipped, (n - skipped) / kHugePage * kHugePage, MADV_COLLAPSE) == 0;
}

bool system_collapses() {
  auto memory = Memory::reserve(4 * kHugePage);
  for (size_t i = 0; i < memory->size(); i += 2 * kSystemPage) memory->data()[i] = 1;
  return collapse(memory->data(), memory->size()) &&
         resident_bytes(memory->data(), memory->size()) > memory->size() / 2;
}

// Two layers, one with a window: 32 keys of 16 heads of 64 numbers, two bytes each, twice.
ops::Program two_classes() {
  ops::Program program;
  program.kv_layers = {{16, 64}, {16, 64}};
  for (uint32_t layer = 0; layer < 2; ++layer) {
    ops::Attention attention{};
    attention.kv_layer = layer;
    attention.window = layer == 0 ? 0u : 100u;
    program.ops.emplace_back(attention);
  }
  return program;
}
constexpr size_t kPartBytes = size_t{32} * 16 * 64 * 2 * 2;

TEST(KvArena, WhatWasGivenBackStaysGivenBack) {
  if (!system_collapses()) GTEST_SKIP() << "this system makes no large pages on request";
  constexpr uint32_t kPages = 64;
  KvArena arena;
  ASSERT_TRUE(arena.reserve(two_classes(), ops::KvType::kF16, kPages));
  ASSERT_EQ(arena.page_bytes(), 2 * kPartBytes);
  const std::vector<uint8_t> bytes(arena.page_bytes(), 7);
  for (ops::PageId page = 0; page < kPages; ++page) arena.write(page, bytes);
  uint8_t* const window = arena.head(0, arena.layer(1), 0);
  constexpr size_t kClassBytes = kPages * kPartBytes;
  EXPECT_EQ(resident_bytes(window, kClassBytes), kClassBytes);
  for (ops::PageId page = 0; page < kPages; page += 2) arena.drop_part(page, 1);
  EXPECT_EQ(resident_bytes(window, kClassBytes), kClassBytes / 2);
  EXPECT_FALSE(collapse(window, kClassBytes));
  EXPECT_EQ(resident_bytes(window, kClassBytes), kClassBytes / 2);
  std::vector<uint8_t> kept(arena.page_bytes());
  arena.read(1, kept);
  EXPECT_EQ(kept, bytes);
  arena.read(2, kept);
  EXPECT_EQ(std::accumulate(kept.begin(), kept.end(), size_t{0}), 7 * kPartBytes);
}

}  // namespace
}  // namespace tempo9::cpu
