#include "engine/dry_run.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "base/text/json_struct.h"
#include "base/text/standard_output.h"
#include "engine/model_text.h"
#include "engine/saved_run.h"
#include "kasmina/network/network_summary.h"
#include "kasmina/network/network_tensors.h"
#include "nissa/log.h"
#include "tolaria/checkpoint/checkpoint.h"
#include "tolaria/checkpoint/checkpoint_store.h"
#include "tolaria/run/no_checkpoint.h"
#include "tolaria/run/resume.h"

namespace esper::engine {
namespace {

using nlohmann::ordered_json;

base::Expected<void> restore_model_of(const std::string& checkpoint, TrainingSetup& setup, const OpenRun& run) {
  const auto image = tolaria::read_checkpoint(run.files, checkpoint);
  if (!image) return base::failure(tolaria::why_unusable(checkpoint, image.error()));
  auto model = fresh_model(setup);
  if (auto restored = restore_network(*model, checkpoint, *image, setup.device); !restored) return restored;
  setup.model = std::move(model);
  return {};
}

// Path of the checkpoint that the setup's network is of then; empty: the run never had one, or went back to before all
// of them, and the network stays as at the start. Else throws where none can be used.
std::string restore_newest_model(TrainingSetup& setup, const OpenRun& run) {
  const auto checkpoints = tolaria::list_checkpoints(run.files, run.folder.checkpoints());
  std::vector<std::string> reasons;
  for (const auto& checkpoint : std::views::reverse(checkpoints)) {
    const auto restored = restore_model_of(checkpoint.path, setup, run);
    if (!restored) {
      reasons.push_back(restored.error());
      continue;
    }
    for (const auto& reason : reasons) nissa::log::warning(reason);
    return checkpoint.path;
  }
  if (!reasons.empty()) tolaria::fail_without_usable(run.folder.path, reasons);
  tolaria::require_beginning(run.files, run.folder.path);
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
  const auto summary = kasmina::summary_of(setup.model->network.state());
  if (request.job.json) {
    plan["model"] = base::to_json(summary);
    return base::write_json(plan);
  }
  for (const auto& [key, value] : plan.items()) {
    base::write_line(key + ": " + (value.is_string() ? value.get<std::string>() : value.dump()));
  }
  base::write_text("\n" + model_text(summary));
}

}  // namespace esper::engine
