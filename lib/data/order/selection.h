#pragma once
// Which samples of a file are used, and in which part. Pure functions; the same on every machine.

#include <cstdint>
#include <filesystem>
#include <vector>

namespace esper::data {

// `wanted` indices of [0, count), evenly spaced and ascending; all of them if wanted is 0 or not below count.
std::vector<std::int64_t> evenly(std::int64_t count, std::int64_t wanted);

// What is split off from the training samples; 0: no such part.
struct SplitFractions {
  double validation = 0, test = 0;
};

// Throws Error{kData} naming `place` if there are fewer samples than parts.
void require_splittable(const std::filesystem::path& place, std::int64_t count, const SplitFractions& fractions);

struct SplitCounts {
  std::int64_t train = 0, validation = 0, test = 0;
};
// How many of `count` samples each part gets: its fraction, rounded, with at least one sample in every part. Needs a
// sample for each.
SplitCounts split_counts(std::int64_t count, const SplitFractions& fractions);

struct SplitIndices {
  std::vector<std::int64_t> train, validation, test;  // ascending
};
// A random split; the same seed gives the same split of the same count.
SplitIndices split_indices(std::int64_t count, const SplitFractions& fractions, std::uint64_t seed);

}  // namespace esper::data
