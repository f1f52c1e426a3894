// Sources of batches on a GPU. The test is skipped, and says so, where there is none.

#include <catch2/catch_test_macros.hpp>

#include "data/loading/source_choice.h"
#include "support/gpu.h"
#include "tolaria/run/source_timer.h"

namespace esper::test::source_timer_gpu_test {

TEST_CASE("both sources can be timed on a card, alone and beside a forward, and begin again with their batches") {
  const auto gpu = gpu_or_skip();
  data::Dataset set;
  set.shape = leyline::features_shape(16, 4);
  set.inputs = torch::randn({100, 16});
  set.targets = torch::randint(4, {100}, torch::kInt64);
  data::LoaderConfig loader;
  loader.batch_size = 8;
  loader.workers = 2;
  loader.staging = data::Staging::kPinned;
  loader.device = gpu;
  data::Loader threaded(set, {}, loader);
  loader.source = data::Source::kResident;
  data::Loader resident(set, {}, loader);
  const torch::Tensor weight = torch::ones({16, 16}, torch::TensorOptions().device(gpu));
  const auto forward = [&](const torch::Tensor& inputs) {
    REQUIRE(inputs.is_cuda());
    inputs.matmul(weight);
  };
  base::Ledger ledger;
  {
    const config::DataConfig config;
    tolaria::SourceTimer of_resident(resident, gpu, config, ledger, forward, 0);
    tolaria::SourceTimer of_threads(threaded, gpu, config, ledger, forward, config.prefetch);
    for (const auto beside : {data::Beside::kNothing, data::Beside::kForward}) {
      const auto times = data::time_sources([&] { return of_resident.round(beside); },
                                            [&] { return of_threads.round(beside); }, base::Clock());
      REQUIRE(times);
      CHECK(times->resident_us > 0);
      CHECK(times->copied_us > 0);
    }
  }
  for (auto* each : {&threaded, &resident}) each->seek(0, 0);
  CHECK(torch::equal(threaded.next()->inputs, resident.next()->inputs.cpu()));
}

}  // namespace esper::test::source_timer_gpu_test
