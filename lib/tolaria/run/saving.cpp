#include "tolaria/run/saving.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "kasmina/topology.h"
#include "leyline/telemetry.h"

namespace esper::tolaria {

using step::all_tensors;

namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

using Rank = CheckpointStore::Rank;

CheckpointImage image_of(const Run& run) {
  CheckpointImage image;
  image.info = state_of(run);
  image.tensors = copy_to_cpu(all_tensors(run.model, run.device));
  RunProgress progress = run.progress;
  progress.wall_s = run.wall_s();
  auto topology = run.model.network.save_topology();
  auto hash = leyline::topology_hash(kasmina::topology_of(topology));
  image.run = {{"progress", to_json(progress)},
               {"topology", std::move(topology)},
               {"topology_hash", std::move(hash)},
               {"controller", run.consultation.state()}};
  return image;
}

// The state right after the best epoch, not one from the middle of the next.
Rank rank_of(const Run& run) {
  const RunProgress& progress = run.progress;
  const bool best = progress.best && progress.best->epoch == progress.epoch && progress.batch == 0;
  return best && run.config.checkpoint.keep_best ? Rank::kBest : Rank::kOrdinary;
}

void tell_lost_note(Run& run, const SaveResult& result) {
  ++run.notes_lost;
  if (std::exchange(run.journal_failing, true)) return;
  run.events.push_back(event("tolaria.journal_failed"_event, Level::kWarning, {{"reason", result.problem}}));
}

void tell_saved(Run& run, const SaveResult& result) {
  run.saved = result.info;
  run.journal_failing = false;
  if (run.saving_paused) {
    run.events.push_back(event("tolaria.save_resumed"_event, Level::kInfo, {{"path", result.path}}));
    run.saving_paused = false;
  }
  if (!result.not_deleted.empty()) {
    run.events.push_back(
        event("tolaria.checkpoint_not_deleted"_event, Level::kWarning, {{"reason", result.not_deleted}}));
  }
  if (!result.not_rotated.empty()) {
    run.events.push_back(event("tolaria.journal_not_rotated"_event, Level::kWarning, {{"reason", result.not_rotated}}));
  }
  if (result.bytes == 0) return;  // it was there already, and told then
  ++run.saves_written;
  run.save_ms = result.save_ms;
  run.save_bytes = static_cast<double>(result.bytes);
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
            {{"reason",
              "there is no room for it (a full disk, a quota, or ulimit -f); training goes on, and each later "
              "save tries again: " +
                  result.problem}}));
}

bool due(const base::Length& every, base::Length::Unit unit, std::int64_t count) {
  return every.unit == unit && every.count > 0 && count % every.count == 0;
}

}  // namespace

void save(Run& run) {
  const base::LedgerScope saving(run.ledger, base::Owner::kCheckpoint);
  run.display->phase = leyline::Phase::kSaving;
  const auto begin = run.clock.now();
  if (run.writer.submit(image_of(run), rank_of(run)) == CheckpointWriter::Handover::kBusy) {
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
  return due(run.config.checkpoint.every, base::Length::Unit::kSteps, run.progress.step);
}

bool save_is_due_after_epoch(const Run& run) {
  return due(run.config.checkpoint.every, base::Length::Unit::kEpochs, run.progress.epoch);
}

void collect_save_results(Run& run) {
  for (const auto& result : run.writer.take_results()) {
    if (result.kind == SaveResult::Kind::kNote) {
      tell_lost_note(run, result);
    } else {
      result.path.empty() ? tell_failed(run, result) : tell_saved(run, result);
    }
  }
}

bool finish_saves(Run& run) {
  const base::LedgerScope saving(run.ledger, base::Owner::kCheckpoint);
  run.display->phase = leyline::Phase::kSaving;
  const bool written = run.writer.flush();
  collect_save_results(run);
  return written;
}

bool save_last_state(Run& run) {
  constexpr int kAttempts = 2;
  for (int i = 0; i < kAttempts; ++i) {
    if (!finish_saves(run)) return false;
    if (run.saved == state_of(run)) return true;
    save(run);
  }
  return finish_saves(run) && run.saved == state_of(run);
}

bool save_after(Run& run, const std::exception& error) {
  // A batch that cannot be had leaves the state of the last whole step; anything else may have stopped within one.
  const auto* known = dynamic_cast<const base::Error*>(&error);
  const bool whole = known != nullptr && known->code() == base::ExitCode::kData;
  return whole && save_last_state(run);
}

}  // namespace esper::tolaria
