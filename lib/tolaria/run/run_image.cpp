#include "tolaria/run/run_image.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "kasmina/slot/topology.h"
#include "tolaria/checkpoint/checkpoint_store.h"

namespace esper::tolaria {

CheckpointInfo state_of(const SaveSource& source) {
  return {source.progress.step, source.progress.epoch, source.facts.training_hash};
}

CheckpointImage image_of(const SaveSource& source, const StateCopy* model) {
  CheckpointImage image;
  image.info = state_of(source);
  if (model != nullptr) {
    image.tensors = model->tensors();
    std::ranges::move(copy_to_cpu(progress_tensors(source.progress)), std::back_inserter(image.tensors));
  } else {
    auto tensors = step::all_tensors(source.model, source.facts.device);
    std::ranges::move(progress_tensors(source.progress), std::back_inserter(tensors));
    image.tensors = copy_to_cpu(tensors);
  }
  image.preprocessing = source.facts.preprocessing;
  RunProgress progress = source.progress;
  progress.wall_s = source.facts.wall_s(source.progress);
  auto topology = source.model.network.save_topology();
  auto hash = leyline::topology_hash(kasmina::topology_of(topology));
  image.run = {{"progress", to_json(progress)},
               {"topology", std::move(topology)},
               {"topology_hash", std::move(hash)},
               {"controller", source.policy.state()},
               {"computed_on", source.facts.computed_on}};
  return image;
}

CheckpointImage image_for_use(const SaveSource& source, const StateCopy* model) {
  CheckpointImage image = image_of(source, model);
  if (source.averaged_statistics) std::ranges::move(source.averaged_statistics(), std::back_inserter(image.tensors));
  return image;
}

base::Expected<ImageState> read_state(const CheckpointImage& image, std::int64_t batches_per_epoch) {
  ImageState state;
  const auto read = try_load([&]() -> base::Expected<void> {
    RunProgress& progress = state.progress;
    progress = run_progress_from_json(image.run.at("progress"));
    if (auto counts = check_counts(progress); !counts) return base::failure("run.json: " + counts.error());
    if (auto restored = restore_tensors(progress, image.tensors); !restored) return restored;
    if (progress.epoch != image.info.epoch || progress.step != image.info.step) {
      return base::failure("run.json belongs to another step");
    }
    if (progress.batch > batches_per_epoch) return base::failure("its cursor is beyond the end of the epoch");
    if (progress.changes != history::changes_until(progress.changes, progress.trained_epoch())) {
      return base::failure("run.json has changes of settings after the epoch that it was saved in");
    }
    state.controller = image.run.at("controller");
    state.computed_on = image.run.value("computed_on", "");
    return {};
  });
  if (!read) return base::failure(read.error());
  return state;
}

base::Expected<void> restore_run(const CheckpointImage& image, const ImageState& state, step::Model& model,
                                 torch::Device device, tamiyo::RunPolicy& policy) {
  return try_load([&] {
    auto restored = step::restore_model(model, image.run.at("topology"), image.tensors, device);
    if (restored) policy.restore(state.controller);
    return restored;
  });
}

}  // namespace esper::tolaria
