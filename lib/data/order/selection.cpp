#include "data/order/selection.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/error.h"
#include "data/files/input_error.h"
#include "data/order/permutation.h"

namespace esper::data {
namespace {

std::int64_t num_parts(const SplitFractions& fractions) {
  return 1 + (fractions.validation > 0 ? 1 : 0) + (fractions.test > 0 ? 1 : 0);
}

}  // namespace

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

void require_splittable(const std::filesystem::path& place, std::int64_t count, const SplitFractions& fractions) {
  if (count >= num_parts(fractions)) return;
  const std::string parts = fractions.validation == 0 ? "training and test"
                            : fractions.test == 0     ? "training and validation"
                                                      : "training, validation and test";
  fail_input(place, "",
             fmt::format("too few samples ({}): a split into {} needs {}", count, parts, num_parts(fractions)));
}

SplitCounts split_counts(std::int64_t count, const SplitFractions& fractions) {
  ESPER_CHECK(count >= num_parts(fractions), "a split needs a sample for each part");
  const auto part = [count](double fraction, std::int64_t most) {
    if (fraction == 0) return std::int64_t{0};
    return std::clamp<std::int64_t>(std::llround(static_cast<double>(count) * fraction), 1, most);
  };
  SplitCounts counts;
  counts.validation = part(fractions.validation, count - (fractions.test > 0 ? 2 : 1));
  counts.test = part(fractions.test, count - counts.validation - 1);
  counts.train = count - counts.validation - counts.test;
  return counts;
}

SplitIndices split_indices(std::int64_t count, const SplitFractions& fractions, std::uint64_t seed) {
  const auto counts = split_counts(count, fractions);
  const Permutation order(count, key_of(seed, Stream::kSplit));
  SplitIndices split;
  const auto part_of = [&](std::int64_t i) -> std::vector<std::int64_t>& {
    if (i < counts.validation) return split.validation;
    return i < counts.validation + counts.test ? split.test : split.train;
  };
  for (std::int64_t i = 0; i < count; ++i) part_of(i).push_back(order[i]);
  for (auto* part : {&split.train, &split.validation, &split.test}) std::sort(part->begin(), part->end());
  return split;
}

}  // namespace esper::data
