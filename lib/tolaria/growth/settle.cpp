#include "tolaria/growth/settle.h"

#include <fmt/core.h>
#include <torch/types.h>

#include <algorithm>
#include <deque>
#include <tuple>
#include <utility>

#include "base/names.h"
#include "base/statistics.h"
#include "kasmina/network/alpha_override.h"
#include "kasmina/network/network_seeds.h"
#include "leyline/blueprint/blueprint_table.h"
#include "leyline/seed_command.h"
#include "tolaria/evaluation/averaged_model.h"
#include "tolaria/evaluation/validation_pass.h"

namespace esper::tolaria {
namespace {

using config::Evidence;
using leyline::SeedOperation;
using leyline::SeedState;
using namespace leyline::literals;

std::vector<SeedState> unfinished_seeds(const kasmina::Network& network) {
  return kasmina::export_growing_seed_states(network.state());
}

// As the last epoch ran.
std::vector<SeedState> unfinished_seeds(const kasmina::Network& network, const SeedAlphas& ran) {
  auto seeds = unfinished_seeds(network);
  for (auto& seed : seeds) {
    const auto own = ran.find(seed.seed_id);
    seed.figures.alpha = own == ran.end() ? 0 : own->second;
  }
  return seeds;
}

// The network around a seed has adapted to the alpha that it had, so it stays there. Only a widening, whose weights are
// parted from the host's, becomes whole.
double kept_alpha(const SeedState& seed) { return leyline::is_widening(seed.blueprint) ? 1 : seed.figures.alpha; }

// A seed with alpha above 0 is gone, or its weights lie in the host's, which rounds otherwise.
bool is_another_network(const kasmina::Network& network, const SeedAlphas& ran) {
  return std::ranges::any_of(ran, [&](const auto& seed_and_alpha) {
    const auto& [id, alpha] = seed_and_alpha;
    const auto* slot = kasmina::find_seed(network.state().structure.slots, id);
    return alpha != 0 && (slot == nullptr || slot->seed->folded);
  });
}

// A seed with alpha above 0 that does not learn is being blended out.
bool is_blended_out(const kasmina::Network& network, const std::string& seed_id) {
  return std::ranges::any_of(network.parameter_groups(),
                             [&](const auto& group) { return group.id == seed_id && !group.learns; });
}

ValidationResult validate_with(const Evaluation& evaluation, const SeedAlphas& alphas) {
  const auto& [model, loader, train, facts, ledger, forward] = evaluation;
  std::deque<kasmina::AlphaOverride> overrides;
  for (const auto& [id, alpha] : alphas) overrides.emplace_back(model.network.state(), id, alpha);
  const AveragedModel averaged(model, train, facts.config, facts.device);
  return validation_pass(model, loader, facts.device, PerSample::kKept);
}

std::pair<double, std::optional<double>> mean_and_half_width(const torch::Tensor& samples) {
  const auto values = samples.to(torch::kFloat64).contiguous();
  const double* first = values.const_data_ptr<double>();
  const auto error = base::error_of_mean({first, static_cast<std::size_t>(values.numel())});
  return {values.mean().item<double>(), error ? std::optional(base::half_width_95(*error)) : std::nullopt};
}

SeedGain gain_of(const SampleFigures& with, const SampleFigures& without) {
  constexpr double kPoints = 100;
  SeedGain gain;
  std::tie(gain.loss, gain.loss_half_width) = mean_and_half_width(without.loss - with.loss);
  std::tie(gain.points, gain.points_half_width) = mean_and_half_width(kPoints * (with.correct - without.correct));
  if (gain.points_half_width) {
    const auto samples = static_cast<std::size_t>(with.correct.numel());
    gain.points_half_width = base::at_least_rule_of_three(*gain.points_half_width, samples, kPoints);
  }
  return gain;
}

// Decides about one seed after another.
class Settler {
 public:
  Settler(const Evaluation& evaluation, const RunProgress& progress, const SeedAlphas& ran)
      : evaluation_(evaluation),
        progress_(progress),
        seeds_(unfinished_seeds(evaluation.model.network, ran)),
        is_validated_(!is_another_network(evaluation.model.network, ran)) {
    for (const auto& seed : seeds_) decided_[seed.seed_id] = seed.figures.alpha;
  }

  Settlement settle() {
    std::vector<SeedState> heard;
    for (auto& seed : seeds_) {
      if (seed.figures.alpha == 0) {
        decide(seed, {false, "the run is over and its alpha is 0: it does nothing"}, std::nullopt);
      } else if (is_blended_out(evaluation_.model.network, seed.seed_id)) {
        decide(seed, {false, "the run is over while it is blended out"}, std::nullopt);
        is_validated_ = false;
      } else {
        heard.push_back(std::move(seed));
      }
    }
    for (const auto& seed : heard) {
      if (!judge(seed)) return std::move(out_);
    }
    if (!is_validated_) take(validate_with(evaluation_, decided_));
    return std::move(out_);
  }

 private:
  // Of the network as far as it is decided.
  void take(const ValidationResult& result) {
    out_.is_complete = result.complete;
    out_.validation = figures_of(result);
    is_validated_ = true;
  }

  bool judge(const SeedState& seed) {
    const auto with_alpha = [&](double alpha) {
      SeedAlphas alphas = decided_;
      alphas[seed.seed_id] = alpha;
      return alphas;
    };
    const auto with = validate_with(evaluation_, with_alpha(kept_alpha(seed)));
    const auto without = validate_with(evaluation_, with_alpha(0));
    out_.is_complete = with.complete && without.complete;
    if (!out_.is_complete) return false;
    const auto gain = gain_of(with.by_sample, without.by_sample);
    auto fate = fate_of(seed, gain, evaluation_.facts.config.growth.gates);
    if (fate.is_kept) {
      fate.reason +=
          fmt::format("; {} at alpha {:.4g}", leyline::is_widening(seed.blueprint) ? "kept, whole," : "kept as it ran,",
                      kept_alpha(seed));
    }
    decide(seed, fate, gain);
    take(fate.is_kept ? with : without);
    return true;
  }

  void decide(const SeedState& seed, const Fate& fate, const std::optional<SeedGain>& gain) {
    decided_[seed.seed_id] = fate.is_kept ? kept_alpha(seed) : 0;
    auto command = leyline::seed_command(
        fmt::format("{}-e{}-end-{}", evaluation_.facts.run_id, progress_.epoch, out_.commands.size() + 1),
        fate.is_kept ? SeedOperation::kKeep : SeedOperation::kCull, seed.seed_id);
    command.issued_by = "tolaria";
    command.annotations["reason"] = fate.reason;
    if (fate.is_kept) command.seed_operation->parameters[leyline::kKeptAlpha] = kept_alpha(seed);
    out_.commands.push_back(std::move(command));
    out_.events.push_back(event_of(seed, fate, gain));
  }

  leyline::TelemetryEvent event_of(const SeedState& seed, const Fate& fate, const std::optional<SeedGain>& gain) const {
    const SeedGain measured = gain.value_or(SeedGain());
    const auto figure = [](std::optional<double> value) { return value ? fmt::format("{:.6g}", *value) : ""; };
    const auto mean = [&](double value) { return gain ? figure(value) : ""; };
    return leyline::event("tolaria.seed_settled"_event, leyline::Level::kInfo,
                          {{"seed_id", seed.seed_id},
                           {"slot", seed.slot},
                           {"blueprint", seed.blueprint},
                           {"epoch", std::to_string(progress_.epoch)},
                           {"stage", std::string(base::name_of(seed.stage))},
                           {"alpha", fmt::format("{:.6g}", seed.figures.alpha)},
                           {"result", fate.is_kept ? "kept" : "removed"},
                           {"loss_gain", mean(measured.loss)},
                           {"loss_gain_half_width", figure(measured.loss_half_width)},
                           {"points_gain", mean(measured.points)},
                           {"points_gain_half_width", figure(measured.points_half_width)},
                           {"reason", fate.reason}});
  }

  const Evaluation& evaluation_;
  const RunProgress& progress_;
  std::vector<SeedState> seeds_;
  SeedAlphas decided_;  // of all: as they ran, until one is decided
  Settlement out_;
  bool is_validated_;  // the network without what was removed unmeasured equals the one that ran
};

std::string bound_text(const std::optional<double>& bound) { return bound ? fmt::format("{:.4g}", *bound) : "unknown"; }

Fate fate_by_worth(const leyline::SeedWorth& worth, const config::GateConfig& gates) {
  if (worth.epochs == 0) return {false, "its worth against a control was not measured"};
  const auto bounds = bounds_of(worth);
  const bool helps = (bounds.loss_lower && *bounds.loss_lower > gates.min_worth_loss) ||
                     (bounds.points_lower && *bounds.points_lower > gates.min_worth_points);
  return {helps, fmt::format("its worth against a control, over {} of {} epochs, is at least {} in validation loss and "
                             "{} points (required > {:.4g} or > {:.4g})",
                             worth.epochs, worth.horizon, bound_text(bounds.loss_lower),
                             bound_text(bounds.points_lower), gates.min_worth_loss, gates.min_worth_points)};
}

std::string interval_text(double value, std::optional<double> half_width) {
  if (!half_width) return "not measured: there is one validation sample";
  return fmt::format("{:.4g} to {:.4g}", value - *half_width, value + *half_width);
}

std::string gain_text(const SeedGain& gain) {
  return fmt::format(
      "with it the validation loss is lower by {:.4g} (95 % interval {}) and the accuracy higher by {:.4g} points ({})",
      gain.loss, interval_text(gain.loss, gain.loss_half_width), gain.points,
      interval_text(gain.points, gain.points_half_width));
}

bool shows_lower_loss(const SeedGain& gain) { return gain.loss_half_width && gain.loss > *gain.loss_half_width; }
// Also one that is not finite.
bool shows_higher_loss(const SeedGain& gain) {
  return gain.loss_half_width && !(gain.loss + *gain.loss_half_width >= 0);
}

}  // namespace

Fate fate_of(const SeedState& seed, const SeedGain& gain, const config::GateConfig& gates) {
  Fate fate;
  std::string required;
  switch (gates.evidence) {
    case Evidence::kControl:
      fate = fate_by_worth(seed.figures.worth, gates);
      // Its worth is that of earlier epochs.
      fate.is_kept = fate.is_kept && !shows_higher_loss(gain);
      required = fate.reason + "; required: no higher loss shown";
      break;
    case Evidence::kAblation:
      fate.is_kept = gain.points >= gates.min_contribution_points;
      required = fmt::format("required >= {:.4g} points", gates.min_contribution_points);
      break;
    case Evidence::kNone:
      fate.is_kept = shows_lower_loss(gain);
      required = "required: a lower loss, shown at 95 %";
      break;
  }
  fate.reason = fmt::format("the run is over, and it is unfinished: {}; {}", gain_text(gain), required);
  return fate;
}

bool has_unfinished_seeds(const kasmina::Network& network) { return !unfinished_seeds(network).empty(); }

bool needs_settling(const kasmina::Network& network, const SeedAlphas& ran) {
  return has_unfinished_seeds(network) || is_another_network(network, ran);
}

SeedAlphas alphas_of(const kasmina::Network& network) {
  SeedAlphas alphas;
  for (const auto& seed : unfinished_seeds(network)) alphas[seed.seed_id] = seed.figures.alpha;
  return alphas;
}

Settlement settle_unfinished(const Evaluation& evaluation, const RunProgress& progress, const SeedAlphas& ran) {
  const base::LedgerScope validating(evaluation.ledger, base::Owner::kValidation);
  return Settler(evaluation, progress, ran).settle();
}

std::vector<leyline::AdaptationCommand> culls_of_unsettled(const Evaluation& evaluation, const RunProgress& progress) {
  std::vector<leyline::AdaptationCommand> culls;
  for (const auto& seed : unfinished_seeds(evaluation.model.network)) {
    culls.push_back(
        leyline::seed_command(fmt::format("{}-e{}-rest-{}", evaluation.facts.run_id, progress.epoch, culls.size() + 1),
                              SeedOperation::kCull, seed.seed_id));
    culls.back().issued_by = "tolaria";
    culls.back().annotations["reason"] = "the run is over, and it could not be kept";
  }
  return culls;
}

}  // namespace esper::tolaria
