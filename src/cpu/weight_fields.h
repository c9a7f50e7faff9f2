// Where the bits of packed weights are. A block of 32 inputs x 16 columns fills eight registers of
// 64 weights; weights of n bits stand in n loads of 64 bytes, byte i of which belongs to byte i of
// every register. Shared by cpu/pack.cc and the kernels' cpu/generic/formats.inl.h.
#pragma once

#include <cstdint>

namespace tempo9::cpu {

// Bits [at, at + n) of a load's bytes are bits [to, to + n) of the register's.
struct WeightField {
  uint8_t load, at, n, to;
};

// [bits of a weight][register][its fields, the rest of which have no bits]. Weights of one bit are
// 0 or 2. Widths that do not divide 8 fill each load from below, and what is left above makes the
// last registers: with a plane for the odd bits every register would be put together from two
// loads.
constexpr WeightField kWeightFields[9][8][3] = {
    {},
    {{{0, 0, 1, 1}},
     {{0, 1, 1, 1}},
     {{0, 2, 1, 1}},
     {{0, 3, 1, 1}},
     {{0, 4, 1, 1}},
     {{0, 5, 1, 1}},
     {{0, 6, 1, 1}},
     {{0, 7, 1, 1}}},
    {{{0, 0, 2, 0}},
     {{0, 2, 2, 0}},
     {{0, 4, 2, 0}},
     {{0, 6, 2, 0}},
     {{1, 0, 2, 0}},
     {{1, 2, 2, 0}},
     {{1, 4, 2, 0}},
     {{1, 6, 2, 0}}},
    {{{0, 0, 3, 0}},
     {{1, 0, 3, 0}},
     {{2, 0, 3, 0}},
     {{0, 3, 3, 0}},
     {{1, 3, 3, 0}},
     {{2, 3, 3, 0}},
     {{0, 6, 2, 0}, {1, 6, 1, 2}},
     {{2, 6, 2, 0}, {1, 7, 1, 2}}},
    {{{0, 0, 4, 0}},
     {{1, 0, 4, 0}},
     {{2, 0, 4, 0}},
     {{3, 0, 4, 0}},
     {{0, 4, 4, 0}},
     {{1, 4, 4, 0}},
     {{2, 4, 4, 0}},
     {{3, 4, 4, 0}}},
    {{{0, 0, 5, 0}},
     {{1, 0, 5, 0}},
     {{2, 0, 5, 0}},
     {{3, 0, 5, 0}},
     {{4, 0, 5, 0}},
     {{0, 5, 3, 0}, {1, 6, 2, 3}},
     {{2, 5, 3, 0}, {3, 6, 2, 3}},
     {{4, 5, 3, 0}, {1, 5, 1, 3}, {3, 5, 1, 4}}},
    {{{0, 0, 6, 0}},
     {{1, 0, 6, 0}},
     {{2, 0, 6, 0}},
     {{3, 0, 6, 0}},
     {{4, 0, 6, 0}},
     {{5, 0, 6, 0}},
     {{0, 6, 2, 0}, {1, 6, 2, 2}, {2, 6, 2, 4}},
     {{3, 6, 2, 0}, {4, 6, 2, 2}, {5, 6, 2, 4}}},
    {},
    {{{0, 0, 8, 0}},
     {{1, 0, 8, 0}},
     {{2, 0, 8, 0}},
     {{3, 0, 8, 0}},
     {{4, 0, 8, 0}},
     {{5, 0, 8, 0}},
     {{6, 0, 8, 0}},
     {{7, 0, 8, 0}}},
};

}  // namespace tempo9::cpu
