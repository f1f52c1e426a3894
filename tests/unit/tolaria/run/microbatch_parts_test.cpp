#include "tolaria/run/microbatch_parts.h"

#include <catch2/catch_test_macros.hpp>

#include "device/alignment.h"

namespace esper::test::microbatch_parts_test {

using namespace esper;

TEST_CASE("the parts of a microbatch have its samples in order, and are marked as one microbatch") {
  std::vector<step::Microbatch> whole;
  for (const std::int64_t samples : {4, 1}) whole.push_back({at::randn({samples, 3}), at::arange(samples)});
  const auto parts = tolaria::in_parts(whole, 2);
  REQUIRE(parts.size() == 3);
  CHECK(at::equal(at::cat({parts[0].inputs, parts[1].inputs}), whole[0].inputs));
  CHECK(at::equal(at::cat({parts[0].targets, parts[1].targets}), whole[0].targets));
  CHECK(at::equal(parts[2].inputs, whole[1].inputs));
  CHECK((!parts[0].goes_on && parts[1].goes_on && !parts[2].goes_on));
  CHECK(step::count_whole(parts) == 2);
}

TEST_CASE("a part begins at a multiple of the alignment of a card's blocks, and is copied only where it would not") {
  constexpr std::int64_t kRow = device::kCudaAlignment / static_cast<std::int64_t>(sizeof(float));
  for (const std::int64_t features : {kRow + 1, kRow}) {
    CAPTURE(features);
    const step::Microbatch whole{at::randn({6, features}), at::arange(6)};
    const auto parts = tolaria::in_parts({whole}, 3);
    REQUIRE(parts.size() == 3);
    for (const auto& part : parts) {
      for (const auto& tensor : {part.inputs, part.targets}) {
        CHECK(tensor.is_contiguous());
        CHECK(tensor.storage_offset() * static_cast<std::int64_t>(tensor.element_size()) % device::kCudaAlignment == 0);
      }
    }
    CHECK(parts.back().inputs.is_alias_of(whole.inputs) == (features == kRow));
    CHECK_FALSE(parts.back().targets.is_alias_of(whole.targets));
    CHECK(at::equal(at::cat({parts[0].inputs, parts[1].inputs, parts[2].inputs}), whole.inputs));
  }
}

}  // namespace esper::test::microbatch_parts_test
