#include "tolaria/epoch_trainer.h"

#include <torch/types.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "base/interrupt.h"
#include "base/signal_point.h"
#include "base/text/rounding.h"
#include "device/cuda_table.h"
#include "device/failing_memory.h"
#include "device/out_of_memory.h"
#include "kasmina/network/network_seeds.h"
#include "tolaria/run/microbatch_parts.h"
#include "tolaria/run/save_schedule.h"

namespace esper::tolaria {

using base::Owner;
using step::Microbatch;
using When = StepWatch::When;

namespace {

constexpr auto kDrillDelay = std::chrono::seconds(2);

// For a drill.
void spoil(std::vector<Microbatch>& microbatches) {
  auto& inputs = microbatches.front().inputs;
  if (inputs.is_floating_point()) inputs = at::full_like(inputs, std::numeric_limits<double>::quiet_NaN());
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
      setup_(run.facts, run.model),
      runner_(run.model, run.facts.config.step, run.facts.device, runner_services(run)),
      batches_(run.data.train, run.facts.device, run.facts.config.step.accumulation,
               look_ahead_for(run.facts.config.data, run.facts.device, run.data.train), run.ledger),
      watch_(run.facts, run.model, run.progress, run.outbox),
      recorder_(run.facts, run.progress, run.model.state, run.black_box) {}

// Not the epoch's last one, where that is shorter.
bool EpochTrainer::is_whole(const std::vector<Microbatch>& microbatches) const {
  const auto& config = run_.facts.config;
  return static_cast<int>(microbatches.size()) == config.step.accumulation &&
         microbatches.back().inputs.size(0) == config.data.batch_size;
}

// Remaining steps of this shape in the run: one per epoch if it is the epoch's last, which may be shorter.
std::int64_t EpochTrainer::steps_left(const std::vector<Microbatch>& microbatches) const {
  const std::int64_t epochs_left = run_.facts.config.epochs - run_.progress.epoch;
  return is_whole(microbatches) ? epochs_left * run_.facts.steps_per_epoch() : epochs_left;
}

std::optional<TrainingFailure> EpochTrainer::train_step(const std::vector<Microbatch>& microbatches,
                                                        std::int64_t steps_left) {
  const device::FailingSteps failing_steps;
  try {
    const std::int64_t parts = run_.progress.safety.parts_at(run_.progress.step);
    if (parts == 1) return run_step(microbatches, microbatches, steps_left);
    return run_step(microbatches, in_parts(microbatches, parts), steps_left);
  } catch (const std::exception& error) {
    const std::string reason = device::out_of_memory_message(error);
    if (reason.empty()) throw;
    return TrainingFailure{FailureKind::kOutOfMemory, run_.progress.step, reason};
  }
}

std::optional<TrainingFailure> EpochTrainer::run_step(const std::vector<Microbatch>& microbatches,
                                                      const std::vector<Microbatch>& used, std::int64_t steps_left) {
  const base::Clock& clock = run_.facts.clock;
  const std::int64_t step = run_.progress.step;
  const bool watched = runner_.is_watching();
  const bool timed = run_.step_times || watched;
  if (timed) wait_for_device();
  const auto begin = timed ? clock.now() : base::Duration{};
  run_.ledger.begin_step();
  const double rate_factor = run_.progress.safety.rate_factor(step);
  setup_.prepare(step, rate_factor, used);
  recorder_.begin();
  is_stopped_ = !runner_.step(used, {step, steps_left});
  if (is_stopped_) return std::nullopt;
  if (base::fault::hit("tolaria.step_memory")) throw std::bad_alloc();
  if (base::fault::hit("tolaria.step_slow")) std::this_thread::sleep_for(kDrillDelay);
  if (timed) wait_for_device();
  run_.ledger.end_step(step);
  if (watched) runner_.record_step_time(clock.now() - begin);
  if (run_.step_times) run_.step_times->push_back({begin, clock.now()});
  recorder_.end(microbatches, run_.facts.learning_rate(step) * rate_factor, {runner_.figures().in_use, runner_.bits()});
  auto failure = watch_.look_at(step, used);
  if (failure && run_.bundles) run_.bundles->keep(*failure, used, runner_.figures().in_use);
  return failure;
}

// On a card a step is only queued when it returns.
void EpochTrainer::wait_for_device() const {
  if (run_.facts.device.is_cuda()) device::cuda().synchronize(run_.facts.device.index());
}

void EpochTrainer::save() {
  run_.saver.save();
  run_.display.phase = leyline::Phase::kTraining;
}

void EpochTrainer::record_failure(std::optional<TrainingFailure> failure, bool can_roll_back) {
  if (failure && !can_roll_back && failure->kind != FailureKind::kOutOfMemory) {
    nonfinite_reason_ = failure->reason;
  } else {
    failure_ = std::move(failure);
  }
}

void EpochTrainer::advance_cursor(const std::vector<Microbatch>& microbatches) {
  RunProgress& progress = run_.progress;
  progress.batch += static_cast<std::int64_t>(microbatches.size());
  ++progress.step;
  run_.display.step.store(static_cast<std::uint64_t>(run_.facts.steps_of(progress.batch)), std::memory_order_relaxed);
}

void EpochTrainer::begin_epoch() {
  batches_.begin_epoch(run_.progress.epoch, run_.progress.batch);
  setup_.follow_network();
  failure_.reset();
  watch_.begin_epoch(run_.progress.step);
}

bool EpochTrainer::train_up_to(std::int64_t step) {
  const base::LedgerScope computing(run_.ledger, Owner::kCompute);
  begin_epoch();
  std::vector<Microbatch> microbatches;
  for (batches_.next(microbatches); !microbatches.empty(); batches_.next(microbatches)) {
    base::fault::signal_point("tolaria.training");
    if (run_.progress.step == step) return true;
    if (base::Interrupt::requested() != 0) return false;
    if (run_.progress.safety.skips_step(run_.progress.step)) {
      recorder_.pass_over(microbatches);
    } else if (train_step(microbatches, steps_left(microbatches)) || is_stopped_) {
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
  begin_epoch();
  nonfinite_reason_.clear();
  const bool can_roll_back = !good_state_.has_growing_seeds();
  steady_bits_.copied();  // at the end of the epoch before, or of the return to it
  TrainedEpoch trained;
  std::vector<Microbatch> microbatches;
  // The process's first epoch is that of lanes that are tried.
  if (run_.kernel_trace != nullptr && std::exchange(has_trained_, true)) run_.kernel_trace->begin();
  for (batches_.next(microbatches); !microbatches.empty(); batches_.next(microbatches)) {
    base::fault::signal_point("tolaria.training");
    if (run_.bundles) run_.bundles->write_if_due(run_.progress.step);
    if (!nonfinite_reason_.empty() || run_.progress.safety.skips_step(run_.progress.step)) {
      recorder_.pass_over(microbatches);
    } else {
      if (base::fault::hit("tolaria.nan_input")) spoil(microbatches);
      record_failure(train_step(microbatches, steps_left(microbatches)), can_roll_back);
      if (is_stopped_) record_failure(watch_.look_back(run_.progress.step, When::kNow), can_roll_back);
      if (failure_ || is_stopped_) return std::nullopt;
      for (const auto& microbatch : microbatches) trained.samples += microbatch.inputs.size(0);
    }
    advance_cursor(microbatches);
    batches_.look_ahead();
    const bool is_last = run_.progress.batch == run_.facts.batches_per_epoch;
    if (run_.kernel_trace != nullptr) run_.kernel_trace->step_over(is_last);
    const bool copies = can_roll_back && is_whole(microbatches) && steady_bits_.wants_copy(runner_.bits());
    const bool saves = is_save_due_after_step(run_.facts, run_.progress) && !run_.progress.safety.is_suspect();
    const bool interrupted = base::Interrupt::requested() != 0;
    if (nonfinite_reason_.empty()) {
      const bool must_know = copies || saves || interrupted || is_last;
      record_failure(watch_.look_back(run_.progress.step, must_know ? When::kNow : When::kIfDue), can_roll_back);
    }
    if (failure_ || interrupted) return std::nullopt;
    if (!nonfinite_reason_.empty()) continue;
    if (copies || (saves && can_roll_back)) {
      good_state_.take_snapshot();
      steady_bits_.copied();
    }
    if (saves) save();
  }
  if (base::Interrupt::requested() != 0) return std::nullopt;
  wait_for_device();
  runner_.record_epoch();
  trained.lanes = runner_.figures();
  trained.train_ms = base::milliseconds(clock.now() - begin);
  trained.loader_wait_ms = base::milliseconds(run_.ledger.so_far(Owner::kLoaderWait) - wait_before);
  trained.copies = batches_.take_times();
  const auto last_step = std::max<std::int64_t>(run_.progress.step - 1, 0);
  trained.learning_rate = run_.facts.learning_rate(last_step) * run_.progress.safety.rate_factor(last_step);
  trained.learning_rates = setup_.learning_rates(last_step, run_.progress.safety.rate_factor(last_step));
  return trained;
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
  runner_.prepare(likely_changes(growth_forecast, limit, run_.lanes.forecast),
                  epochs_left * run_.facts.steps_per_epoch());
}

}  // namespace esper::tolaria
