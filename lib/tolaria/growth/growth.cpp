#include "tolaria/growth/growth.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text/rounding.h"
#include "kasmina/network/network_seeds.h"
#include "kasmina/seed/lifecycle.h"
#include "leyline/telemetry/telemetry.h"
#include "tolaria/growth/worth.h"

namespace esper::tolaria {

using leyline::event;
using leyline::Level;
using leyline::SeedState;
using namespace leyline::literals;

namespace {

// Before the network applies the epoch: its seeds are still as they trained.
void compare_seeds(ControlRecord& controls, const kasmina::Network& network, const EpochResults& results,
                   kasmina::EpochFacts& facts, LifecycleLog& log) {
  if (!results.measured.undone.empty()) controls.seeds.clear();  // with controls one seed grows, and it is culled
  if (controls.seeds.empty()) return;
  const RunningEpoch running{results.measured.running.by_sample, results.trained.learning_rate};
  for (const auto& [seed_id, worth] : compare_with_controls(controls, network, running)) {
    const auto own = std::ranges::find(facts.seeds, seed_id, &kasmina::SeedFacts::seed_id);
    if (own != facts.seeds.end()) own->worth = worth;
    if (!worth.confounded) continue;
    log.report(event(
        "tolaria.control_confounded"_event, Level::kWarning,
        {{"seed_id", seed_id},
         {"epoch", std::to_string(facts.epoch)},
         {"epochs", std::to_string(worth.epochs)},
         {"reason",
          "another seed was added, removed or changed since its control, or the learning rate was: its worth is no "
          "longer measured"}}));
  }
}

// The alpha of each active seed (alpha above 0), fossils too.
SeedAlphas active_in(const kasmina::Network& network) {
  SeedAlphas alphas;
  for (const SeedState& seed : kasmina::export_seed_states(network.state())) {
    if (seed.figures.alpha != 0) alphas[seed.seed_id] = seed.figures.alpha;
  }
  return alphas;
}

// An epoch that was undone was validated without the seeds that are culled for it.
SeedAlphas active_in_validation(SeedAlphas active, const Measurements& measured) {
  for (const auto& seed_id : measured.undone_seeds) active.erase(seed_id);
  return active;
}

std::vector<std::string> ids_of(const SeedAlphas& seeds) {
  std::vector<std::string> ids;
  for (const auto& [seed_id, alpha] : seeds) ids.push_back(seed_id);
  return ids;
}

// Those of them that grow no more.
std::vector<SeedState> ended_of(std::vector<SeedState> seeds, const kasmina::Network& network) {
  const auto growing = kasmina::growing_seeds(network.state());
  std::erase_if(seeds, [&](const SeedState& seed) { return std::ranges::count(growing, seed.seed_id) > 0; });
  return seeds;
}

}  // namespace

Growth::Growth(const Evaluation& evaluation, tamiyo::RunPolicy& policy, LifecycleLog log, const Saver& saver,
               torch::Tensor probe, AtTheEnd at_the_end)
    : evaluation_(evaluation),
      log_(std::move(log)),
      at_the_end_(at_the_end),
      questions_(evaluation.facts, policy, log_),
      changes_(evaluation, policy, log_, saver, std::move(probe)) {}

bool Growth::needs_samples(const RunProgress& progress) const {
  return asks_policy(evaluation_.facts.config) || !progress.control.seeds.empty();
}

bool Growth::may_settle() const {
  return at_the_end_ == AtTheEnd::kSettle && has_unfinished_seeds(evaluation_.model.network);
}

bool Growth::may_train_control(const RunProgress& progress) const {
  const auto& growth = evaluation_.facts.config.growth;
  if (!asks_policy(evaluation_.facts.config) || growth.gates.evidence != config::Evidence::kControl) return false;
  RunProgress after = progress;
  ++after.epoch;
  if (!control_length(evaluation_.facts, after)) return false;
  // One that rests may be free once the epoch is over.
  return std::ranges::any_of(kasmina::export_slots(evaluation_.model.network.state()),
                             [](const leyline::SlotState& slot) {
                               return slot.stage != leyline::Stage::kTerminated && !kasmina::holds_seed(slot.stage);
                             });
}

RemovedSeed Growth::removed_active_seed() const {
  const auto lacks_one_of = [&](const SeedAlphas& seeds) {
    return std::ranges::any_of(seeds, [&](const auto& seed) { return !active_.left.contains(seed.first); });
  };
  if (lacks_one_of(active_.validated)) return RemovedSeed::kValidated;
  return lacks_one_of(active_.trained) ? RemovedSeed::kNotValidated : RemovedSeed::kNone;
}

std::vector<std::string> Growth::validated_seeds() const { return ids_of(active_.validated); }

std::vector<std::string> Growth::active_seeds() const { return ids_of(active_.left); }

EpochEnd Growth::settle(RunProgress& progress, const SeedAlphas& ran) {
  auto settlement = settle_unfinished(evaluation_, progress, ran);
  if (!settlement.is_complete) return EpochEnd::kInterrupted;
  settled_validation_ = settlement.validation;
  changes_.apply(progress, {settlement.commands, {}});
  // A seed may stay where it is measured to help and cannot be kept, for want of memory.
  if (auto culls = culls_of_unsettled(evaluation_, progress); !culls.empty()) {
    changes_.apply(progress, {std::move(culls), {}});
    settled_validation_.reset();
  }
  for (auto& event : settlement.events) log_.report(std::move(event));
  return EpochEnd::kComplete;
}

// What an earlier epoch left open comes first: the policy is to see what its commands did.
EpochEnd Growth::decide(RunProgress& progress, const EpochResults& results) {
  using IfDecided = PolicyQuestions::IfDecided;
  const RunFacts& facts = evaluation_.facts;
  const auto finish = [&](IfDecided then) {
    const auto decision = questions_.finish(progress, then);
    return decision ? changes_.apply(progress, *decision) : EpochEnd::kComplete;
  };
  questions_.begin_epoch_end();
  if (questions_.is_open()) {
    const auto then = results.is_last ? IfDecided::kDrop : IfDecided::kApply;
    if (finish(then) == EpochEnd::kInterrupted) return EpochEnd::kInterrupted;
  }
  if (!is_question_due(facts, progress, results)) return EpochEnd::kComplete;
  questions_.ask(observe(facts, progress, evaluation_.model.network, results), results);
  const bool overlaps = facts.config.policy.overlap == config::PolicyOverlap::kOn && !results.is_last;
  return overlaps ? EpochEnd::kComplete : finish(IfDecided::kApply);
}

EpochEnd Growth::end_epoch(RunProgress& progress, const EpochResults& results) {
  const config::RunConfig& config = evaluation_.facts.config;
  step::Model& model = evaluation_.model;
  auto facts = facts_of(model.network, progress.epoch + 1, results);
  ++progress.epoch;
  progress.batch = 0;
  compare_seeds(progress.control, model.network, results, facts, log_);
  if (!asks_policy(config)) {
    progress.window = {};
  } else if (results.measured.undone.empty()) {
    progress.window =
        with_epoch(progress.window, results.measured.running.by_sample, config.policy.heuristic.window_epochs);
  }
  const auto ran = alphas_of(model.network), trained = active_in(model.network);
  auto measured = changes_.end_epoch(facts);
  const base::Clock& clock = evaluation_.facts.clock;
  const auto begin = clock.now();
  if (decide(progress, results) == EpochEnd::kInterrupted) return EpochEnd::kInterrupted;
  settled_validation_.reset();
  const bool settles = results.is_last && at_the_end_ == AtTheEnd::kSettle && needs_settling(model.network, ran);
  if (settles && settle(progress, ran) == EpochEnd::kInterrupted) return EpochEnd::kInterrupted;
  step::follow_training_gates(model);
  active_ = {trained, active_in_validation(trained, results.measured), active_in(model.network)};
  ended_ = results.measured.undone.empty() ? ended_of(std::move(measured), model.network) : std::vector<SeedState>();
  log_.publish();
  hook_ms_ = base::milliseconds(clock.now() - begin);
  questions_.end_epoch_end(hook_ms_);
  return EpochEnd::kComplete;
}

}  // namespace esper::tolaria
