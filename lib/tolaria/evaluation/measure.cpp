#include "tolaria/evaluation/measure.h"

#include <torch/types.h>

#include "step/ema.h"
#include "tolaria/evaluation/counterfactual_report.h"

namespace esper::tolaria {

using step::EmaScope;

namespace {

// Each seed by itself at full alpha, the others as they run.
void try_at_full_alpha(Run& run, Measurements& measured) {
  const auto seeds = run.model.network.seeds_to_shadow();
  if (seeds.empty()) return;
  std::vector<kasmina::Configuration> trials;
  for (const auto& seed_id : seeds) trials.push_back({{seed_id, 1.0}});
  const StackedResult pass = stacked_pass(run, trials, {});
  measured.interrupted = !pass.complete;
  for (std::size_t i = 0; i < pass.accuracy.size(); ++i) measured.accuracy_at_full[seeds[i]] = pass.accuracy[i];
}

void measure_worth(Run& run, Measurements& measured) {
  if (!counterfactual_is_due(run)) return;
  measured.counterfactual = measure_counterfactual(run);
  for (const auto& seed : measured.counterfactual.seeds) {
    measured.accuracy_without[seed.seed_id] = seed.accuracy_without;
  }
  using End = Counterfactual::End;
  measured.interrupted = measured.counterfactual.end == End::kInterrupted;
  if (measured.counterfactual.end != End::kLate) return;
  run.events.push_back(late_counterfactual(run, measured.counterfactual));
}

}  // namespace

Measurements measure_epoch(Run& run) {
  const base::LedgerScope validating(run.ledger, base::Owner::kValidation);
  Measurements measured;
  const EmaScope averaged(run.model.state);
  const auto begin = run.clock.now();
  measured.running = validation_pass(run.model, run.validation_data, run.device);
  measured.running_ms = std::chrono::duration<double, std::milli>(run.clock.now() - begin).count();
  measured.interrupted = !measured.running.complete;
  if (!measured.interrupted) try_at_full_alpha(run, measured);
  if (!measured.interrupted) measure_worth(run, measured);
  return measured;
}

}  // namespace esper::tolaria
