#include "tolaria/epoch_trainer.h"

#include <torch/types.h>

#include <atomic>
#include <limits>
#include <string>
#include <utility>

#include "base/interrupt.h"
#include "base/signal_point.h"
#include "base/text/rounding.h"
#include "device/cuda_table.h"
#include "kasmina/network/network_seeds.h"
#include "leyline/telemetry/telemetry.h"
#include "tolaria/run/microbatch_parts.h"
#include "tolaria/run/save_schedule.h"

namespace esper::tolaria {

using base::Owner;
using step::Microbatch;
using When = StepWatch::When;
using namespace leyline::literals;

namespace {

// For a drill.
void spoil(std::vector<Microbatch>& microbatches) {
  auto& inputs = microbatches.front().inputs;
  if (inputs.is_floating_point()) inputs = at::full_like(inputs, std::numeric_limits<double>::quiet_NaN());
}

std::string pinned_refusal(const RunData& data) {
  std::string reason = data.train.pinned_refusal();
  return reason.empty() ? data.validation.pinned_refusal() : reason;
}

lanes::RunnerServices runner_services(Run& run) {
  return {{.compile_service = run.lanes.compile_service,
           .ledger = &run.ledger,
           .clock = run.facts.clock,
           .emit = [&outbox = run.outbox](leyline::TelemetryEvent event) { outbox.emit(std::move(event)); },
           .send = [&outbox = run.outbox] { outbox.flush(); }},
          [&saver = run.saver](std::string record) { saver.record(std::move(record)); },
          run.lanes.log,
          run.lanes.build,
          run.facts.config.growth,
          {}};
}

}  // namespace

EpochTrainer::EpochTrainer(Run& run, GoodState& good_state)
    : run_(run),
      good_state_(good_state),
      runner_(run.model, run.facts.config.step, run.facts.device, runner_services(run)),
      step_(run, runner_),
      batches_(run.data.train, run.facts.device, run.facts.config.step.accumulation,
               look_ahead_for(run.facts.config.data, run.facts.device, run.data.train), run.ledger),
      failure_(run.facts, run.progress),
      keeps_examples_(run.facts.config.step.lane == config::Lane::kCompiled && !run.lanes.log.empty() &&
                      run.facts.config.step.compile.ahead > 0 && run.lanes.build != nullptr) {
  runner_.compare_at(run.progress.safety.compared_steps);
}

void EpochTrainer::rolled_back() {
  runner_.compare_at(run_.progress.safety.compared_steps);
  runner_.rolled_back(run_.progress.step);
}

void EpochTrainer::advance_cursor(const std::vector<Microbatch>& microbatches) {
  RunProgress& progress = run_.progress;
  progress.batch += static_cast<std::int64_t>(microbatches.size());
  ++progress.step;
  run_.display.step.store(static_cast<std::uint64_t>(run_.facts.steps_of(progress.batch)), std::memory_order_relaxed);
}

void EpochTrainer::report_pageable_batches(const std::string& reason) {
  if (reason.empty() || std::exchange(has_reported_pageable_, true)) return;
  run_.outbox.emit(
      leyline::event("tolaria.pinned_memory_refused"_event, leyline::Level::kWarning, {{"reason", reason}}));
}

void EpochTrainer::keep_examples() {
  const auto& facts = run_.facts;
  const auto last_step = facts.steps_per_epoch() - 1;
  const auto parts = run_.progress.safety.parts_at(run_.progress.step);
  std::vector<Microbatch> microbatches;
  for (const std::int64_t step : {std::int64_t{0}, last_step}) {
    batches_.begin_epoch(run_.progress.epoch, step * facts.config.step.accumulation);
    batches_.next(microbatches);
    if (!microbatches.empty())
      runner_.structure_changes().keep_example(in_parts(microbatches, parts), steps_left_of_shape(microbatches, run_));
  }
}

void EpochTrainer::begin_epoch() {
  batches_.begin_epoch(run_.progress.epoch, run_.progress.batch);
  step_.begin_epoch();
}

bool EpochTrainer::train_up_to(std::int64_t step) {
  const base::LedgerScope computing(run_.ledger, Owner::kCompute);
  const auto unrecorded = runner_.unrecorded();
  begin_epoch();
  std::vector<Microbatch> microbatches;
  for (batches_.next(microbatches); !microbatches.empty(); batches_.next(microbatches)) {
    base::fault::signal_point("tolaria.training");
    if (run_.progress.step == step) return true;
    if (base::Interrupt::requested() != 0) return false;
    if (run_.progress.safety.skips_step(run_.progress.step)) {
      step_.pass_over(microbatches);
    } else if (const auto result = step_.train(microbatches); result.failure || result.is_stopped) {
      return false;
    }
    advance_cursor(microbatches);
    batches_.look_ahead();
  }
  return false;
}

std::optional<TrainedEpoch> EpochTrainer::train() {
  const base::LedgerScope computing(run_.ledger, Owner::kCompute);
  run_.display.phase = leyline::Phase::kTraining;
  const base::Clock& clock = run_.facts.clock;
  const auto begin = clock.now();
  const auto wait_before = run_.ledger.so_far(Owner::kLoaderWait);
  if (std::exchange(keeps_examples_, false)) keep_examples();
  begin_epoch();
  failure_.begin_epoch(good_state_.has_growing_seeds() ? EpochFailure::Seeds::kGrow : EpochFailure::Seeds::kNone);
  steady_bits_.copied();  // at the end of the epoch before, or of the return to it
  TrainedEpoch trained;
  std::vector<Microbatch> microbatches;
  device::KernelTrace* const kernel_trace = run_.records.kernel_trace;
  // The process's first epoch is that of lanes that are tried.
  if (kernel_trace != nullptr && std::exchange(has_trained_, true)) kernel_trace->begin();
  for (batches_.next(microbatches); !microbatches.empty(); batches_.next(microbatches)) {
    base::fault::signal_point("tolaria.training");
    if (!train_step(microbatches, trained)) return std::nullopt;
    advance_cursor(microbatches);
    batches_.look_ahead();
    if (!end_step(microbatches)) return std::nullopt;
  }
  if (base::Interrupt::requested() != 0) return std::nullopt;
  if (run_.facts.device.is_cuda()) device::cuda().synchronize(run_.facts.device.index());
  runner_.record_epoch();
  trained.lanes = runner_.figures();
  trained.train_ms = base::milliseconds(clock.now() - begin);
  trained.loader_wait_ms = base::milliseconds(run_.ledger.so_far(Owner::kLoaderWait) - wait_before);
  trained.copies = batches_.take_times();
  trained.pinned_refusal = pinned_refusal(run_.data);
  report_pageable_batches(trained.pinned_refusal);
  step_.add_learning_rates(trained);
  return trained;
}

bool EpochTrainer::train_step(std::vector<Microbatch>& microbatches, TrainedEpoch& trained) {
  if (auto* bundles = run_.records.bundles) bundles->write_if_due(run_.progress.step);
  if (!failure_.of_epoch().empty() || run_.progress.safety.skips_step(run_.progress.step)) {
    step_.pass_over(microbatches);
    return true;
  }
  if (base::fault::hit("tolaria.nan_input")) spoil(microbatches);
  auto result = step_.train(microbatches);
  failure_.record(std::move(result.failure));
  if (result.is_stopped) failure_.record(step_.look_back(When::kNow));
  if (failure_.of_step() || result.is_stopped) return false;
  for (const auto& microbatch : microbatches) trained.samples += microbatch.inputs.size(0);
  return true;
}

bool EpochTrainer::end_step(const std::vector<Microbatch>& microbatches) {
  const bool is_last = run_.progress.batch == run_.facts.batches_per_epoch;
  if (auto* kernel_trace = run_.records.kernel_trace) kernel_trace->step_over(is_last);
  const bool copies = failure_.rolls_back_steps() && is_whole_step(microbatches, run_.facts.config) &&
                      steady_bits_.wants_copy(runner_.bits());
  const bool saves = is_save_due_after_step(run_.facts, run_.progress) && !run_.progress.safety.is_suspect();
  const bool interrupted = base::Interrupt::requested() != 0;
  if (failure_.of_epoch().empty()) {
    const bool must_know = copies || saves || interrupted || is_last;
    failure_.record(step_.look_back(must_know ? When::kNow : When::kIfDue));
  }
  if (failure_.of_step() || interrupted) return false;
  if (!failure_.of_epoch().empty()) return true;
  if (copies || (saves && failure_.rolls_back_steps())) {
    good_state_.take_snapshot();
    steady_bits_.copied();
  }
  if (saves) {
    run_.saver.save(good_state_.snapshot_of_now());
    run_.display.phase = leyline::Phase::kTraining;
  }
  return true;
}

// The end of the last epoch has nothing to prepare.
void EpochTrainer::prepare_structures() {
  const auto& config = run_.facts.config;
  const auto& network = run_.model.network;
  const auto epochs_left = static_cast<std::int64_t>(config.epochs) - run_.progress.epoch;
  const auto limit = static_cast<std::size_t>(config.step.compile.ahead);
  if (epochs_left < 2 || limit == 0 || !run_.lanes.build) return;
  const config::Evidence evidence = config.growth.gates.evidence;
  const lanes::GrowthForecast growth_forecast{kasmina::export_seed_states(network.state()),
                                              kasmina::export_slots(network.state()),
                                              evidence == config::Evidence::kControl ? 1 : config.growth.max_seeds,
                                              run_.policy.state(),
                                              config.growth.training == config::SeedTraining::kShadow,
                                              evidence == config::Evidence::kNone};
  runner_.structure_changes().prepare(likely_changes(growth_forecast, limit, run_.lanes.forecast),
                                      epochs_left * run_.facts.steps_per_epoch());
}

}  // namespace esper::tolaria
