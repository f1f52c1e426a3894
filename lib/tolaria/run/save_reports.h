#pragma once
// What came of a run's saves, as events and figures: a failure that goes on is reported once. Training thread.

#include <cstdint>
#include <optional>

#include "tolaria/checkpoint/save_job.h"
#include "tolaria/run/outbox.h"

namespace esper::tolaria {

// Of this process.
struct SaveFigures {
  std::int64_t written = 0, failed = 0, skipped = 0;
  double save_ms = 0, stall_ms = 0, bytes = 0;  // of the last save
  std::int64_t lost_records = 0;                // records of the journal
};

class SaveReports {
 public:
  // Borrows the outbox.
  explicit SaveReports(Outbox& outbox) : outbox_(outbox) {}

  void report(const SaveResult& result);
  // The writer was still busy with an earlier one.
  void report_skipped(const CheckpointInfo& state);
  // How long the training thread was occupied by a save.
  void record_stall(double stall_ms) { figures_.stall_ms = stall_ms; }

  // The last save, if it failed.
  const std::optional<SaveResult>& failure() const { return failure_; }
  const SaveFigures& figures() const { return figures_; }

 private:
  void report_lost_records(const SaveResult& result);
  void report_saved(const SaveResult& result);
  void report_space(const SaveResult& result);
  void report_failed(const SaveResult& result);

  Outbox& outbox_;
  SaveFigures figures_;
  std::optional<SaveResult> failure_;
  bool paused_ = false;           // the disk is full
  bool journal_failing_ = false;  // reported since the last successful save
  bool reserve_failing_ = false;  // reported since there was space
};

}  // namespace esper::tolaria
