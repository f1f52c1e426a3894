#pragma once
// Random numbers as a pure function of a key and a counter, in integer arithmetic: the same on every machine, in any
// order, from any thread.

#include <cstdint>

#include "base/hash.h"

namespace esper::data {

using base::mix64;

// The purpose of a key; the same seed gives unrelated numbers to each.
enum class Stream : std::uint64_t { kSplit = 1, kShuffle = 2, kAugment = 3, kCentres = 4, kNoise = 5 };

constexpr std::uint64_t key_of(std::uint64_t seed, Stream stream, std::uint64_t part = 0) {
  return mix64(mix64(mix64(seed) ^ static_cast<std::uint64_t>(stream)) ^ part);
}

constexpr std::uint64_t random_bits(std::uint64_t key, std::uint64_t counter) { return mix64(key ^ mix64(counter)); }

// Uniform over [0, n), 0 < n < 2^32; the bias is below n / 2^32 (Lemire's multiply and shift).
constexpr std::uint32_t random_below(std::uint64_t key, std::uint64_t counter, std::uint32_t n) {
  return static_cast<std::uint32_t>(((random_bits(key, counter) >> 32) * n) >> 32);
}

// Nearly normal, mean 0 and deviation 1: twelve uniform numbers summed (Irwin-Hall), so it never passes 6. The sum is
// an integer and the scaling a power of two: no rounding that could differ between machines.
constexpr double random_normal(std::uint64_t key, std::uint64_t counter) {
  std::int64_t sum = 0;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const auto bits = random_bits(key, counter * 6 + i);
    sum += static_cast<std::int64_t>(bits >> 32) + static_cast<std::int64_t>(bits & 0xffffffffu);
  }
  return static_cast<double>(sum - (std::int64_t{6} << 32)) * 0x1p-32;
}

}  // namespace esper::data
