#include "tolaria/measure.h"

#include <torch/types.h>

#include "kasmina/network.h"
#include "tolaria/ema.h"
#include "tolaria/interrupt.h"

namespace esper::tolaria {

ValidationResult validation_pass(const Model& model, data::Loader& loader, torch::Device device) {
  loader.seek(0, 0);
  const auto next = [&]() -> std::optional<Microbatch> {
    const auto batch = loader.next();
    if (!batch) return std::nullopt;
    return Microbatch{batch->inputs.to(device), batch->targets.to(device)};
  };
  const auto forward = [&](const torch::Tensor& inputs) {
    return model.network.forward(inputs, kasmina::Mode::kEvaluate);
  };
  return validate(next, forward, {device, model.settings.compute_type, [] { return Interrupt::requested() != 0; }});
}

Measurements measure_epoch(Run& run) {
  const leyline::LedgerScope validating(run.ledger, leyline::Owner::kValidation);
  Measurements measured;
  const EmaScope averaged(run.model.state);
  const auto begin = run.clock.now();
  measured.running = validation_pass(run.model, run.validation_data, run.device);
  measured.running_ms = std::chrono::duration<double, std::milli>(run.clock.now() - begin).count();

  const auto measure_with = [&](const std::string& seed_id, double alpha, std::map<std::string, double>& out) {
    if (measured.interrupted) return;
    const kasmina::AlphaOverride override(run.model.network, seed_id, alpha);
    const ValidationResult pass = validation_pass(run.model, run.validation_data, run.device);
    if (pass.complete) out[seed_id] = pass.accuracy;
    measured.interrupted = !pass.complete;
  };
  measured.interrupted = !measured.running.complete;
  for (const auto& seed_id : run.model.network.seeds_to_measure())
    measure_with(seed_id, 0.0, measured.accuracy_without);
  for (const auto& seed_id : run.model.network.seeds_to_shadow()) measure_with(seed_id, 1.0, measured.accuracy_at_full);
  return measured;
}

}  // namespace esper::tolaria
