#include "base/nvml.h"

#include <catch2/catch_test_macros.hpp>

#include "support/environment_variable.h"

namespace esper::test::nvml_test {

using namespace esper::base;
using esper::test::EnvironmentVariable;

// FAKE_NVML is the library that fake_nvml.cpp makes.

TEST_CASE("without NVIDIA's library there are no GPUs, and the reason is told") {
  const auto nvml = Nvml::open("libnvidia-ml-of-no-machine.so.1");
  REQUIRE(!nvml);
  CHECK(nvml.error() == "there is no libnvidia-ml-of-no-machine.so.1");
}

TEST_CASE("a library that lacks functions is not used") {
  const auto nvml = Nvml::open("libm.so.6");
  REQUIRE(!nvml);
  CHECK(nvml.error() == "libm.so.6 lacks functions: the driver is too old");
}

TEST_CASE("GPUs are told of with what is free of them now") {
  const auto nvml = Nvml::open(FAKE_NVML);
  REQUIRE(nvml);
  const auto gpus = nvml->gpus();
  REQUIRE(gpus);
  REQUIRE(gpus->size() == 2);
  CHECK((*gpus)[1] == Gpu{1, "Fake GPU", "GPU-0001-fake", std::int64_t{8} << 30, std::int64_t{7} << 30});
  const EnvironmentVariable taken("FAKE_NVML_FREE_MIB", "100");
  CHECK((*nvml->gpus())[1].free_bytes == 100 << 20);
}

TEST_CASE("a GPU that does not answer is told of") {
  const auto nvml = Nvml::open(FAKE_NVML);
  REQUIRE(nvml);
  const EnvironmentVariable lost("FAKE_NVML_LOST", "1");
  const auto gpus = nvml->gpus();
  REQUIRE(!gpus);
  CHECK(gpus.error() == "a GPU cannot be opened: GPU is lost");
}

TEST_CASE("the utilization of a GPU is read by its PCI address") {
  const auto nvml = Nvml::open(FAKE_NVML);
  REQUIRE(nvml);
  CHECK(nvml->utilization("0000:3b:00.0").value() == 0.37);
  const auto unknown = nvml->utilization("0000:ff:00.0");
  REQUIRE(!unknown);
  CHECK(unknown.error() == "a GPU's utilization is not known: Unknown Error");
}

}  // namespace esper::test::nvml_test
