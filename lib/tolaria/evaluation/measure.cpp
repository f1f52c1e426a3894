#include "tolaria/evaluation/measure.h"

#include <torch/types.h>

#include "base/fault.h"
#include "base/text/rounding.h"
#include "kasmina/network/network_seeds.h"
#include "tolaria/evaluation/averaged_model.h"
#include "tolaria/evaluation/counterfactual_report.h"

namespace esper::tolaria {

namespace {

constexpr double kDrillLoss = 1000;

// Each seed alone at full alpha, the others as they run.
void try_at_full_alpha(const Evaluation& evaluation, Measurements& measured) {
  const auto seeds = kasmina::seeds_to_shadow(evaluation.model.network.state());
  if (seeds.empty()) return;
  std::vector<kasmina::Configuration> trials;
  for (const auto& seed_id : seeds) trials.push_back({{seed_id, 1.0}});
  const StackedResult pass = stacked_pass(evaluation, trials, {});
  measured.interrupted = !pass.complete;
  for (std::size_t i = 0; i < pass.score.size(); ++i) measured.accuracy_at_full[seeds[i]] = pass.score[i];
}

void measure_contributions(const Evaluation& evaluation, std::uint32_t epoch, Outbox& outbox, Measurements& measured) {
  const auto& config = evaluation.facts.config.growth.counterfactual;
  if (!counterfactual_is_due(evaluation.model.network, config, epoch)) return;
  measured.counterfactual = measure_counterfactual(evaluation, epoch);
  for (const auto& seed : measured.counterfactual.seeds) {
    measured.accuracy_without[seed.seed_id] = seed.accuracy_without;
  }
  if (measured.counterfactual.limit) {
    outbox.emit(limited_counterfactual(measured.counterfactual, epoch, config.max_configurations));
  }
  using End = Counterfactual::End;
  measured.interrupted = measured.counterfactual.end == End::kInterrupted;
  if (measured.counterfactual.end != End::kLate) return;
  outbox.emit(late_counterfactual(measured.counterfactual, epoch, config.deadline));
}

}  // namespace

Measurements measure_epoch(const Evaluation& evaluation, std::uint32_t epoch, Outbox& outbox, PerSample samples) {
  const auto& [model, loader, train, facts, ledger, forward] = evaluation;
  const base::LedgerScope validating(ledger, base::Owner::kValidation);
  Measurements measured;
  const AveragedModel averaged(model, train, facts.config, facts.device);
  const auto begin = facts.clock.now();
  measured.running = validation_pass(model, loader, facts.device, samples, Figures::kAll, forward);
  if (forward != nullptr) measured.batches = forward->batches();
  if (base::fault::hit("tolaria.validation_loss")) measured.running.loss = kDrillLoss;
  measured.running_ms = base::milliseconds(facts.clock.now() - begin);
  measured.interrupted = !measured.running.complete;
  if (!measured.interrupted) try_at_full_alpha(evaluation, measured);
  if (!measured.interrupted) measure_contributions(evaluation, epoch, outbox, measured);
  return measured;
}

}  // namespace esper::tolaria
