#include "device/settings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <catch2/catch_test_macros.hpp>

namespace esper::device::settings_test {
namespace {

const c10::Device kCpu(c10::DeviceType::CPU);

TEST_CASE("threads are set, and 0 leaves them") {
  config::DeviceConfig config;
  config.threads = 1;
  apply_settings(config, kCpu);
  CHECK(at::get_num_threads() == 1);
  config.threads = 0;
  apply_settings(config, kCpu);
  CHECK(at::get_num_threads() == 1);
}

TEST_CASE("determinism is set both ways, without filling fresh tensors") {
  config::DeviceConfig config;
  config.deterministic = true;
  apply_settings(config, kCpu);
  CHECK(at::globalContext().deterministicAlgorithms());
  CHECK_FALSE(at::globalContext().deterministicAlgorithmsWarnOnly());
  CHECK_FALSE(at::globalContext().deterministicFillUninitializedMemory());
  config.deterministic = false;
  apply_settings(config, kCpu);
  CHECK_FALSE(at::globalContext().deterministicAlgorithms());
}

}  // namespace
}  // namespace esper::device::settings_test
