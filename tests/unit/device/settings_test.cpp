#include "device/settings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch_test_macros.hpp>
#include <exception>
#include <stdexcept>
#include <string>

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

TEST_CASE("an operator that determinism forbids is named, and no other error is taken for one") {
  config::DeviceConfig config;
  config.deterministic = true;
  apply_settings(config, kCpu);
  const auto place = at::zeros({1}, at::kLong);
  const auto name_in = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const std::exception& error) {
      return nondeterministic_operator(error);
    }
    return "no error";
  };
  CHECK(name_in([&] { at::zeros({3}).put_(place, at::ones({1})); }) == "put_");
  CHECK(name_in([] { at::zeros({3}).view({2}); }).empty());
  CHECK(name_in([] { throw std::runtime_error("it does not have a deterministic implementation"); }).empty());
  config.deterministic = false;
  apply_settings(config, kCpu);
  CHECK(name_in([&] { at::zeros({3}).put_(place, at::ones({1})); }) == "no error");
}

}  // namespace
}  // namespace esper::device::settings_test
