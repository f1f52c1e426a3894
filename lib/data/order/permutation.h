#pragma once
// The order of an epoch, computed instead of stored: where sample i of epoch e under seed s comes from, in O(1).

#include <array>
#include <cstdint>
#include <span>

#include "data/order/random.h"

namespace esper::data {

// A bijection of [0, size). A Feistel network (Luby, Rackoff 1988) permutes the next larger power of four, and a value
// outside the range is fed through again until it falls inside ("cycle walking"; Black, Rogaway 2002). Immutable.
class Permutation {
 public:
  Permutation(std::int64_t size, std::uint64_t key);
  // The epoch's shuffle of `size` samples.
  static Permutation of_epoch(std::int64_t size, std::uint64_t seed, std::int64_t epoch);

  // The i-th element of the order; 0 <= i < size.
  std::int64_t operator[](std::int64_t i) const;
  // The same for i = first, first + 1, ...: several at a time, which is quicker where each has to wait for itself.
  void fill(std::int64_t first, std::span<std::int64_t> out) const;

 private:
  std::uint64_t once(std::uint64_t value) const;

  static constexpr int kRounds = 6;
  std::int64_t size_;
  int half_bits_;
  std::array<std::uint64_t, kRounds> keys_;
};

}  // namespace esper::data
