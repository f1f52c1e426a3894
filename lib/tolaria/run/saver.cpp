#include "tolaria/run/saver.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/signal_point.h"
#include "base/text/rounding.h"
#include "kasmina/slot/topology.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {
namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

using Rank = CheckpointStore::Rank;

bool due(const base::Length& every, base::Length::Unit unit, std::int64_t count) {
  return every.unit == unit && every.count > 0 && count % every.count == 0;
}

CheckpointInfo state_of(const SaveSource& source) {
  return {source.progress.step, source.progress.epoch, source.facts.training_hash};
}

CheckpointImage image_of(const SaveSource& source) {
  CheckpointImage image;
  image.info = state_of(source);
  auto tensors = step::all_tensors(source.model, source.facts.device);
  std::ranges::move(progress_tensors(source.progress), std::back_inserter(tensors));
  image.tensors = copy_to_cpu(tensors);
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

// With what only a use of the network needs: a state that is held for an interrupt alone is not worth computing it.
CheckpointImage image_for_use(const SaveSource& source) {
  CheckpointImage image = image_of(source);
  if (source.averaged_statistics) std::ranges::move(source.averaged_statistics(), std::back_inserter(image.tensors));
  return image;
}

// True for the state right after the best epoch, not for one within the next.
Rank rank_of(const SaveSource& source) {
  const RunProgress& progress = source.progress;
  const bool best = progress.best && progress.best->epoch == progress.epoch && progress.batch == 0;
  return best && source.facts.config.checkpoint.keep_best ? Rank::kBest : Rank::kOrdinary;
}

}  // namespace

Saver::Saver(const SaveSource& source, CheckpointWriter& writer, Outbox& outbox, base::Ledger& ledger,
             leyline::Progress& display)
    : source_(source), writer_(writer), outbox_(outbox), ledger_(ledger), display_(display) {
  if (source.progress.step > 0) saved_ = state_of(source);
  // Tensors are nearly all of a checkpoint.
  writer_.keep_space(kasmina::bytes_of(step::all_tensors(source.model, source.facts.device)));
}

CheckpointImage Saver::image() const { return image_of(source_); }

bool Saver::is_saved() const { return saved_ == state_of(source_); }

void Saver::report_lost_records(const SaveResult& result) {
  figures_.lost_records += result.lost_records;
  if (std::exchange(journal_failing_, true)) return;
  outbox_.emit(event("tolaria.journal_failed"_event, Level::kWarning, {{"reason", result.problem}}));
}

void Saver::report_saved(const SaveResult& result) {
  saved_ = result.info;
  failure_.reset();
  journal_failing_ = false;
  if (std::exchange(paused_, false)) {
    outbox_.emit(event("tolaria.save_resumed"_event, Level::kInfo, {{"path", result.path}}));
  }
  if (!result.not_deleted.empty()) {
    outbox_.emit(event("tolaria.checkpoint_not_deleted"_event, Level::kWarning, {{"reason", result.not_deleted}}));
  }
  if (!result.not_rotated.empty()) {
    outbox_.emit(event("tolaria.journal_not_rotated"_event, Level::kWarning, {{"reason", result.not_rotated}}));
  }
  report_space(result);
  if (result.bytes == 0) return;  // it existed already, and was reported then
  ++figures_.written;
  figures_.save_ms = result.save_ms;
  figures_.bytes = static_cast<double>(result.bytes);
  outbox_.emit(event("tolaria.checkpoint_saved"_event, Level::kInfo,
                     {{"path", result.path},
                      {"epoch", std::to_string(result.info.epoch)},
                      {"step", std::to_string(result.info.step)},
                      {"bytes", std::to_string(result.bytes)}}));
}

void Saver::report_space(const SaveResult& result) {
  if (result.released > 0) {
    outbox_.emit(
        event("tolaria.reserve_released"_event, Level::kWarning, {{"bytes", std::to_string(result.released)}}));
  }
  if (std::exchange(reserve_failing_, !result.not_reserved.empty()) || result.not_reserved.empty()) return;
  outbox_.emit(event("tolaria.reserve_failed"_event, Level::kWarning, {{"reason", result.not_reserved}}));
}

void Saver::report_failed(const SaveResult& result) {
  ++figures_.failed;
  failure_ = result;
  if (result.released > 0 || !result.not_reserved.empty()) report_space(result);
  if (result.out_of_space && paused_) return;
  outbox_.emit(event("tolaria.checkpoint_failed"_event, Level::kWarning,
                     {{"epoch", std::to_string(result.info.epoch)},
                      {"step", std::to_string(result.info.step)},
                      {"reason", result.problem}}));
  if (!result.out_of_space) return;
  paused_ = true;
  outbox_.emit(event(
      "tolaria.save_paused"_event, Level::kWarning,
      {{"reason",
        "no space left (a full disk, a quota, or ulimit -f); training continues, and each later save tries again: " +
            result.problem}}));
}

void Saver::report_results() {
  for (const auto& result : writer_.take_results()) {
    switch (result.kind) {
      case SaveResult::Kind::kRecords:
        report_lost_records(result);
        break;
      case SaveResult::Kind::kSpace:
        report_space(result);
        break;
      case SaveResult::Kind::kCheckpoint:
        result.path.empty() ? report_failed(result) : report_saved(result);
    }
  }
}

void Saver::save(CheckpointWriter::Urgency urgency) {
  const base::LedgerScope saving(ledger_, base::Owner::kCheckpoint);
  display_.phase = leyline::Phase::kSaving;
  const base::Clock& clock = source_.facts.clock;
  const auto begin = clock.now();
  const auto handover = writer_.submit(held_ ? *held_ : image_for_use(source_), rank_of(source_), urgency);
  if (handover == CheckpointWriter::Handover::kBusy) {
    ++figures_.skipped;
    outbox_.emit(event("tolaria.checkpoint_skipped"_event, Level::kWarning,
                       {{"epoch", std::to_string(source_.progress.epoch)},
                        {"step", std::to_string(source_.progress.step)},
                        {"reason", "the previous checkpoint was still being written"}}));
  }
  base::fault::signal_point("tolaria.saving");  // while the other thread writes
  figures_.stall_ms = base::milliseconds(clock.now() - begin);
  report_results();
}

void Saver::hold() {
  const base::LedgerScope copying(ledger_, base::Owner::kCheckpoint);
  held_ = image_of(source_);
}

bool Saver::is_due_after_step() const {
  return due(source_.facts.config.checkpoint.every, base::Length::Unit::kSteps, source_.progress.step);
}

bool Saver::is_due_after_epoch() const {
  return due(source_.facts.config.checkpoint.every, base::Length::Unit::kEpochs, source_.progress.epoch);
}

bool Saver::finish() {
  const base::LedgerScope saving(ledger_, base::Owner::kCheckpoint);
  display_.phase = leyline::Phase::kSaving;
  const bool written = writer_.flush();
  report_results();
  return written;
}

bool Saver::save_last_state() {
  constexpr int kAttempts = 2;
  for (int i = 0; i < kAttempts; ++i) {
    if (!finish()) return false;
    if (is_saved()) return true;
    save(CheckpointWriter::Urgency::kLast);
  }
  return finish() && is_saved();
}

bool Saver::save_after(const std::exception& error) {
  // A batch that cannot be loaded leaves the state of the last whole step; other errors may have stopped within a step.
  const auto* known = dynamic_cast<const base::Error*>(&error);
  const bool whole = known != nullptr && known->code() == base::ExitCode::kData;
  return is_saved() || (whole && save_last_state());
}

}  // namespace esper::tolaria
