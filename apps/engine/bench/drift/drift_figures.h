#pragma once
// How far a training in some precision is from the same training in float64. Plain numbers.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace esper::engine::bench {

// A training's first steps. parameters: all of the network, in its order, after each reported step.
struct Trajectory {
  std::vector<double> losses;  // of every step, before its update
  std::vector<std::vector<double>> parameters;
  std::int64_t skipped_steps = 0;  // that loss scaling undid
};

struct DriftPoint {
  int step = 0;  // from 1
  double loss = 0, reference_loss = 0;
  double loss_difference = 0;         // |loss - reference| / |reference|
  double parameters_over_change = 0;  // L2 norms: of the difference, over that of the reference's way from the start
  double parameters_over_norm = 0;    // of the difference, over that of the reference
};

struct PrecisionDrift {
  std::string precision;
  std::int64_t skipped_steps = 0;
  std::vector<DriftPoint> points;  // one for each reported step
  std::string refusal;             // why it could not run; empty: it ran
};

// Steps that a report of `steps` has: 1, 2, 5, 10, 20, 50, ..., and the last.
std::vector<int> reported_steps(int steps);

// start: the parameters before the first step. Both trajectories are of these reported steps. A quotient whose divisor
// is 0 is 0 where nothing differs, else infinite.
std::vector<DriftPoint> drift_points(const Trajectory& of, const Trajectory& reference,
                                     const std::vector<double>& start, const std::vector<int>& reported);

// {reference, steps, rows [{precision, skipped_steps, points [{step, loss, reference_loss, loss_difference,
// parameters_over_change, parameters_over_norm}]}], refused [{name, reason}]}; null for what is not finite.
nlohmann::ordered_json drift_json(const std::vector<PrecisionDrift>& drifts, int steps);

// Of a report with "drift" as drift_json() made it; lines, without the last newline.
std::string drift_text(const nlohmann::ordered_json& report);

}  // namespace esper::engine::bench
