#include "data/permutation.h"

#include <algorithm>
#include <bit>

#include "leyline/error.h"

namespace esper::data {

Permutation::Permutation(std::int64_t size, std::uint64_t key) : size_(size) {
  ESPER_CHECK(size >= 0 && size < (std::int64_t{1} << 60), "size of a permutation out of range");
  const int bits = std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(size - 1, 0)));
  // Halves of fewer than four bits would offer too few different networks to a tiny data set.
  half_bits_ = std::max(4, (bits + 1) / 2);
  for (int round = 0; round < kRounds; ++round) keys_[round] = random_bits(key, static_cast<std::uint64_t>(round));
}

Permutation Permutation::of_epoch(std::int64_t size, std::uint64_t seed, std::int64_t epoch) {
  return Permutation(size, key_of(seed, Stream::kShuffle, static_cast<std::uint64_t>(epoch)));
}

std::int64_t Permutation::operator[](std::int64_t i) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  auto value = static_cast<std::uint64_t>(i);
  do {
    std::uint64_t left = value >> half_bits_, right = value & mask;
    for (const auto key : keys_) {
      const auto mixed = left ^ (mix64(right ^ key) & mask);
      left = right;
      right = mixed;
    }
    value = left << half_bits_ | right;
  } while (value >= static_cast<std::uint64_t>(size_));
  return static_cast<std::int64_t>(value);
}

}  // namespace esper::data
