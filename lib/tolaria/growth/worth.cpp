#include "tolaria/growth/worth.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/names.h"
#include "base/statistics.h"
#include "base/text/joined.h"
#include "kasmina/network/network_seeds.h"
#include "kasmina/seed/lifecycle.h"

namespace esper::tolaria {
namespace {

using leyline::SeedState;
using leyline::SeedWorth;

struct Mean {
  double value = 0;
  std::optional<double> standard_error, half_width;  // over the samples
};

// Of the later half of the rows that were compared, rounded down, first averaged over those for each sample: a new
// module costs at first, so the first epochs say little.
Mean mean_of(const torch::Tensor& table, std::uint32_t compared) {
  const std::int64_t rows = std::max<std::int64_t>(1, compared / 2);
  const auto samples = table.narrow(0, compared - rows, rows).to(torch::kFloat64).mean(0);
  const auto count = samples.numel();
  Mean mean{samples.mean().item<double>(), std::nullopt, std::nullopt};
  if (count < 2) return mean;
  const auto values = static_cast<double>(count);
  mean.standard_error = std::sqrt(samples.var(true).item<double>() / values);
  mean.half_width = base::half_width_95({*mean.standard_error, values - 1});
  return mean;
}

// In percentage points, of fractions of right predictions.
Mean in_points(const Mean& correct, const torch::Tensor& table) {
  constexpr double kPoints = 100;
  Mean points{kPoints * correct.value, std::nullopt, std::nullopt};
  if (!correct.standard_error) return points;
  const auto samples = static_cast<std::size_t>(table.size(1));
  points.standard_error = kPoints * *correct.standard_error;
  points.half_width = kPoints * base::at_least_rule_of_three(*correct.half_width, samples);
  return points;
}

torch::Tensor with_row(const torch::Tensor& table, std::uint32_t row, const torch::Tensor& values) {
  auto copy = table.clone();
  copy[row].copy_(values);
  return copy;
}

void compare_epoch(SeedControl& control, const SampleFigures& running) {
  const auto row = control.compared;
  ESPER_CHECK(running.loss.defined() && running.loss.numel() == control.loss.size(1),
              "a control is compared on the samples that it was validated on");
  control.loss = with_row(control.loss, row, control.loss[row] - running.loss);
  control.correct = with_row(control.correct, row, running.correct - control.correct[row]);
  ++control.compared;
}

// The run may have lowered it since the control was trained, and a user changed it. Cuts of a rate are multiplied in
// another order once some of them are past.
bool has_rate_of(const SeedControl& control, double learning_rate) {
  if (control.learning_rates.empty()) return true;
  constexpr double kRounding = 1e-9;
  const double planned = control.learning_rates.at(control.compared);
  return std::abs(learning_rate - planned) <= kRounding * std::abs(planned);
}

bool is_still_growing(const kasmina::Network& network, const std::string& seed_id) {
  return std::ranges::any_of(kasmina::export_seed_states(network.state()), [&](const SeedState& seed) {
    return seed.seed_id == seed_id && kasmina::is_growing(seed.stage);
  });
}

}  // namespace

std::string describe_seeds(const kasmina::Network& network, const std::string& but) {
  auto seeds = kasmina::export_seed_states(network.state());
  std::erase_if(seeds, [&](const SeedState& seed) { return seed.seed_id == but; });
  return base::joined(seeds, "; ", [](const SeedState& seed) {
    return fmt::format("{} {} {}", seed.seed_id, base::name_of(seed.stage), seed.figures.alpha);
  });
}

SeedWorth worth_of(const SeedControl& control) {
  SeedWorth worth;
  worth.epochs = control.compared;
  worth.horizon = control.epochs();
  if (control.compared == 0) return worth;
  const Mean loss = mean_of(control.loss, control.compared);
  const Mean points = in_points(mean_of(control.correct, control.compared), control.correct);
  worth.loss = loss.value;
  worth.loss_stderr = loss.standard_error;
  worth.loss_half_width = loss.half_width;
  worth.points = points.value;
  worth.points_stderr = points.standard_error;
  worth.points_half_width = points.half_width;
  return worth;
}

std::map<std::string, SeedWorth> compare_with_controls(ControlRecord& record, const kasmina::Network& network,
                                                       const RunningEpoch& running) {
  std::map<std::string, SeedWorth> worths;
  for (auto it = record.seeds.begin(); it != record.seeds.end();) {
    auto& [seed_id, control] = *it;
    SeedWorth worth;
    if (is_still_growing(network, seed_id)) {
      const bool alike =
          describe_seeds(network, seed_id) == control.others && has_rate_of(control, running.learning_rate);
      if (alike) compare_epoch(control, running.samples);
      worth = worth_of(control);
      worth.confounded = !alike;
      worths[seed_id] = worth;
    }
    it = worth.is_pending() ? std::next(it) : record.seeds.erase(it);
  }
  return worths;
}

}  // namespace esper::tolaria
