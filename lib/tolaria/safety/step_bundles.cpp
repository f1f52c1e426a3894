#include "tolaria/safety/step_bundles.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/names.h"
#include "config/writing/write.h"
#include "history/bundle_config.h"
#include "leyline/telemetry/telemetry.h"
#include "storage/file_tools.h"

namespace esper::tolaria {
namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

// The cursor's own tensors, which may be views of what the loader fills again.
std::vector<kasmina::NamedTensor> copies_of(std::span<const step::Microbatch> microbatches) {
  std::vector<kasmina::NamedTensor> batch;
  for (std::size_t i = 0; i < microbatches.size(); ++i) {
    batch.push_back({fmt::format("batch.{}.inputs", i), microbatches[i].inputs});
    batch.push_back({fmt::format("batch.{}.targets", i), microbatches[i].targets});
  }
  return copy_to_cpu(batch);
}

std::vector<bool> marks_of(std::span<const step::Microbatch> microbatches) {
  std::vector<bool> marks;
  for (const auto& microbatch : microbatches) marks.push_back(microbatch.goes_on);
  return marks;
}

}  // namespace

std::string StepBundles::folder() const { return run_folder_ + "/" + history::kBundlesFolder; }

bool StepBundles::has_room_for(std::int64_t step) {
  if (files_.kind_of(folder()) != base::PathKind::kFolder) return true;
  const auto entries = files_.list(folder());
  const auto is_bundle = [](const auto& entry) { return history::bundle_step(entry.name).has_value(); };
  return static_cast<std::size_t>(std::ranges::count_if(entries, is_bundle)) < kMostBundles &&
         std::ranges::find(entries, history::bundle_name(step), &base::FolderEntry::name) == entries.end();
}

void StepBundles::keep(const TrainingFailure& failure, std::span<const step::Microbatch> microbatches,
                       config::Lane lane) {
  kept_.reset();
  try {
    if (!has_room_for(failure.step)) return;
    const auto& [facts, model, progress, policy, averaged_statistics] = source_;
    const double factor = progress.safety.rate_factor(failure.step);
    kept_ = Kept{
        {facts.run_id, failure.step, progress.epoch + 1, progress.batch, facts.batches_per_epoch, failure.reason,
         facts.learning_rate(failure.step) * factor, factor, std::string(base::name_of(lane)), marks_of(microbatches)},
        copies_of(microbatches)};
  } catch (const std::exception& error) {
    outbox_.emit(event("tolaria.bundle_failed"_event, Level::kWarning,
                       {{"step", std::to_string(failure.step)}, {"reason", error.what()}}));
  }
}

void StepBundles::write_kept() {
  Kept kept = *std::exchange(kept_, std::nullopt);
  const std::string step = std::to_string(kept.facts.step);
  try {
    write(std::move(kept));
  } catch (const std::exception& error) {
    outbox_.emit(event("tolaria.bundle_failed"_event, Level::kWarning, {{"step", step}, {"reason", error.what()}}));
  }
  outbox_.flush();
}

void StepBundles::write(Kept kept) {
  const std::string path = folder() + "/" + history::bundle_name(kept.facts.step);
  const StepBundle bundle{image_of(source_), std::move(kept.batch), std::move(kept.facts)};
  storage::ensure_folder(files_, folder());
  write_step_bundle(files_, path, bundle, config::resolved_yaml(source_.facts.config));
  outbox_.emit(event("tolaria.bundle_cut"_event, Level::kWarning,
                     {{"step", std::to_string(bundle.facts.step)}, {"path", path}, {"reason", bundle.facts.reason}}));
}

}  // namespace esper::tolaria
