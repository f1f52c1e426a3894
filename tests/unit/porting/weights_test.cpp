#include "porting/weights.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>

#include <catch2/catch_test_macros.hpp>

#include "storage/atomic_publish.h"
#include "storage/real_file_system.h"
#include "support/temporary_folder.h"

namespace esper::test::weights_test {

using namespace esper;

namespace {

std::vector<kasmina::NamedTensor> some_values() {
  const auto transposed = at::arange(6, torch::kFloat32).view({2, 3}).t();
  return {{"host.head.weight", transposed}, {"host.norm.num_batches_tracked", at::arange(1, torch::kInt64).squeeze()}};
}

}  // namespace

TEST_CASE("a file holds the values that were written, and no others") {
  const test::TemporaryFolder folder;
  auto& files = storage::real_file_system();
  const auto values = some_values();
  storage::publish_file(files, folder / "w",
                        [&](const storage::ByteSink& sink) { porting::write_weights(values, sink); });
  CHECK(porting::check_weights(files, folder / "w", values));
  auto other = values;
  other[0].tensor = at::ones({3, 2});
  CHECK(porting::check_weights(files, folder / "w", other).error() == "tensor host.head.weight differs");
  other[0].tensor = values[0].tensor.t();
  CHECK_FALSE(porting::check_weights(files, folder / "w", other));
  other = values;
  other[1].id = "host.norm.bias";
  CHECK(porting::check_weights(files, folder / "w", other).error() == "tensor host.norm.bias differs");
  other.pop_back();
  CHECK(porting::check_weights(files, folder / "w", other).error() == "it has another number of tensors");
}

}  // namespace esper::test::weights_test
