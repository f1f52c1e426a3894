#pragma once
#include <array>
#include <cstdint>
#include <utility>

#include "config/field.h"

namespace esper::config {

enum class NetworkDevice { kCpu, kRun };
constexpr auto names(NetworkDevice) {
  using D = NetworkDevice;
  return std::array{std::pair{D::kCpu, "cpu"}, std::pair{D::kRun, "run"}};
}

// How the policy network runs, and how its outputs become a decision.
struct GnnConfig {
  double temperature = 0;
  std::uint64_t seed = 0;
  bool see_times = false;
  bool compile = false;
  bool bf16 = false;
  NetworkDevice device = NetworkDevice::kCpu;

  template <class = void>
  static constexpr auto fields() {
    using C = GnnConfig;
    return std::tuple{
        field("temperature", &C::temperature,
              "0 takes the highest score; above 0, decisions are sampled from the softmax of the scores divided by it",
              between(0, 100)),
        field("seed", &C::seed, "seed of the sampling, and of a network without policy.file; 0 takes the run's"),
        field("see_times", &C::see_times,
              "the network also sees measured times, so that a resumed run may decide differently"),
        field("compile", &C::compile,
              "run the network compiled if it decides in the run's own process: training waits for the compiler once "
              "for each size of graph, after the first decision of that size"),
        field("bf16", &C::bf16,
              "compute the network's large matrix products in bf16; the run starts only if the device has instructions "
              "for that and the network decides sample graphs as in fp32 (docs/policy.md)"),
        field("device", &C::device,
              "where the network computes: on the CPU, or on the run's device (on a GPU in a separate stream, "
              "concurrently with the training)")};
  }
};

}  // namespace esper::config
