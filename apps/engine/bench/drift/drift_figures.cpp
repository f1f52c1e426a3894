#include "engine/bench/drift/drift_figures.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/bench/table.h"

namespace esper::engine::bench {
namespace {

using nlohmann::ordered_json;

double quotient(double difference, double size) {
  if (size == 0) return difference == 0 ? 0 : std::numeric_limits<double>::infinity();
  return difference / size;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

ordered_json number(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr); }

ordered_json point_json(const DriftPoint& point) {
  return {{"step", point.step},
          {"loss", number(point.loss)},
          {"reference_loss", number(point.reference_loss)},
          {"loss_difference", number(point.loss_difference)},
          {"parameters_over_change", number(point.parameters_over_change)},
          {"parameters_over_norm", number(point.parameters_over_norm)}};
}

std::string number_text(const ordered_json& value) {
  return value.is_null() ? "not finite" : fmt::format("{:.3g}", value.get<double>());
}

std::string row_text(const ordered_json& row) {
  std::string text;
  for (const auto& point : row.at("points")) {
    text += fmt::format("{:<9} {:>6} {:>12} {:>15} {:>20} {:>18}\n", row.at("precision").get<std::string>(),
                        point.at("step").get<int>(), number_text(point.at("loss")),
                        number_text(point.at("loss_difference")), number_text(point.at("parameters_over_change")),
                        number_text(point.at("parameters_over_norm")));
  }
  if (const auto skipped = row.at("skipped_steps").get<std::int64_t>(); skipped > 0) {
    text += fmt::format("{:<9} {} steps overflowed and were skipped; the reference made them\n",
                        row.at("precision").get<std::string>(), skipped);
  }
  return text;
}

}  // namespace

std::vector<int> reported_steps(int steps) {
  std::vector<int> out;
  for (std::int64_t decade = 1; decade <= steps; decade *= 10) {
    for (const std::int64_t step : std::array{decade, 2 * decade, 5 * decade}) {
      if (step < steps) out.push_back(static_cast<int>(step));
    }
  }
  out.push_back(steps);
  return out;
}

std::vector<DriftPoint> drift_points(const Trajectory& of, const Trajectory& reference,
                                     const std::vector<double>& start, const std::vector<int>& reported) {
  std::vector<DriftPoint> points;
  for (std::size_t i = 0; i < reported.size(); ++i) {
    const auto step = static_cast<std::size_t>(reported[i] - 1);
    const auto& right = reference.parameters[i];
    const double difference = distance(of.parameters[i], right);
    DriftPoint point;
    point.step = reported[i];
    point.loss = of.losses[step];
    point.reference_loss = reference.losses[step];
    point.loss_difference = quotient(std::abs(point.loss - point.reference_loss), std::abs(point.reference_loss));
    point.parameters_over_change = quotient(difference, distance(right, start));
    point.parameters_over_norm = quotient(difference, norm(right));
    points.push_back(point);
  }
  return points;
}

ordered_json drift_json(const std::vector<PrecisionDrift>& drifts, int steps) {
  ordered_json rows = ordered_json::array(), refused = ordered_json::array();
  for (const PrecisionDrift& drift : drifts) {
    if (!drift.refusal.empty()) {
      refused.push_back({{"name", drift.precision}, {"reason", drift.refusal}});
      continue;
    }
    ordered_json points = ordered_json::array();
    for (const DriftPoint& point : drift.points) points.push_back(point_json(point));
    rows.push_back({{"precision", drift.precision}, {"skipped_steps", drift.skipped_steps}, {"points", points}});
  }
  return {{"reference", "float64"}, {"steps", steps}, {"rows", rows}, {"refused", refused}};
}

std::string drift_text(const ordered_json& report) {
  const auto& drift = report.at("drift");
  std::string text = heading(report);
  text += fmt::format("{:<9} {:>6} {:>12} {:>15} {:>20} {:>18}\n", "precision", "step", "loss", "loss difference",
                      "parameters / change", "parameters / norm");
  for (const auto& row : drift.at("rows")) text += row_text(row);
  text += refused_text(drift);
  return text +
         "differences from the same steps in float64: of the loss, relative; of all parameters after the step, L2 norm "
         "over that of their change since the start, and over their own";
}

}  // namespace esper::engine::bench
