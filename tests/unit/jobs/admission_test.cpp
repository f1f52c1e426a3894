#include "jobs/schedule/admission.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace esper::test::admission_test {

using namespace esper::jobs;
using namespace esper;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::int64_t kGiga = 1 << 30;

const Capacity kCpus{.threads = 4, .memory_bytes = 8 * kGiga};
const Capacity kGpus{.threads = 4, .memory_bytes = 8 * kGiga, .gpus = {{0, "a", "GPU-a", 8 * kGiga, 0}}};
const config::RunInputs kInputs{.sample = leyline::features_shape(64, 10)};

base::Expected<Submission> admitted(const std::string& device, std::int64_t gpus, const Capacity& capacity) {
  config::RunConfig config;
  config.device.kind = device;
  return admit({.needs = {.gpus = gpus}}, config, kInputs, capacity, 0);
}

}  // namespace

TEST_CASE("a job gets as many GPUs as its device asks for, unless it says how many") {
  CHECK(admitted("cuda", kGpusByDevice, kGpus)->needs.gpus == 1);
  CHECK(admitted("cuda", 0, kGpus)->needs.gpus == 1);
  CHECK(admitted("auto", kGpusByDevice, kGpus)->needs.gpus == 1);
  CHECK(admitted("auto", 0, kGpus)->needs.gpus == 0);
  CHECK(admitted("auto", kGpusByDevice, kCpus)->needs.gpus == 0);
  CHECK(admitted("cpu", kGpusByDevice, kGpus)->needs.gpus == 0);
  CHECK(admitted("cpu", 1, kGpus)->needs.gpus == 1);
}

TEST_CASE("the graph lane needs a GPU, also on a device that is found at the start") {
  config::RunConfig config;
  config.step.lane = config::Lane::kGraph;
  for (const std::int64_t asked : {kGpusByDevice, std::int64_t{0}}) {
    CHECK(admit({.needs = {.gpus = asked}}, config, kInputs, kGpus, 0)->needs.gpus == 1);
    const auto refused = admit({.needs = {.gpus = asked}}, config, kInputs, kCpus, 0);
    REQUIRE(!refused);
    CHECK_THAT(refused.error(),
               ContainsSubstring("step.lane: graph needs a GPU, and none is available to jobs on this machine"));
  }
  config.device.kind = "cpu";  // no run file that is admitted
  CHECK(with_forecast({}, config, kInputs, kGpus)->needs.gpus == 0);
}

TEST_CASE("a device that the job will not see is refused") {
  CHECK_THAT(admitted("cuda:1", kGpusByDevice, kGpus).error(), ContainsSubstring("count from 0 within the job"));
  CHECK(admitted("cuda:0", kGpusByDevice, kGpus));
}

TEST_CASE("what this machine does not have is refused with the figures") {
  CHECK(admitted("cuda", kGpusByDevice, kCpus).error() ==
        "it can never start on this machine: GPUs: it needs 1, and 0 are available to jobs on this machine");
  config::RunConfig config;
  config.host.hidden = {32768, 32768};
  const auto refused = admit({}, config, kInputs, kCpus, 0);
  REQUIRE(!refused);
  CHECK_THAT(refused.error(),
             ContainsSubstring("the run is forecast to take") && ContainsSubstring("8.0 GiB are available to jobs"));
  // Who declares less knows better.
  CHECK(admit({.needs = {.memory_bytes = 7 * kGiga}}, config, kInputs, kCpus, 0));
  // The same on a GPU.
  config.device.kind = "cuda";
  CHECK_THAT(admit({.needs = {.memory_bytes = kGiga}}, config, kInputs, kGpus, 0).error(),
             ContainsSubstring("GPU memory"));
  const auto trusted = admit({.needs = {.memory_bytes = kGiga, .gpus = 1}}, config, kInputs, kGpus, 0);
  REQUIRE(trusted);
  CHECK(trusted->forecast.device_memory.bytes == 8 * kGiga);
  CHECK_THAT(trusted->forecast.device_memory.parts, ContainsSubstring("according to --gpus; forecast "));
}

TEST_CASE("a forecast alone refuses nothing that is too large") {
  config::RunConfig config;
  config.device.kind = "cuda";
  const auto submission = with_forecast({.needs = {.gpus = kGpusByDevice}}, config, kInputs, kCpus);
  REQUIRE(submission);
  CHECK(submission->needs.gpus == 1);
  config.device.kind = "cuda:1";
  CHECK_FALSE(with_forecast({.needs = {.gpus = kGpusByDevice}}, config, kInputs, kGpus));
}

TEST_CASE("the forecast comes along") {
  const auto submission = admitted("cpu", kGpusByDevice, kCpus);
  CHECK(submission->forecast.memory.bytes > 0);
  CHECK(submission->forecast.device_memory.bytes == 0);
  CHECK(admitted("cuda", 1, kGpus)->forecast.device_memory.bytes > 0);
}

}  // namespace esper::test::admission_test
