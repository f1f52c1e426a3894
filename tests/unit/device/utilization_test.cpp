#include "device/utilization.h"

#include <catch2/catch_test_macros.hpp>

#include "support/environment_variable.h"

namespace esper::device::utilization_test {

constexpr const char* kAddress = "0000:3b:00.0";  // of fake_nvml.cpp's first GPU

TEST_CASE("the driver is asked at most once a second how busy the GPU is") {
  const auto time = std::make_shared<base::ManualTime>();
  UtilizationMeter meter(kAddress, base::Clock(time), FAKE_NVML);
  CHECK(meter.read() == 0.37);
  const test::EnvironmentVariable busy("FAKE_NVML_BUSY_PERCENT", "90");
  time->advance(std::chrono::milliseconds(999));
  CHECK(meter.read() == 0.37);
  time->advance(std::chrono::milliseconds(1));
  CHECK(meter.read() == 0.9);
}

TEST_CASE("there is no utilization without a GPU, without the library, or where the driver does not know the GPU") {
  CHECK_FALSE(UtilizationMeter("", {}, FAKE_NVML).read());
  CHECK_FALSE(UtilizationMeter(kAddress, {}, "no such library").read());
  CHECK_FALSE(UtilizationMeter("0000:ff:00.0", {}, FAKE_NVML).read());
}

}  // namespace esper::device::utilization_test
