#include "tolaria/run/save_schedule.h"

#include "kasmina/network/network_seeds.h"

namespace esper::tolaria {

bool is_save_due_after_step(const RunFacts& facts, const RunProgress& progress) {
  const auto& every = facts.config.checkpoint.every;
  return every.unit == base::Length::Unit::kSteps && every.count > 0 && progress.step % every.count == 0;
}

bool is_save_due_after_epoch(const RunFacts& facts, const RunProgress& progress, const kasmina::Network& network) {
  const auto& every = facts.config.checkpoint.every;
  if (every.count <= 0) return false;
  if (every.unit == base::Length::Unit::kEpochs) return progress.epoch % every.count == 0;
  return !kasmina::growing_seeds(network.state()).empty();
}

}  // namespace esper::tolaria
