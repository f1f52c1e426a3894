#include "tolaria/step_trainer.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <thread>

#include "base/signal_point.h"
#include "device/cuda_table.h"
#include "device/failing_memory.h"
#include "device/out_of_memory.h"
#include "tolaria/run/microbatch_parts.h"

namespace esper::tolaria {

using step::Microbatch;

namespace {

constexpr auto kSlowStepDrill = std::chrono::seconds(2);

// On a GPU a step is only queued when it returns.
void wait_for_step(const torch::Device& device) {
  if (device.is_cuda()) device::cuda().synchronize(device.index());
}

}  // namespace

bool is_whole_step(const std::vector<Microbatch>& microbatches, const config::RunConfig& config) {
  return static_cast<int>(microbatches.size()) == config.step.accumulation &&
         microbatches.back().inputs.size(0) == config.data.batch_size;
}

std::int64_t steps_left_of_shape(const std::vector<Microbatch>& microbatches, const Run& run) {
  const std::int64_t epochs_left = run.facts.config.epochs - run.progress.epoch;
  return is_whole_step(microbatches, run.facts.config) ? epochs_left * run.facts.steps_per_epoch() : epochs_left;
}

StepTrainer::StepTrainer(Run& run, lanes::StepRunner& runner)
    : run_(run),
      runner_(runner),
      setup_(run.facts, run.model),
      watch_(run.facts, run.model, run.progress, run.outbox),
      recorder_(run.facts, run.progress, run.model.state, run.records.black_box),
      queued_(queued_steps(run.facts.device)) {}

void StepTrainer::begin_epoch() {
  setup_.follow_network();
  watch_.begin_epoch(run_.progress.step);
}

StepTrainer::Result StepTrainer::train(const std::vector<Microbatch>& microbatches) {
  const device::FailingSteps failing_steps;
  try {
    const std::int64_t parts = run_.progress.safety.parts_at(run_.progress.step);
    if (parts == 1) return run_step(microbatches, microbatches);
    return run_step(microbatches, in_parts(microbatches, parts));
  } catch (const std::exception& error) {
    const std::string reason = device::out_of_memory_message(error);
    if (reason.empty()) throw;
    return {TrainingFailure{FailureKind::kOutOfMemory, run_.progress.step, reason}};
  }
}

StepTrainer::Result StepTrainer::run_step(const std::vector<Microbatch>& microbatches,
                                          const std::vector<Microbatch>& used) {
  const auto& [black_box, bundles, times, kernel_trace] = run_.records;
  const base::Clock& clock = run_.facts.clock;
  const std::int64_t step = run_.progress.step;
  lanes::SwapWatch& watch = runner_.structure_changes().watch();
  const bool watched = watch.is_on();
  const bool timed = times != nullptr || watched;
  if (timed) wait_for_step(run_.facts.device);
  const auto begin = timed ? clock.now() : base::Duration{};
  base::LedgerStep in_ledger(run_.ledger);
  const double rate_factor = run_.progress.safety.rate_factor(step);
  setup_.prepare(step, rate_factor, used);
  recorder_.begin();
  if (!runner_.step(used, {step, steps_left_of_shape(microbatches, run_)})) return {.is_stopped = true};
  if (base::fault::hit("tolaria.step_memory")) throw std::bad_alloc();
  if (base::fault::hit("tolaria.step_slow")) std::this_thread::sleep_for(kSlowStepDrill);
  if (timed) wait_for_step(run_.facts.device);
  in_ledger.end(step);
  if (watched) watch.record_step_time(clock.now() - begin);
  if (times != nullptr) times->push_back({begin, clock.now()});
  recorder_.end(microbatches, run_.facts.learning_rate(step) * rate_factor, {runner_.figures().in_use, runner_.bits()});
  queued_.add();
  auto failure = watch_.look_at(step, used);
  if (failure) failure->ran_compiled = runner_.ran_compiled();
  if (failure && bundles != nullptr) bundles->keep(*failure, used, runner_.figures().in_use);
  return {std::move(failure)};
}

std::optional<TrainingFailure> StepTrainer::look_back(StepWatch::When when) {
  auto failure = watch_.look_back(run_.progress.step, when);
  if (failure) failure->ran_compiled = runner_.epoch_ran_compiled();
  return failure;
}

void StepTrainer::add_learning_rates(TrainedEpoch& trained) {
  const auto last_step = std::max<std::int64_t>(run_.progress.step - 1, 0);
  const double rate_factor = run_.progress.safety.rate_factor(last_step);
  trained.learning_rate = run_.facts.learning_rate(last_step) * rate_factor;
  trained.learning_rates = setup_.learning_rates(last_step, rate_factor);
}

}  // namespace esper::tolaria
