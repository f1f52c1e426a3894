#include "jobs/machine/gpu.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::gpu_test {

using namespace esper::jobs;

namespace {

const std::vector<Gpu> kGpus{{0, "a", "GPU-11aa", 1, 1}, {1, "b", "GPU-22bb", 1, 1}, {2, "c", "GPU-33cc", 1, 1}};

std::vector<std::int64_t> visible(std::string_view list) {
  std::vector<std::int64_t> indexes;
  for (const Gpu& gpu : visible_gpus(kGpus, list)) indexes.push_back(gpu.index);
  return indexes;
}

using Indexes = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("CUDA_VISIBLE_DEVICES names GPUs by index or by the beginning of a UUID, in its order") {
  CHECK(visible("2,0") == Indexes{2, 0});
  CHECK(visible("GPU-22") == Indexes{1});
  CHECK(visible(" GPU-33cc , 1") == Indexes{2, 1});
}

TEST_CASE("CUDA_VISIBLE_DEVICES: what follows an entry that names none is ignored") {
  CHECK(visible("").empty());
  CHECK(visible("-1").empty());
  CHECK(visible("NoDevFiles").empty());
  CHECK(visible("0,9,1") == Indexes{0});
  CHECK(visible("1,-1,0") == Indexes{1});
  CHECK(visible("1,1,0") == Indexes{1});
  CHECK(visible("0,MIG-GPU-22bb/1/0,1") == Indexes{0});
}

}  // namespace esper::test::gpu_test
