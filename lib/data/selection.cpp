#include "data/selection.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "data/permutation.h"

namespace esper::data {

std::vector<std::int64_t> evenly(std::int64_t count, std::int64_t wanted) {
  const bool all = wanted <= 0 || wanted >= count;
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(all ? count : wanted));
  std::iota(chosen.begin(), chosen.end(), 0);
  // i * count / wanted, in 128 bits so that no count overflows.
  if (!all) {
    for (auto& i : chosen) i = static_cast<std::int64_t>(static_cast<__int128>(i) * count / wanted);
  }
  return chosen;
}

std::int64_t validation_count(std::int64_t count, double fraction) {
  ESPER_CHECK(count >= 2, "a split needs two samples");
  return std::clamp<std::int64_t>(std::llround(static_cast<double>(count) * fraction), 1, count - 1);
}

SplitIndices split_indices(std::int64_t count, double validation_fraction, std::uint64_t seed) {
  const auto validating = validation_count(count, validation_fraction);
  const Permutation order(count, key_of(seed, Stream::kSplit));
  SplitIndices split;
  for (std::int64_t i = 0; i < count; ++i) (i < validating ? split.validation : split.train).push_back(order[i]);
  std::sort(split.train.begin(), split.train.end());
  std::sort(split.validation.begin(), split.validation.end());
  return split;
}

}  // namespace esper::data
