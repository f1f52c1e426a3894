#include "tolaria/epoch_trainer.h"

#include <torch/types.h>

#include <algorithm>
#include <atomic>

#include "base/interrupt.h"
#include "base/text/rounding.h"
#include "device/cuda_table.h"
#include "kasmina/network/network_seeds.h"

namespace esper::tolaria {

using base::Owner;
using step::Microbatch;

namespace {

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

EpochTrainer::EpochTrainer(Run& run)
    : run_(run),
      setup_(run.facts, run.model),
      runner_(run.model, run.facts.config.step, run.facts.device, runner_services(run)),
      batches_(run.data.train, run.facts.device, run.facts.config.step.accumulation,
               look_ahead_for(run.facts.config.data, run.facts.device, run.data.train), run.ledger) {}

// Remaining steps of this shape in the run: one per epoch if it is the epoch's last, which may be shorter.
std::int64_t EpochTrainer::steps_left(const std::vector<Microbatch>& microbatches) const {
  const auto& config = run_.facts.config;
  const std::int64_t epochs_left = config.epochs - run_.progress.epoch;
  const bool whole = static_cast<int>(microbatches.size()) == config.step.accumulation &&
                     microbatches.back().inputs.size(0) == config.data.batch_size;
  return whole ? epochs_left * run_.facts.steps_per_epoch() : epochs_left;
}

void EpochTrainer::train_step(const std::vector<Microbatch>& microbatches) {
  const base::Clock& clock = run_.facts.clock;
  const std::int64_t step = run_.progress.step;
  const bool watched = runner_.is_watching();
  const auto begin = run_.step_times || watched ? clock.now() : base::Duration{};
  run_.ledger.begin_step();
  setup_.prepare(step, microbatches);
  runner_.step(microbatches, {step, steps_left(microbatches)});
  run_.ledger.end_step(step);
  if (watched) runner_.record_step_time(clock.now() - begin);
  if (run_.step_times) run_.step_times->push_back({begin, clock.now()});
}

void EpochTrainer::advance_cursor(const std::vector<Microbatch>& microbatches) {
  const std::int64_t accumulation = run_.facts.config.step.accumulation;
  RunProgress& progress = run_.progress;
  progress.batch += static_cast<std::int64_t>(microbatches.size());
  ++progress.step;
  const auto steps = static_cast<std::uint64_t>((progress.batch + accumulation - 1) / accumulation);
  run_.display.step.store(steps, std::memory_order_relaxed);
}

std::optional<TrainedEpoch> EpochTrainer::train() {
  const base::LedgerScope computing(run_.ledger, Owner::kCompute);
  run_.display.phase = leyline::Phase::kTraining;
  const base::Clock& clock = run_.facts.clock;
  const auto begin = clock.now();
  const auto wait_before = run_.ledger.so_far(Owner::kLoaderWait);
  batches_.begin_epoch(run_.progress.epoch, run_.progress.batch);
  setup_.follow_network();
  TrainedEpoch trained;
  std::vector<Microbatch> microbatches;
  for (batches_.next(microbatches); !microbatches.empty(); batches_.next(microbatches)) {
    train_step(microbatches);
    for (const auto& [inputs, targets] : microbatches) trained.samples += inputs.size(0);
    advance_cursor(microbatches);
    if (base::Interrupt::requested() != 0) return std::nullopt;
    if (run_.saver.is_due_after_step()) run_.saver.save();
  }
  if (run_.facts.device.is_cuda()) device::cuda().synchronize(run_.facts.device.index());
  runner_.record_epoch();
  trained.lanes = runner_.figures();
  trained.train_ms = base::milliseconds(clock.now() - begin);
  trained.loader_wait_ms = base::milliseconds(run_.ledger.so_far(Owner::kLoaderWait) - wait_before);
  trained.copies = batches_.take_times();
  const auto last_step = std::max<std::int64_t>(run_.progress.step - 1, 0);
  trained.learning_rate = run_.facts.learning_rate(last_step);
  trained.learning_rates = setup_.learning_rates(last_step);
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
