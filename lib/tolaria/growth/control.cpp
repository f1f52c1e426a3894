#include "tolaria/growth/control.h"

#include <fmt/core.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <vector>

#include "base/interrupt.h"
#include "base/text/rounding.h"
#include "device/asynchronous_error.h"
#include "device/out_of_memory.h"
#include "kasmina/network/network_seeds.h"
#include "kasmina/seed/lifecycle.h"
#include "lanes/lane/step_external_tensors.h"
#include "tolaria/evaluation/averaged_model.h"
#include "tolaria/evaluation/validation_pass.h"
#include "tolaria/growth/worth.h"
#include "tolaria/run/batch_source.h"
#include "tolaria/run/microbatch_parts.h"
#include "tolaria/run/step_setup.h"

namespace esper::tolaria {
namespace {

using step::Microbatch;

// `work` may train the model; then it is as it was. On a GPU that is lost it cannot be, and the error of `work` says
// why.
template <class Work>
void on_excursion(const step::Model& model, torch::Device device, const Work& work) {
  const lanes::StepSnapshot before(model, device);
  try {
    work();
  } catch (const std::exception& error) {
    if (!device::is_asynchronous_error(error.what())) before.restore();
    throw;
  }
  before.restore();
}

class ControlTrainer {
 public:
  // Borrows all. Counts in `steps`, which stays right if a step throws.
  ControlTrainer(const Evaluation& evaluation, const RunProgress& start, std::int64_t& steps)
      : evaluation_(evaluation),
        start_(start),
        setup_(evaluation.facts, evaluation.model),
        forward_(step::training_forward(evaluation.model.network)),
        steps_(steps),
        batches_(evaluation.train, evaluation.facts.device, evaluation.facts.config.step.accumulation, LookAhead::kNone,
                 unaccounted_),
        queued_(queued_steps(evaluation.facts.device)) {
    setup_.follow_network();
  }

  // Both return false if a signal ended it.
  bool train_epoch() {
    step::Model& model = evaluation_.model;
    batches_.begin_epoch(start_.epoch + epochs_++, 0);
    std::vector<Microbatch> microbatches;
    for (batches_.next(microbatches); !microbatches.empty(); batches_.next(microbatches)) {
      const std::int64_t step = start_.step + steps_;
      const auto used = in_parts(microbatches, start_.safety.parts_at(step));
      setup_.prepare(step, start_.safety.rate_factor(step), used);
      ++steps_;
      step::train_step(model.state, model.settings, used, forward_);
      queued_.add();
      if (base::Interrupt::requested() != 0) return false;
    }
    return base::Interrupt::requested() == 0;
  }
  // Of the last step.
  double learning_rate() const {
    const std::int64_t step = start_.step + steps_ - 1;
    return evaluation_.facts.learning_rate(step) * start_.safety.rate_factor(step);
  }
  bool validate(ValidationResult& result) {
    const auto& [model, data, batches, facts, ledger, forward] = evaluation_;
    const AveragedModel averaged(model, batches, facts.config, facts.device);
    result = validation_pass(model, data, facts.device, PerSample::kKept, Figures::kScore);
    return result.complete;
  }

 private:
  const Evaluation& evaluation_;
  const RunProgress& start_;  // between two epochs
  StepSetup setup_;
  step::TrainingForward forward_;
  std::int64_t epochs_ = 0;  // trained
  std::int64_t& steps_;
  base::Ledger unaccounted_;  // waiting for batches is the control's time, too
  BatchSource batches_;
  device::QueuedWork queued_;
};

SeedControl control_of(const std::vector<SampleFigures>& epochs, const kasmina::Network& network) {
  SeedControl control;
  std::vector<torch::Tensor> loss, correct;
  for (const auto& samples : epochs) {
    loss.push_back(samples.loss);
    correct.push_back(samples.correct);
  }
  control.loss = at::stack(loss);
  control.correct = at::stack(correct);
  control.others = describe_seeds(network);
  return control;
}

// The part of the run's planned steps that is left for controls.
double steps_left(const RunFacts& facts, const RunProgress& progress) {
  const auto planned = static_cast<double>(facts.steps_per_epoch() * facts.config.epochs);
  return facts.config.growth.control.budget * planned - static_cast<double>(progress.control.steps);
}

// Leaves the model trained.
void train(const Evaluation& evaluation, const RunProgress& progress, std::uint32_t epochs, TrainedControl& done) {
  using End = TrainedControl::End;
  std::vector<SampleFigures> figures;
  std::vector<double> learning_rates;
  ControlTrainer trainer(evaluation, progress, done.steps);
  while (figures.size() < epochs) {
    ValidationResult result;
    if (!trainer.train_epoch() || !trainer.validate(result)) {
      done.end = End::kInterrupted;
      return;
    }
    if (!std::isfinite(result.loss)) {
      done.shortened = fmt::format("the control's validation loss was not finite in epoch {}", figures.size() + 1);
      break;
    }
    figures.push_back(std::move(result.by_sample));
    learning_rates.push_back(trainer.learning_rate());
  }
  if (figures.empty()) {
    done.rejection = {"control_diverged", done.shortened + ", so there is nothing to compare the seed with"};
    return;
  }
  done.control = control_of(figures, evaluation.model.network);
  done.control.learning_rates = std::move(learning_rates);
  done.end = End::kTrained;
}

// Until the host learns in other places: a control stays as it is.
double epochs_until_unfrozen(const RunFacts& facts, const RunProgress& progress) {
  const auto& host = facts.config.host;
  const auto left = static_cast<double>(host.unfreeze_epoch) - progress.epoch;
  return host.freeze.empty() || left <= 0 ? std::numeric_limits<double>::infinity() : left;
}

}  // namespace

base::Expected<std::uint32_t, NoControl> control_length(const RunFacts& facts, const RunProgress& progress) {
  const auto& config = facts.config;
  const auto epochs_left = static_cast<double>(config.epochs) - progress.epoch;
  if (epochs_left <= 0) return base::failure(NoControl{"no_epochs_left", "the run is over: no epoch is left to train"});
  const double left = steps_left(facts, progress), per_epoch = static_cast<double>(facts.steps_per_epoch());
  constexpr double kRounding = 1e-9;  // 0.29 of 100 epochs are 28.999...
  const double affordable = std::floor(left / per_epoch + kRounding);
  if (affordable < 1) {
    return base::failure(NoControl{
        "no_control_budget",
        fmt::format("growth.control.budget of {:g} leaves {:g} steps for the seed's control, and an epoch has {:g}; "
                    "raise it, lower growth.control.epochs for the seeds before, or choose another "
                    "growth.gates.evidence",
                    config.growth.control.budget, std::max(left, 0.0), per_epoch)});
  }
  return static_cast<std::uint32_t>(std::min({affordable, epochs_left, epochs_until_unfrozen(facts, progress),
                                              static_cast<double>(config.growth.control.epochs)}));
}

base::Expected<std::uint32_t, NoControl> check_control(const RunFacts& facts, const RunProgress& progress,
                                                       const kasmina::Network& network) {
  const auto seeds = kasmina::export_seed_states(network.state());
  const auto growing = std::ranges::find_if(seeds, [](const auto& seed) { return kasmina::is_growing(seed.stage); });
  if (growing == seeds.end()) return control_length(facts, progress);
  return base::failure(NoControl{
      "one_at_a_time", fmt::format("with growth.gates.evidence: control seeds grow one at a time, and {} is growing",
                                   growing->seed_id)});
}

TrainedControl train_control(const Evaluation& evaluation, const RunProgress& progress) {
  const auto& [model, data, batches, facts, ledger, forward] = evaluation;
  const base::LedgerScope training(ledger, base::Owner::kControl);
  TrainedControl done;
  const auto length = check_control(facts, progress, model.network);
  if (!length) {
    done.rejection = length.error();
    return done;
  }
  const auto begin = facts.clock.now();
  try {
    on_excursion(model, facts.device, [&] { train(evaluation, progress, *length, done); });
  } catch (const std::exception& error) {
    const std::string lack = device::out_of_memory_message(error);
    if (lack.empty()) throw;
    done.rejection = {"out_of_memory", "the seed's control: " + lack};
  }
  done.took_ms = base::milliseconds(facts.clock.now() - begin);
  return done;
}

}  // namespace esper::tolaria
