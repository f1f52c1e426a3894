#include "config/loading/training_check.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <vector>

namespace esper::test::training_check_test {

using namespace esper::config;
using Catch::Matchers::StartsWith;

namespace {

const std::string kGraphOnCpu = "step: {lane: graph}\ndevice: {kind: cpu}\n";

std::vector<base::Problem> problems_of(const std::string& text, const std::vector<std::string>& assignments = {}) {
  LoadedConfig loaded = read_run_config_text(text, "f", assignments);
  check_for_training(loaded);
  return loaded.problems;
}

std::vector<base::Problem> problems_without_gpu(const std::string& text) {
  LoadedConfig loaded = read_run_config_text(text, "f");
  check_without_gpu(loaded);
  return loaded.problems;
}

}  // namespace

TEST_CASE("training refuses the graph lane on the CPU, at the place of the lane") {
  const auto problems = problems_of(kGraphOnCpu);
  REQUIRE(problems.size() == 1);
  CHECK_THAT(to_string(problems[0]), StartsWith("f:1:14: step.lane: graph cannot run with device.kind: cpu"));
  const auto assigned = problems_of("device: {kind: cpu}\n", {"step.lane=graph"});
  REQUIRE(assigned.size() == 1);
  CHECK_THAT(to_string(assigned[0]), StartsWith("--set step.lane=graph: step.lane: graph cannot run"));
  CHECK(problems_of(kGraphOnCpu + "epochs: 0\n").size() == 2);
  CHECK(problems_of(kGraphOnCpu, {"step.lane=repley"}).size() == 1);  // the lane is unknown then
}

TEST_CASE("where there is no GPU, training refuses the graph lane on whatever device there is") {
  for (const std::string text : {"step: {lane: graph}\n", "step: {lane: graph}\ndevice: {kind: auto}\n"}) {
    const auto problems = problems_without_gpu(text);
    REQUIRE(problems.size() == 1);
    CHECK_THAT(to_string(problems[0]), StartsWith("f:1:14: step.lane: graph cannot run with device.kind: auto, since a "
                                                  "CUDA graph needs a GPU: this machine has no NVIDIA GPU"));
  }
  CHECK(problems_without_gpu("step: {lane: graph}\ndevice: {kind: cuda}\n").empty());  // no mistake, but missing_gpu()
  CHECK(problems_without_gpu("step: {lane: replay}\n").empty());
}

TEST_CASE("a GPU that the run file asks for is missing at its place; auto and cpu ask for none") {
  const auto missing = [](const std::string& text, const std::vector<std::string>& assignments = {}) {
    const auto problem = missing_gpu(read_run_config_text(text, "f", assignments));
    return problem ? to_string(*problem) : "";
  };
  CHECK(missing("device: {kind: cuda}\n") ==
        "f:1:16: device.kind: cuda needs a GPU: this machine has no NVIDIA GPU, or its driver is not loaded; or set "
        "device.kind: cpu");
  CHECK_THAT(missing("", {"device.kind=cuda:1"}), StartsWith("--set device.kind=cuda:1: device.kind: cuda:1 needs a"));
  for (const char* text : {"", "device: {kind: auto}\n", "device: {kind: cpu}\n", "step: {lane: graph}\n"}) {
    CHECK(missing(text).empty());
  }
}

TEST_CASE("training takes other lanes on the CPU, and the graph lane elsewhere; a run file is valid with both") {
  CHECK(problems_of(kGraphOnCpu, {"step.lane=replay"}).empty());
  CHECK(problems_of(kGraphOnCpu, {"device.kind=auto"}).empty());
  CHECK(problems_of(kGraphOnCpu, {"device.kind=cuda:1"}).empty());
  CHECK(read_run_config_text(kGraphOnCpu, "f").problems.empty());
}

}  // namespace esper::test::training_check_test
