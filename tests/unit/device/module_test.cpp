#include <ATen/Context.h>
#include <c10/core/Event.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <vector>

#include "base/error.h"
#include "device/facts.h"
#include "device/precision.h"
#include "device/queued_work.h"
#include "device/rng.h"
#include "device/select.h"
#include "device/settings.h"
#include "device/staging.h"
#include "device/utilization.h"
#include "support/gpu.h"

namespace esper::device::module_test {
namespace {

c10::Device gpu() { return esper::test::gpu_or_skip(); }

TEST_CASE("auto and cuda take the first card, and a card too many is refused") {
  gpu();
  CHECK(select_device("auto").device == c10::Device(c10::DeviceType::CUDA, 0));
  CHECK(gpu().index() == 0);
  CHECK(at::hasCUDA());
  CHECK_THROWS_AS(select_device("cuda:" + std::to_string(cuda().device_count())), base::Error);
}

TEST_CASE("the card's facts are filled") {
  gpu();
  const auto facts = gpu_facts();
  REQUIRE_FALSE(facts.empty());
  CHECK_FALSE(facts[0].name.empty());
  CHECK(facts[0].capability_major >= 5);
  CHECK(facts[0].driver_version >= 13000);
  CHECK(facts[0].memory_total_bytes >= facts[0].memory_free_bytes);
}

TEST_CASE("the driver says how busy the card is") {
  gpu();
  const auto utilization = UtilizationMeter(gpu_facts().front().pci_address).read();
  if (!utilization) SKIP("NVIDIA's library does not say it here: a part of a card, or a container without the library");
  CHECK((*utilization >= 0 && *utilization <= 1));
}

TEST_CASE("the card's memory figures follow an allocation") {
  const auto before = memory_figures(gpu());
  const auto block = torch::ones({1 << 20}, torch::TensorOptions().device(gpu()));
  const auto after = memory_figures(gpu());
  CHECK(after.used_bytes == before.used_bytes + (4U << 20U));
  CHECK(after.peak_bytes >= after.used_bytes);
  CHECK(after.reserved_bytes >= after.used_bytes);
  CHECK(after.allocations > before.allocations);
}

TEST_CASE("the card's generator is seeded, saved and put back") {
  const auto options = torch::TensorOptions().device(gpu());
  seed_all(9);
  const auto first = torch::randn({64}, options);
  seed_all(9);
  CHECK(torch::equal(first, torch::randn({64}, options)));
  const auto state = rng_state(gpu());
  REQUIRE(state.cuda.defined());
  CHECK(state.cuda.is_cpu());
  const auto expected = torch::randn({64}, options);
  set_rng_state(gpu(), state);
  CHECK(torch::equal(expected, torch::randn({64}, options)));
}

TEST_CASE("staged copies arrive whole, many at once and with the pinned source dropped") {
  for (const auto stream : {Staging::Stream::kSide, Staging::Stream::kCurrent}) {
    Staging staging(gpu(), stream);
    std::vector<at::Tensor> sources;
    std::vector<StagedCopy> copies;
    for (int i = 0; i < 16; ++i) {
      sources.push_back(torch::full({1 << 18}, static_cast<double>(i)));
      const std::vector<at::Tensor> pinned{sources.back().pin_memory()};
      copies.push_back(staging.start(pinned));
    }
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const auto arrived = staging.take(std::move(copies[i]));
      CHECK(arrived[0].is_cuda());
      CHECK(torch::equal(arrived[0].cpu(), sources[i]));
    }
    cuda().synchronize(0);
    const CopyTimes times = staging.take_times();
    CHECK(times.copy_ms > 0);  // 16 MiB
    CHECK(times.copy_ms < 1000);
    CHECK(times.wait_ms >= 0);
    CHECK(staging.take_times().copy_ms == 0);
  }
}

TEST_CASE("the host waits where it is too far ahead of the card") {
  const auto a = torch::rand({2048, 2048}, torch::TensorOptions().device(gpu()));
  for (const base::Duration span : {base::Duration(0), base::Duration(std::chrono::milliseconds(1))}) {
    QueuedWork queued(2, span, gpu());
    std::vector<c10::Event> done;
    for (std::size_t i = 0; i < 64; ++i) {
      for (int product = 0; product < 8; ++product) torch::matmul(a, a);
      done.emplace_back(c10::DeviceType::CUDA);
      done.back().record(current_stream(gpu()));
      queued.add();
      if (span == base::Duration(0) && i >= 2) CHECK(done[i - 2].query());
    }
  }
  cuda().synchronize(0);
}

TEST_CASE("the side stream is not the stream that computes") {
  gpu();
  const auto side = cuda().side_stream(0);
  CHECK(side != current_stream(gpu()));
  CHECK_NOTHROW(cuda().synchronize(0));
}

TEST_CASE("autocast and settings reach the card") {
  config::DeviceConfig config;
  config.tf32 = false;
  apply_settings(config, gpu());
  const auto a = torch::rand({256, 256}, torch::TensorOptions().device(gpu()));
  const auto exact = torch::matmul(a.cpu().to(torch::kDouble), a.cpu().to(torch::kDouble));
  const auto error = (torch::matmul(a, a).cpu().to(torch::kDouble) - exact).abs().max().item<double>();
  CHECK(error < 1e-3);
  const auto dtype = resolve_precision(config::Precision::kAuto, gpu());
  CHECK(dtype == (gpu_facts()[0].capability_major >= 8 ? torch::kBFloat16 : torch::kFloat));
  const AutocastScope scope(c10::DeviceType::CUDA, torch::kBFloat16);
  CHECK(torch::matmul(a, a).scalar_type() == torch::kBFloat16);
}

}  // namespace
}  // namespace esper::device::module_test
