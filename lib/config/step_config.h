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

  template <class = void>
  static constexpr auto fields() {
    using C = CompileConfig;
    return std::tuple{
        field("mode", &C::mode,
              "default; max-autotune also times kernels; reduce-overhead is as default (on CUDA every compiled step is "
              "captured "
              "as a graph)"),
        field("dynamic", &C::dynamic, "one compiled program for all batch sizes, including the shorter last batch"),
        field("warmup_steps", &C::warmup_steps, "eager steps before a step is recorded", between(0, 1e6)),
        field(
            "deadline", &C::deadline,
            "CPU time limit of one compilation, twice as long for a GPU, without headers that are precompiled once per "
            "machine; the wall-clock limit is ten times that; a program that exceeds it is not used"),
        field("memory_limit_mb", &C::memory_limit_mb, "memory limit of the compiler process", between(256, 1e6)),
        field("cache_limit_mb", &C::cache_limit_mb,
              "size limit of the cache of compiled programs; the least recently used are deleted first",
              between(16, 1e6)),
        field("ahead", &C::ahead, "number of likely next structures whose step is prepared in advance; 0 prepares none",
              between(0, 64))};
  }
};

struct GraphConfig {
  int warmup_batches = 1;

  template <class = void>
  static constexpr auto fields() {
    using C = GraphConfig;
    return std::tuple{field("warmup_batches", &C::warmup_batches,
                            "warm-up runs before the step is captured (CUDA only); at least one, since the first run "
                            "loads kernels and searches for algorithms, which a capture refuses",
                            between(1, 1000))};
  }
};

struct StepConfig {
  int accumulation = 1;
  Lane lane = Lane::kAuto;
  CompileConfig compile;
  GraphConfig graph;
  std::int64_t check_every = 10000;

  template <class = void>
  static constexpr auto fields() {
    using C = StepConfig;
    return std::tuple{
        field("accumulation", &C::accumulation, "microbatches per optimizer step (gradient accumulation)",
              between(1, 65536)),
        field("lane", &C::lane,
              "how the step runs: eager, replay (its recorded operations), graph (CUDA graph), compiled, or auto, "
              "which selects the lane measured to be fastest"),
        field("compile", &C::compile, "the compiled lane"), field("graph", &C::graph, "the graph lane"),
        field("check_every", &C::check_every,
              "steps between two comparisons of a fast lane with eager; 0 compares only at the start", at_least(0))};
  }
  void validate(Findings& out) const;
};

}  // namespace esper::config
