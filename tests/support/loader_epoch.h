#pragma once
// The batches of an epoch. A loader whose epoch does not end fails the test, and does not hang it.

#include <catch2/catch_test_macros.hpp>
#include <iterator>
#include <utility>
#include <vector>

#include "data/loading/loader.h"

namespace esper::test {

// Those that are left of the loader's epoch: the next one begins after them.
inline std::vector<data::Batch> rest_of_epoch(data::Loader& loader) {
  std::vector<data::Batch> batches;
  while (auto batch = loader.next()) {
    batches.push_back(*std::move(batch));
    REQUIRE(std::ssize(batches) <= loader.num_batches());
  }
  return batches;
}

}  // namespace esper::test
