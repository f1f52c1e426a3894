#pragma once
// Which samples of a file are used, and in which part. Pure functions; the same on every machine.

#include <cstdint>
#include <vector>

namespace esper::data {

// `wanted` indices of [0, count), evenly spaced and ascending; all of them if wanted is 0 or not below count.
std::vector<std::int64_t> evenly(std::int64_t count, std::int64_t wanted);

struct SplitIndices {
  std::vector<std::int64_t> train, validation;  // ascending
};

// How many of `count` samples validate: the share, rounded, with at least one sample on either side. Needs count >= 2.
std::int64_t validation_count(std::int64_t count, double fraction);

// A random split; the same seed gives the same split of the same count.
SplitIndices split_indices(std::int64_t count, double validation_fraction, std::uint64_t seed);

}  // namespace esper::data
