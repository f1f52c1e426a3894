#pragma once
#include <chrono>

#include "base/quantity.h"
#include "config/field.h"

namespace esper::config {

// How the value of each seed is measured. Definitions: tolaria/evaluation/shapley.h.
struct CounterfactualConfig {
  int every_epochs = 5;
  int max_configurations = 64;
  int max_rows = 2048;
  base::Duration deadline = std::chrono::seconds(300);
  bool pairs = true;

  template <class = void>
  static constexpr auto fields() {
    using C = CounterfactualConfig;
    return std::tuple{
        field("every_epochs", &C::every_epochs,
              "epochs between two measurements; epochs with a seed in PROBATIONARY are always measured, 0 skips all "
              "others",
              between(0, 1e6)),
        field("max_configurations", &C::max_configurations,
              "seed on/off configurations that one measurement evaluates; values are exact if it covers all 2^seeds",
              between(2, 1024)),
        field("max_rows", &C::max_rows,
              "samples times configurations in one forward pass; more needs more memory and is not always faster",
              between(1, 1e6)),
        field("deadline", &C::deadline,
              "time limit of one measurement; then sampling stops and a running pass is cancelled"),
        field("pairs", &C::pairs, "also measure each pair of seeds together")};
  }
  void validate(Findings& out) const;
};

}  // namespace esper::config
