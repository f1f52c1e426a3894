#pragma once
#include <cstdint>

#include "base/quantity.h"
#include "config/field.h"

namespace esper::config {

// How a training step is run. See docs/lanes.md.
enum class Lane { kAuto, kEager, kReplay, kGraph, kCompiled };
constexpr auto names(Lane) {
  using L = Lane;
  return std::array{std::pair{L::kAuto, "auto"}, std::pair{L::kEager, "eager"}, std::pair{L::kReplay, "replay"},
                    std::pair{L::kGraph, "graph"}, std::pair{L::kCompiled, "compiled"}};
}

enum class CompileMode { kDefault, kReduceOverhead, kMaxAutotune };
constexpr auto names(CompileMode) {
  using M = CompileMode;
  return std::array{std::pair{M::kDefault, "default"}, std::pair{M::kReduceOverhead, "reduce-overhead"},
                    std::pair{M::kMaxAutotune, "max-autotune"}};
}

struct CompileConfig {
  CompileMode mode = CompileMode::kDefault;
  bool dynamic = false;
  int warmup_steps = 1;
  base::Duration deadline = std::chrono::seconds(120);
  std::int64_t memory_limit_mb = 4096;
  std::int64_t cache_limit_mb = 2048;
  int ahead = 2;

  static constexpr auto fields() {
    using C = CompileConfig;
    return std::tuple{
        field("mode", &C::mode,
              "default; reduce-overhead also captures the program as a CUDA graph; max-autotune also times kernels"),
        field("dynamic", &C::dynamic, "one compiled program for every batch size, the shorter last batch included"),
        field("warmup_steps", &C::warmup_steps, "eager steps before a step is recorded", between(0, 1e6)),
        field("deadline", &C::deadline,
              "most processor time of one compilation, not counting headers that are precompiled once on a machine; by "
              "the clock it may take ten times as long; then the run goes on without"),
        field("memory_limit_mb", &C::memory_limit_mb, "most memory of the compiler's process", between(256, 1e6)),
        field("cache_limit_mb", &C::cache_limit_mb,
              "size of the cache of compiled programs; those unused for longest go first", between(16, 1e6)),
        field("ahead", &C::ahead,
              "likely next structures of a growing network whose step is prepared before they come; 0 prepares none",
              between(0, 64))};
  }
};

struct GraphConfig {
  int warmup_batches = 1;

  static constexpr auto fields() {
    using C = GraphConfig;
    return std::tuple{field("warmup_batches", &C::warmup_batches, "runs of the step before it is captured (CUDA only)",
                            between(0, 1000))};
  }
};

struct StepConfig {
  int accumulation = 1;
  Lane lane = Lane::kAuto;
  CompileConfig compile;
  GraphConfig graph;
  std::int64_t check_every = 10000;

  static constexpr auto fields() {
    using C = StepConfig;
    return std::tuple{
        field("accumulation", &C::accumulation, "microbatches whose gradients make one optimizer step",
              between(1, 65536)),
        field("lane", &C::lane,
              "how the step runs: eager, replay (its recorded operations), graph (CUDA graph), compiled, or auto, "
              "which takes what is measured to be fastest"),
        field("compile", &C::compile, "the compiled lane"), field("graph", &C::graph, "the graph lane"),
        field("check_every", &C::check_every,
              "steps between two comparisons of a fast lane with eager while it runs; 0 compares once, at the start",
              at_least(0))};
  }
  void validate(Findings& out) const;
};

}  // namespace esper::config
