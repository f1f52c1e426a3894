#include "tolaria/saving.h"

#include <nlohmann/json.hpp>

#include "leyline/telemetry.h"

namespace esper::tolaria {
namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

CheckpointImage image_of(const Run& run) {
  CheckpointImage image;
  image.info = {run.progress.step, run.progress.epoch, run.training_hash};
  image.tensors = copy_to_cpu(all_tensors(run.model, run.device));
  RunProgress progress = run.progress;
  progress.wall_s = run.wall_s();
  image.run = {{"progress", to_json(progress)},
               {"topology", run.model.network.save_topology()},
               {"controller", run.consultation.state()}};
  return image;
}

void tell_saved(Run& run, const SaveResult& result) {
  if (run.saving_paused) {
    run.events.push_back(event("tolaria.save_resumed"_event, Level::kInfo, {{"path", result.path}}));
    run.saving_paused = false;
  }
  ++run.saves_written;
  run.save_ms = result.save_ms;
  if (result.bytes > 0) run.save_bytes = static_cast<double>(result.bytes);
  run.events.push_back(event("tolaria.checkpoint_saved"_event, Level::kInfo,
                             {{"path", result.path},
                              {"epoch", std::to_string(result.info.epoch)},
                              {"step", std::to_string(result.info.step)},
                              {"bytes", std::to_string(result.bytes)}}));
}

void tell_failed(Run& run, const SaveResult& result) {
  ++run.saves_failed;
  if (result.out_of_space && run.saving_paused) return;
  run.events.push_back(event("tolaria.checkpoint_failed"_event, Level::kWarning,
                             {{"epoch", std::to_string(result.info.epoch)},
                              {"step", std::to_string(result.info.step)},
                              {"reason", result.problem}}));
  if (!result.out_of_space) return;
  run.saving_paused = true;
  run.events.push_back(
      event("tolaria.save_paused"_event, Level::kWarning,
            {{"reason", "the disk is full; training goes on, and each later save tries again: " + result.problem}}));
}

bool due(const leyline::Length& every, leyline::Length::Unit unit, std::int64_t count) {
  return every.unit == unit && every.count > 0 && count % every.count == 0;
}

}  // namespace

void save(Run& run, CheckpointStore::Rank rank) {
  run.display->phase = leyline::Phase::kSaving;
  const auto begin = run.clock.now();
  if (run.writer.submit(image_of(run), rank) == CheckpointWriter::Handover::kBusy) {
    ++run.saves_skipped;
    run.events.push_back(event("tolaria.checkpoint_skipped"_event, Level::kWarning,
                               {{"epoch", std::to_string(run.progress.epoch)},
                                {"step", std::to_string(run.progress.step)},
                                {"reason", "the save before it was still being written"}}));
  }
  run.save_stall_ms = std::chrono::duration<double, std::milli>(run.clock.now() - begin).count();
  collect_save_results(run);
}

bool save_is_due_after_step(const Run& run) {
  return due(run.config.checkpoint.every, leyline::Length::Unit::kSteps, run.progress.step);
}

bool save_is_due_after_epoch(const Run& run) {
  return due(run.config.checkpoint.every, leyline::Length::Unit::kEpochs, run.progress.epoch);
}

void collect_save_results(Run& run) {
  for (const auto& result : run.writer.take_results()) {
    result.path.empty() ? tell_failed(run, result) : tell_saved(run, result);
  }
}

bool finish_saving(Run& run) {
  run.display->phase = leyline::Phase::kSaving;
  const bool written = run.writer.flush();
  const auto failed_before = run.saves_failed;
  collect_save_results(run);
  return written && run.saves_failed == failed_before && !run.saving_paused;
}

}  // namespace esper::tolaria
