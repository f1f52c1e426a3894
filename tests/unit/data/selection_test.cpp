#include "data/order/selection.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "base/error.h"

namespace esper::data::selection_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Indices = std::vector<std::int64_t>;

// The parts one after another, in order.
Indices together(const SplitIndices& split) {
  Indices all = split.train;
  for (const auto* part : {&split.validation, &split.test}) all.insert(all.end(), part->begin(), part->end());
  std::sort(all.begin(), all.end());
  return all;
}

std::int64_t rounded(double fraction, std::int64_t count) {
  return fraction == 0 ? 0 : std::max<std::int64_t>(1, std::llround(fraction * static_cast<double>(count)));
}

std::string complaint(std::int64_t count, const SplitFractions& fractions) {
  try {
    require_splittable("file.csv", count, fractions);
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kData);
    return error.what();
  }
  return "";
}

TEST_CASE("a split covers all samples once and depends on the seed alone") {
  const SplitFractions fractions =
      GENERATE(SplitFractions{0.2, 0}, SplitFractions{0.2, 0.1}, SplitFractions{0, 0.3}, SplitFractions{0, 0});
  for (const std::int64_t count : {3, 4, 10, 1797}) {
    const auto split = split_indices(count, fractions, 5);
    CHECK(together(split) == evenly(count, 0));
    CHECK(!split.train.empty());
    CHECK(static_cast<std::int64_t>(split.validation.size()) == rounded(fractions.validation, count));
    CHECK(static_cast<std::int64_t>(split.test.size()) == rounded(fractions.test, count));
  }
  CHECK(split_indices(100, {0.2, 0}, 1).validation == split_indices(100, {0.2, 0}, 1).validation);
  CHECK(split_indices(100, {0.2, 0}, 1).validation != split_indices(100, {0.2, 0}, 2).validation);
}

// Other numbers here mean that old runs no longer resume to the same samples.
TEST_CASE("without a test part the split is that of earlier versions, sample by sample") {
  const auto split = split_indices(23, {0.25, 0}, 7);
  CHECK(split.train == Indices{0, 1, 3, 4, 7, 8, 9, 10, 11, 12, 16, 17, 18, 19, 20, 21, 22});
  CHECK(split.validation == Indices{2, 5, 6, 13, 14, 15});
  CHECK(split.test.empty());
  CHECK(split_indices(20, {0.2, 0}, 0).validation == Indices{3, 6, 13, 15});
  CHECK(split_indices(40, {0.1, 0}, 1337).validation == Indices{0, 11, 15, 27});
}

TEST_CASE("the test part is taken from the training part: the validation part stays as it is") {
  const auto split = split_indices(23, {0.25, 0.2}, 7);
  CHECK(split.validation == split_indices(23, {0.25, 0}, 7).validation);
  CHECK(split.test == Indices{0, 7, 9, 10, 18});
  CHECK(split_indices(23, {0, 0.2}, 7).test == Indices{2, 6, 13, 14, 15});
}

TEST_CASE("every part has a sample, or the file is named") {
  for (const std::int64_t count : {3, 4, 5}) {
    for (const auto& fractions : {SplitFractions{0.9, 0.05}, SplitFractions{0.05, 0.9}, SplitFractions{0.01, 0.01}}) {
      const auto counts = split_counts(count, fractions);
      CHECK(std::min({counts.train, counts.validation, counts.test}) >= 1);
      CHECK(counts.train + counts.validation + counts.test == count);
    }
  }
  CHECK(complaint(3, {0.2, 0.2}).empty());
  CHECK(complaint(1, {0, 0}).empty());
  CHECK_THAT(complaint(2, {0.2, 0.2}), ContainsSubstring("file.csv: too few samples (2)") &&
                                           ContainsSubstring("into training, validation and test needs 3"));
  CHECK_THAT(complaint(1, {0.2, 0}), ContainsSubstring("into training and validation needs 2"));
  CHECK_THAT(complaint(1, {0, 0.2}), ContainsSubstring("into training and test needs 2"));
}

TEST_CASE("even picks are spread over the whole range") {
  CHECK(evenly(10, 0).size() == 10);
  CHECK(evenly(10, 20).size() == 10);
  CHECK(evenly(10, 5) == std::vector<std::int64_t>{0, 2, 4, 6, 8});
  CHECK(evenly(10, 3) == std::vector<std::int64_t>{0, 3, 6});
}

}  // namespace
}  // namespace esper::data::selection_test
