#pragma once
#include "config/field.h"

namespace esper::config {

// What the gates G2, G4 and G5 judge a seed by, besides its epochs. kasmina/slot/gates.cpp has the conditions.
enum class Evidence { kControl, kAblation, kNone };
constexpr auto names(Evidence) {
  using E = Evidence;
  return std::array{std::pair{E::kControl, "control"}, std::pair{E::kAblation, "ablation"},
                    std::pair{E::kNone, "none"}};
}

// The control that a seed's worth is measured against, for gates.evidence: control. Definition: leyline/seed_worth.h.
struct ControlConfig {
  int epochs = 3;
  double budget = 0.1;

  template <class = void>
  static constexpr auto fields() {
    using C = ControlConfig;
    return std::tuple{
        field("epochs", &C::epochs, "epochs, counted from germination, that are also trained without the seed",
              between(1, 1e6)),
        field("budget", &C::budget,
              "training steps of all controls together, as a fraction of the run's planned steps; a control that does "
              "not fit is shortened, and if not even one epoch fits, no seed germinates",
              between(0, 10))};
  }
};

}  // namespace esper::config
