#include "device/facts.h"

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "base/gpu_present.h"

namespace esper::device::facts_test {
namespace {

TEST_CASE("the host's facts are filled") {
  const auto facts = host_facts();
  CHECK_FALSE(facts.cpu_model.empty());
  CHECK(facts.logical_cores >= 1);
  CHECK(facts.memory_total_bytes > 100'000'000);
  CHECK(facts.memory_available_bytes <= facts.memory_total_bytes);
}

TEST_CASE("torch's facts are filled") {
  const auto facts = torch_facts();
  CHECK_THAT(facts.version, Catch::Matchers::StartsWith("2."));
  CHECK_FALSE(facts.blas.empty());
  CHECK_THAT(facts.blas, !Catch::Matchers::ContainsSubstring("\n"));
  CHECK_FALSE(facts.cpu_capability.empty());
  CHECK(facts.intra_op_threads >= 1);
}

TEST_CASE("memory figures follow a large allocation") {
  const c10::Device cpu(c10::DeviceType::CPU);
  const auto before = memory_figures(cpu);
  constexpr std::uint64_t kBytes = 64'000'000;
  const auto block = torch::ones({static_cast<std::int64_t>(kBytes / sizeof(float))});
  const auto after = memory_figures(cpu);
  CHECK(after.used_bytes > before.used_bytes + kBytes / 2);
  CHECK(after.peak_bytes >= after.used_bytes);
  CHECK(after.total_bytes >= after.free_bytes);
}

#ifndef __SANITIZE_ADDRESS__  // it takes address space of its own
TEST_CASE("free memory is what the process's limits leave") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t mapped = static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  constexpr rlim_t kRoom = 256 << 20;
  const rlimit narrow{mapped + kRoom, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_AS, &narrow) == 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the figure is a quarter of a second old at most
  const auto figures = memory_figures(c10::Device(c10::DeviceType::CPU));
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(figures.free_bytes <= kRoom);
  CHECK(figures.free_bytes > kRoom / 2);
}
#endif

TEST_CASE("there are no GPU facts without a GPU") {
  if (base::gpu_present()) SKIP("this machine has a GPU");
  CHECK(gpu_facts().empty());
}

}  // namespace
}  // namespace esper::device::facts_test
