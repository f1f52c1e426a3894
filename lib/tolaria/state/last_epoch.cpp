#include "tolaria/state/last_epoch.h"

#include <cstdint>

#include "config/facts/early_stop.h"

namespace esper::tolaria {

using config::RunConfig;
using config::stops_early;

bool is_last_epoch_over(const RunConfig& config, const RunProgress& progress) {
  return progress.epoch >= static_cast<std::uint32_t>(config.epochs);
}

bool should_stop_early(const RunConfig& config, const RunProgress& progress) {
  return stops_early(config.training, progress.epochs_without_better);
}

bool is_last_epoch(const RunConfig& config, const RunProgress& progress) {
  return progress.epoch + 1 >= static_cast<std::uint32_t>(config.epochs) || should_stop_early(config, progress);
}

bool may_be_last_epoch(const RunConfig& config, const RunProgress& progress) {
  return is_last_epoch(config, progress) || stops_early(config.training, progress.epochs_without_better + 1);
}

}  // namespace esper::tolaria
