// Batches on a GPU. Each test is skipped, and says so, where there is none.

#include <ATen/ops/arange.h>
#include <ATen/ops/randint.h>

#include <catch2/catch_test_macros.hpp>

#include "data/loading/source_choice.h"
#include "device/staging.h"
#include "support/gpu.h"

namespace esper::data::loader_gpu_test {
namespace {

using esper::test::gpu_or_skip;

Dataset images() {
  Dataset set;
  set.inputs = torch::randint(0, 256, {45, 3, 8, 8}, torch::kUInt8);
  set.targets = torch::arange(45);
  set.shape = leyline::image_shape(3, 8, 8, 45);
  return set;
}

Dataset text() {
  Dataset set;
  set.inputs = torch::randint(0, 60, {45 * 5 + 1}, torch::kInt64);
  set.windows = torch::arange(45) * 5;
  set.shape = leyline::tokens_shape(5, 60);
  return set;
}

LoaderConfig config_of(const config::AugmentConfig& augment) {
  LoaderConfig config;
  config.batch_size = 8;
  config.seed = 1337;
  config.augment = augment;
  return config;
}

TEST_CASE("a data set on a card gives the bits of the threaded loader, and never waits for the card") {
  const auto gpu = gpu_or_skip();
  const Standardization colours{{0.4914f, 0.4822f, 0.4465f}, {0.247f, 0.2435f, 0.2616f}};
  const auto pictures = images(), words = text();
  for (const auto& [set, scale, augment] : {std::tuple{&pictures, colours, config::AugmentConfig{}},
                                            {&pictures, colours, config::AugmentConfig{2, true}},
                                            {&words, Standardization{}, config::AugmentConfig{}}}) {
    auto config = config_of(augment);
    Loader threaded(*set, scale, config);
    config.source = Source::kResident;
    config.device = gpu;
    Loader resident(*set, scale, config);
    for (int i = 0; i < 21; ++i) {
      const auto expected = threaded.next();
      const auto batch = [&] {
        const test::NoHostWaits refused;
        return resident.next();
      }();
      REQUIRE(batch.has_value() == expected.has_value());
      if (!batch) continue;
      REQUIRE(batch->inputs.is_cuda());
      REQUIRE(torch::equal(batch->inputs.cpu(), expected->inputs));
      REQUIRE(torch::equal(batch->targets.cpu(), expected->targets));
    }
  }
}

TEST_CASE("batches out of page-locked memory arrive whole while the card computes") {
  const auto gpu = gpu_or_skip();
  const auto set = images();
  auto config = config_of({2, true});
  Loader pageable(set, {}, config);
  config.staging = Staging::kPinned;
  Loader pinned(set, {}, config);
  device::Staging staging(gpu, device::Staging::Stream::kSide);
  auto busy = torch::ones({1024, 1024}, torch::TensorOptions().device(gpu));
  for (int i = 0; i < 30; ++i) {
    const auto expected = pageable.next();
    auto batch = pinned.next();
    REQUIRE(batch.has_value() == expected.has_value());
    if (!batch) continue;
    CHECK(batch->inputs.is_pinned());
    busy = busy.matmul(busy).sigmoid();
    const std::vector<torch::Tensor> host{batch->inputs, batch->targets};
    auto copy = staging.start(host);
    batch.reset();
    const auto arrived = staging.take(std::move(copy));
    CHECK(torch::equal(arrived[0].cpu(), expected->inputs));
    CHECK(torch::equal(arrived[1].cpu(), expected->targets));
  }
  CHECK(staging.take_times().copy_ms > 0);
}

}  // namespace
}  // namespace esper::data::loader_gpu_test
