#pragma once
#include "config/control_config.h"
#include "config/field.h"

namespace esper::config {

// Thresholds of the lifecycle's gates; percentages are points of validation accuracy.
struct GateConfig {
  Evidence evidence = Evidence::kAblation;
  int min_training_epochs = 3;
  double min_improvement_points = 0.5;
  double min_gradient_ratio = 0.10;
  int min_blending_epochs = 3;
  int min_shadow_epochs = 1;
  double max_shadow_drop_points = 1.0;
  int min_probation_epochs = 1;
  double min_contribution_points = 1.0;
  double min_worth_loss = 0.0;
  double min_worth_points = 0.0;

  template <class = void>
  static constexpr auto fields() {
    using C = GateConfig;
    return std::tuple{
        field(
            "evidence", &C::evidence,
            "what a seed is judged by: its worth against a network that trained without it (control), validation with "
            "the seed on and off (ablation), or only its number of epochs (none); default: none for training blended"),
        field("min_training_epochs", &C::min_training_epochs,
              "G2: epochs in TRAINING before blending; default: 1 for training blended", between(1, 1e6)),
        field("min_improvement_points", &C::min_improvement_points,
              "G2, ablation: accuracy points gained since TRAINING began", between(-100, 100)),
        field("min_gradient_ratio", &C::min_gradient_ratio,
              "G2: seed's gradient norm divided by the host's, normalised by size", between(0, 1e3)),
        field(
            "min_blending_epochs", &C::min_blending_epochs,
            "G3: epochs in BLENDING before shadowing; alpha must also have reached its target; default: 1 for training "
            "blended",
            between(1, 1e6)),
        field("min_shadow_epochs", &C::min_shadow_epochs, "G4: epochs in SHADOWING", between(1, 1e6)),
        field("max_shadow_drop_points", &C::max_shadow_drop_points,
              "G4: largest allowed drop in accuracy points; ablation: of the seed at full alpha, compared with the "
              "running network; control: of the running network, compared with the control, at the interval's lower "
              "end, unless its worth in loss is shown",
              between(0, 100)),
        field("min_probation_epochs", &C::min_probation_epochs, "G5: epochs in PROBATIONARY", between(1, 1e6)),
        field("min_contribution_points", &C::min_contribution_points,
              "G5, ablation: drop in validation accuracy points without the seed", between(-100, 100)),
        field("min_worth_loss", &C::min_worth_loss,
              "G5, control: the lower end of the interval of the worth in validation loss must be above this, or that "
              "of the worth in points above min_worth_points; G2: its upper end must be at least this",
              between(-100, 100)),
        field("min_worth_points", &C::min_worth_points,
              "G5, control: the lower end of the interval of the worth in validation accuracy points must be above "
              "this, or that of the worth in loss above min_worth_loss",
              between(-100, 100))};
  }
};

}  // namespace esper::config
