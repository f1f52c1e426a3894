#include "engine/dry_run.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <ranges>
#include <string>
#include <utility>

#include "base/text/standard_output.h"
#include "kasmina/network/network_tensors.h"
#include "nissa/log.h"
#include "tolaria/checkpoint/checkpoint.h"
#include "tolaria/checkpoint/checkpoint_store.h"

namespace esper::engine {
namespace {

using nlohmann::ordered_json;

base::Expected<void> restore_model_of(const std::string& checkpoint, TrainingSetup& setup, const OpenRun& run) {
  const auto image = tolaria::read_checkpoint(run.files, checkpoint);
  if (!image) return base::failure(tolaria::why_unusable(checkpoint, image.error()));
  auto model = fresh_model(setup);
  const auto restored = tolaria::try_load(
      [&] { return step::restore_model(*model, image->run.at("topology"), image->tensors, setup.device); });
  if (!restored) return base::failure(checkpoint + " cannot be used: " + restored.error());
  setup.model = std::move(model);
  return {};
}

// Path of the checkpoint that the setup's network is of then; empty: the network stays as at the start.
std::string restore_newest_model(TrainingSetup& setup, const OpenRun& run) {
  const auto checkpoints = tolaria::list_checkpoints(run.files, run.folder.checkpoints());
  for (const auto& checkpoint : std::views::reverse(checkpoints)) {
    const auto restored = restore_model_of(checkpoint.path, setup, run);
    if (restored) return checkpoint.path;
    nissa::log::warning(restored.error());
  }
  if (!checkpoints.empty()) nissa::log::warning("the sizes are of the network at the start of " + run.folder.path);
  return {};
}

}  // namespace

void print_sizes(TrainingSetup& setup, const TrainRequest& request, const OpenRun* run) {
  const std::string checkpoint = run == nullptr ? "" : restore_newest_model(setup, *run);
  ordered_json plan = {{"device", setup.device.str()},
                       {"train_samples", data::num_samples(setup.data.train)},
                       {"validation_samples", data::num_samples(setup.data.validation)},
                       {"steps_per_epoch", (batches_per_epoch(setup) + setup.config.step.accumulation - 1) /
                                               setup.config.step.accumulation},
                       {"epochs", setup.config.epochs},
                       {"parameters", kasmina::num_parameters_of(setup.model->network.state())},
                       {"checkpoint_bytes", kasmina::bytes_of(step::all_tensors(*setup.model, setup.device))}};
  if (!checkpoint.empty()) plan["checkpoint"] = checkpoint;
  if (request.job.json) return base::write_json(plan);
  for (const auto& [key, value] : plan.items()) {
    base::write_line(key + ": " + (value.is_string() ? value.get<std::string>() : value.dump()));
  }
}

}  // namespace esper::engine
