#pragma once
// The conditions for a seed to advance. Pure functions of measurements; a value that was not measured, or is not
// finite, never passes. Any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/growth_config.h"
#include "leyline/seed_worth.h"

namespace esper::kasmina {

enum class Gate : std::uint8_t { kG0, kG1, kG2, kG3, kG4, kG5 };
constexpr auto names(Gate) {
  using G = Gate;
  return std::array{std::pair{G::kG0, "G0"}, std::pair{G::kG1, "G1"}, std::pair{G::kG2, "G2"},
                    std::pair{G::kG3, "G3"}, std::pair{G::kG4, "G4"}, std::pair{G::kG5, "G5"}};
}

struct Verdict {
  Gate gate = Gate::kG0;
  bool passed = true;
  std::string reason;                                    // each condition with its measured value and threshold
  std::vector<std::pair<std::string, double>> values;    // measured
  std::vector<std::pair<std::string, double>> required;  // thresholds, by the names of the values they apply to
};

// Largest output change that a graft may cause on the probe, relative to the largest output.
inline constexpr double kMaxGraftChange = 1e-6;

// Largest output change that a widening may cause at alpha 1, measured in the same way.
inline constexpr double kMaxWideningChange = 1e-5;

// Largest output change that folding a fossil into the host may cause, measured in the same way.
inline constexpr double kMaxFoldChange = 1e-5;

// G0, before GERMINATED.
struct GraftEvidence {
  std::optional<double> nonfinite_parameters;        // number of the seed's tensors that hold NaN or infinity
  std::optional<double> relative_change;             // max |after - before| / max |before| of the network's output
  std::optional<double> change_at_full_alpha;        // the same with the seed fully blended in
  std::optional<double> max_change_at_full_alpha{};  // its threshold; empty: it is reported only
};

// G1, before TRAINING.
struct GradientEvidence {
  double num_parameters = 0;
  std::optional<double> gradient_norm;  // L2 over the seed's parameters, of a loss on the probe
};

// G2 to G5: measurements of the epochs. Points are percentage points of validation accuracy.
struct EpochEvidence {
  std::uint32_t stage_epochs = 0;             // real epochs since the stage began
  std::optional<double> improvement_points;   // see SeedRecord::improvement_points
  std::optional<double> gradient_ratio;       // smoothed; see gradient_ratio()
  double alpha = 0, alpha_target = 0;         // alpha_target: where the blend ends
  std::optional<double> shadow_points;        // accuracy at full alpha minus running accuracy
  std::optional<double> contribution_points;  // running accuracy minus accuracy without the seed
  // Reported, not judged; see SeedValue.
  std::optional<double> contribution_stderr_points, contribution_half_width_points, shapley_points;
  leyline::SeedWorth worth;
};

// Besides epochs and gradient ratio the gates judge what growth.gates.evidence says:
//
//        ablation                          control                                            none
//   G2   improvement_points                worth_loss_upper >= min_worth_loss                 -
//   G4   shadow_points                     worth_loss_lower > min_worth_loss or               -
//                                          worth_points_lower > -max_shadow_drop_points
//   G5   contribution_points               worth of the whole horizon, and worth_loss_lower   -
//                                          > min_worth_loss or worth_points_lower
//                                          > min_worth_points
//
// G2 stops only what was shown to do harm: a seed whose alpha is still small cannot have shown its use, and its worth
// is 0 while its alpha is. G5, which is final, demands that the use was shown.
Verdict sanity_gate(const GraftEvidence& evidence);                                          // G0 -> GERMINATED
Verdict gradient_gate(const GradientEvidence& evidence);                                     // G1 -> TRAINING
Verdict learning_gate(const EpochEvidence& evidence, const config::GateConfig& config);      // G2 -> BLENDING
Verdict blending_gate(const EpochEvidence& evidence, const config::GateConfig& config);      // G3 -> SHADOWING
Verdict shadow_gate(const EpochEvidence& evidence, const config::GateConfig& config);        // G4 -> PROBATIONARY
Verdict contribution_gate(const EpochEvidence& evidence, const config::GateConfig& config);  // G5 -> FOSSILIZED

// (seed_norm / host_norm) * sqrt(host_parameters / seed_parameters) (reference 2.2): 1 when an average parameter of the
// seed gets as much gradient as one of the host. Empty if a norm is not finite, or the host's norm or a count is zero.
struct GradientNorms {
  double seed = 0, host = 0;
  std::int64_t seed_parameters = 0, host_parameters = 0;
};
std::optional<double> gradient_ratio(const GradientNorms& norms);
// Exponential mean with factor 0.9; the first value starts it.
double smoothed_ratio(std::optional<double> before, double ratio);

}  // namespace esper::kasmina
