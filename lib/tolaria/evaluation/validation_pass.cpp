#include "tolaria/evaluation/validation_pass.h"

#include <torch/types.h>

#include <array>
#include <memory>

#include "base/interrupt.h"
#include "device/queued_work.h"
#include "device/staging.h"
#include "kasmina/network/network_stacked.h"

namespace esper::tolaria {

using base::Interrupt;
using step::Microbatch;
using step::Model;

namespace {

bool signalled() { return Interrupt::requested() != 0; }

// How far the host may be ahead of a GPU, in batches, each of which takes memory there.
constexpr std::size_t kMostAhead = 4;

// From the beginning of the data, on the device. The host only queues: the copy of a batch runs beside the forwards of
// those before.
NextBatch batches_of(data::Loader& loader, torch::Device device) {
  loader.seek(0, 0);
  const auto staging = std::make_shared<device::Staging>(device, device::Staging::Stream::kSide);
  const auto queued = std::make_shared<device::QueuedWork>(kMostAhead, base::Duration{}, device);
  return [&loader, device, staging, queued]() -> std::optional<Microbatch> {
    queued->add();  // the batch before
    const auto batch = loader.next();
    if (!batch) return std::nullopt;
    if (batch->inputs.device() == device) return Microbatch{batch->inputs, batch->targets};
    auto copied = staging->take(staging->start(std::array{batch->inputs, batch->targets}));
    return Microbatch{std::move(copied[0]), std::move(copied[1])};
  };
}

}  // namespace

ValidationResult validation_pass(const Model& model, data::Loader& loader, torch::Device device, PerSample samples,
                                 Figures figures, lanes::EvaluationForward* forward) {
  const auto outputs_of = [&](const torch::Tensor& inputs) {
    return forward != nullptr ? (*forward)(inputs) : model.network.forward(inputs, kasmina::Mode::kEvaluate);
  };
  const Scoring scoring = scoring_of(model.settings);
  auto result =
      validate(batches_of(loader, device), outputs_of,
               {device, model.settings.compute_type, signalled, samples, scoring, figures, loader.target_deviation()});
  if (signalled()) result.complete = false;
  return result;
}

StackedResult stacked_pass(const Evaluation& evaluation, const std::vector<kasmina::Configuration>& configurations,
                           const std::function<bool()>& should_stop) {
  const auto& [model, loader, train, facts, ledger, forward] = evaluation;
  const auto plan = kasmina::plan_stacked(model.network.state(), configurations);
  const auto stop = [&] { return signalled() || (should_stop && should_stop()); };
  auto result = validate_stacked(
      batches_of(loader, facts.device), {model.network, plan, facts.config.growth.counterfactual.max_rows},
      {facts.device, model.settings.compute_type, stop, PerSample::kKept, scoring_of(model.settings), Figures::kScore});
  if (signalled()) result.complete = false;
  return result;
}

}  // namespace esper::tolaria
