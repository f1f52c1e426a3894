#include "tolaria/run/save_reports.h"

#include <string>
#include <utility>

#include "base/text/rounding.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

void SaveReports::report_lost_records(const SaveResult& result) {
  figures_.lost_records += result.lost_records;
  if (std::exchange(journal_failing_, true)) return;
  outbox_.emit(event("tolaria.journal_failed"_event, Level::kWarning, {{"reason", result.problem}}));
}

void SaveReports::report_saved(const SaveResult& result) {
  failure_.reset();
  journal_failing_ = false;
  if (std::exchange(paused_, false)) {
    outbox_.emit(event("tolaria.save_resumed"_event, Level::kInfo, {{"path", result.path}}));
  }
  if (const auto& kept = result.not_deleted) {
    outbox_.emit(event("tolaria.checkpoint_not_deleted"_event, Level::kWarning,
                       {{"path", kept->path}, {"reason", kept->reason}}));
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
                      {"bytes", std::to_string(result.bytes)},
                      {"save_ms", base::format_significant(result.save_ms, 4)},
                      {"kind", result.rank == CheckpointStore::Rank::kBest ? "best" : "ordinary"}}));
}

void SaveReports::report_space(const SaveResult& result) {
  if (result.released > 0) {
    outbox_.emit(
        event("tolaria.reserve_released"_event, Level::kWarning, {{"bytes", std::to_string(result.released)}}));
  }
  if (std::exchange(reserve_failing_, !result.not_reserved.empty()) || result.not_reserved.empty()) return;
  outbox_.emit(event("tolaria.reserve_failed"_event, Level::kWarning, {{"reason", result.not_reserved}}));
}

void SaveReports::report_failed(const SaveResult& result) {
  ++figures_.failed;
  failure_ = result;
  if (result.released > 0 || !result.not_reserved.empty()) report_space(result);
  if (result.out_of_space && paused_) return;
  outbox_.emit(event("tolaria.checkpoint_failed"_event, Level::kWarning,
                     {{"path", result.destination},
                      {"epoch", std::to_string(result.info.epoch)},
                      {"step", std::to_string(result.info.step)},
                      {"reason", result.problem}}));
  if (!result.out_of_space) return;
  paused_ = true;
  auto paused = event(
      "tolaria.save_paused"_event, Level::kWarning,
      {{"path", result.destination},
       {"reason",
        "no space left (a full disk, a quota, or ulimit -f); training continues, and each later save tries again: " +
            result.problem}});
  if (result.free_bytes) paused.attributes["free_bytes"] = std::to_string(*result.free_bytes);
  outbox_.emit(std::move(paused));
}

void SaveReports::report(const SaveResult& result) {
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

void SaveReports::report_skipped(const CheckpointInfo& state) {
  ++figures_.skipped;
  outbox_.emit(event("tolaria.checkpoint_skipped"_event, Level::kWarning,
                     {{"epoch", std::to_string(state.epoch)},
                      {"step", std::to_string(state.step)},
                      {"reason", "the previous checkpoint was still being written"}}));
}

}  // namespace esper::tolaria
