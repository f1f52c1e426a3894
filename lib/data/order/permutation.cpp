#include "data/order/permutation.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

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

// The network, over the whole power of four.
inline std::uint64_t Permutation::once(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_, right = value & mask;
  for (const auto key : keys_) {
    const auto mixed = left ^ (mix64(right ^ key) & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits_ | right;
}

std::int64_t Permutation::operator[](std::int64_t i) const {
  auto value = static_cast<std::uint64_t>(i);
  do value = once(value);
  while (value >= static_cast<std::uint64_t>(size_));
  return static_cast<std::int64_t>(value);
}

void Permutation::fill(std::int64_t first, std::span<std::int64_t> out) const {
  constexpr std::size_t kTogether = 8;
  const auto size = static_cast<std::uint64_t>(size_);
  while (!out.empty()) {
    const std::size_t count = std::min(kTogether, out.size());
    std::array<std::uint64_t, kTogether> values{};
    for (std::size_t k = 0; k < count; ++k) values[k] = once(static_cast<std::uint64_t>(first) + k);
    for (bool outside = true; outside;) {
      outside = false;
      for (std::size_t k = 0; k < count; ++k) {
        if (values[k] < size) continue;
        values[k] = once(values[k]);
        outside = true;
      }
    }
    for (std::size_t k = 0; k < count; ++k) out[k] = static_cast<std::int64_t>(values[k]);
    first += static_cast<std::int64_t>(count);
    out = out.subspan(count);
  }
}

}  // namespace esper::data
