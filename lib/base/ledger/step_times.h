#pragma once
// How long steps took, as a histogram on a logarithmic scale: 32 buckets an octave, so a quantile is right within 3%. A
// fixed size, no allocation. One thread.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace esper::base {

struct StepQuantiles {
  std::uint64_t steps = 0;
  double p50_us = 0, p95_us = 0;
};

class StepTimes {
 public:
  // In any unit that makes a step more than a few counts.
  void add(std::uint64_t length) {
    const std::size_t bucket = bucket_of(length);
    ++counts_[bucket];
    ++total_;
    lowest_ = std::min(lowest_, bucket);
    highest_ = std::max(highest_, bucket);
  }
  std::uint64_t count() const { return total_; }
  // The length that `share` (0 to 1) of the steps do not exceed, in the unit of add(); 0 without steps.
  double quantile(double share) const;
  void clear();
  // Of the lengths since the last call, with `ns` nanoseconds to the unit of add().
  StepQuantiles take(double ns);

 private:
  static constexpr int kBits = 5;  // 2^5 buckets an octave
  static constexpr std::size_t kBuckets = std::size_t{40} << kBits;

  // The first 32 hold one value each, then each octave has 32.
  static std::size_t bucket_of(std::uint64_t length) {
    const int shift = std::max(static_cast<int>(std::bit_width(length)) - 1 - kBits, 0);
    const auto bucket = (static_cast<std::uint64_t>(shift) << kBits) + (length >> shift);
    return std::min<std::uint64_t>(bucket, kBuckets - 1);
  }
  static double start_of(std::size_t bucket);

  std::array<std::uint32_t, kBuckets> counts_{};
  std::uint64_t total_ = 0;
  std::size_t lowest_ = kBuckets - 1, highest_ = 0;
};

}  // namespace esper::base
