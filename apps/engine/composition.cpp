#include "engine/composition.h"

#include <fmt/core.h>
#include <torch/types.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/interrupt.h"
#include "data/class_counts.h"
#include "device/facts.h"
#include "engine/end_in_time.h"
#include "engine/known_error.h"
#include "engine/stall_report.h"
#include "nissa/log.h"
#include "tolaria/evaluation/averaged_model.h"
#include "tolaria/state/last_epoch.h"

namespace esper::engine {

namespace {

tolaria::RunFacts facts_of(const CompositionParts& parts, const Loaders& loaders) {
  const TrainingSetup& setup = parts.setup;
  const base::Clock clock;
  return {.config = setup.config,
          .run_id = parts.open.folder.run_id(),
          .training_hash = parts.training_hash,
          .device = setup.device,
          .batches_per_epoch = loaders.train->num_batches(),
          .reason_of_source = loaders.reason,
          .skipped_samples = setup.data.skipped,
          .first_skipped = setup.data.first_skipped,
          .classes_without_samples = data::classes_without_samples(setup.data.train),
          .num_classes = setup.config.task == config::Task::kClassification ? setup.data.train.shape.num_classes : 0,
          .preprocessing = preprocessing_text(setup),
          .computed_on = device::numerics_of(setup.device),
          .clock = clock,
          .started = clock.now()};
}

// Inputs of the first validation batch, on which grafts are measured.
std::optional<data::Batch> first_batch(data::Loader& loader, const config::RunConfig& config) {
  loader.seek(0, 0);
  try {
    return loader.next();
  } catch (const std::exception& error) {
    end_in_time(config, error);  // its thread may hang, and what follows joins it
    throw;
  }
}

torch::Tensor probe_of(data::Loader& validation, const tolaria::RunFacts& facts) {
  const auto batch = first_batch(validation, facts.config);
  ESPER_CHECK(batch || base::Interrupt::requested() != 0, "a loaded data set has a validation batch");
  return batch ? batch->inputs.to(facts.device) : torch::Tensor();  // a run that a signal stops grafts nothing
}

lanes::LaneLog lane_log_of(const CompositionParts& parts) {
  if (parts.start.kind == tolaria::RunStart::Kind::kNew) return {};
  auto log = lanes::read_lane_log(parts.open.files, parts.open.folder.journal(), parts.progress.step);
  if (const auto damaged = log.damaged(); damaged > 0) {
    nissa::log::warning(
        fmt::format("damaged lane records in the journal were ignored: {}; steps of a compiled lane may not be "
                    "reproduced bit for bit",
                    damaged));
  }
  return log;
}

tolaria::LaneParts lane_parts(const CompositionParts& parts, const Policy& policy) {
  const TrainingSetup& setup = parts.setup;
  return {setup.compile_service.get(), [&setup] { return fresh_model(setup); }, policy.forecast, lane_log_of(parts)};
}

}  // namespace

Composition::Composition(CompositionParts parts)
    : policy_(std::move(parts.policy)),
      telemetry_(parts.setup.config, parts.open.folder, parts.console),
      loaders_(open_loaders(parts.setup)),
      facts_(facts_of(parts, loaders_)),
      progress_(parts.progress),
      ledger_(std::move(parts.ledger)),
      output_(parts.open, parts.start.refused, save_source(parts.setup), ledger_, telemetry_),
      run_{.facts = facts_,
           .progress = progress_,
           .model = *parts.setup.model,
           .data = {*loaders_.train, *loaders_.validation, probe_of(*loaders_.validation, facts_)},
           .policy = *policy_.policy,
           .lanes = lane_parts(parts, policy_),
           .saver = output_.saver(),
           .outbox = output_.outbox(),
           .ledger = ledger_,
           .display = telemetry_.display(),
           .records = {.black_box = output_.black_box(), .bundles = &output_.bundles(), .times = parts.step_times}},
      watchdog_(
          telemetry_.display(), facts_.clock, facts_.config.safety.stall_deadline, [this](const tolaria::Stall& stall) {
            report_stall({facts_.config.safety, facts_.run_id, facts_.clock, telemetry_.sink(), telemetry_.display()},
                         stall);
          }) {
  tolaria::report_start(run_, parts.start);
}

tolaria::SaveSource Composition::save_source(const TrainingSetup& setup) {
  return {facts_, *setup.model, progress_, *policy_.policy, [this, &setup] {
            const bool is_over = tolaria::is_last_epoch_over(facts_.config, progress_) ||
                                 tolaria::should_stop_early(facts_.config, progress_);
            return tolaria::averaged_statistics(*setup.model, *loaders_.train, setup.config, setup.device,
                                                is_over ? tolaria::kStatisticsAfterSignal : std::chrono::seconds(0));
          }};
}

void Composition::finish(const tolaria::RunOutcome& outcome) {
  const base::LedgerScope reporting(ledger_, base::Owner::kTelemetry);
  telemetry_.display().phase = leyline::Phase::kDone;
  tolaria::report_outcome(run_, outcome);
  telemetry_.close();
}

void Composition::abandon(const std::exception& error) {
  using tolaria::LastState;
  const auto state = tolaria::save_after(output_.saver(), error) ? LastState::kSaved : LastState::kNotSaved;
  tolaria::report_failure(output_.outbox(), ledger_, progress_,
                          {error, exit_code_of(error), state, facts_.wall_s(progress_)});
  telemetry_.close();
}

base::Ledger Composition::take_ledger() {
  output_.outbox().flush();
  telemetry_.close();
  return std::move(ledger_);
}

nlohmann::ordered_json Composition::telemetry_counts() const { return telemetry_.counts(); }

}  // namespace esper::engine
