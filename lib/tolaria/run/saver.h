#pragma once
// When a run saves, and the result: copies are made here, written by another thread, and reported with the next packet.
// The run's journal is written in the same way, in order with the saves. Training thread.

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "leyline/progress.h"
#include "step/model.h"
#include "tamiyo/service/run_policy.h"
#include "tolaria/checkpoint/checkpoint_writer.h"
#include "tolaria/run/outbox.h"
#include "tolaria/run/run_facts.h"

namespace esper::tolaria {

// What a checkpoint copies.
struct SaveSource {
  const RunFacts& facts;
  const step::Model& model;
  const RunProgress& progress;
  const tamiyo::RunPolicy& policy;
  // The averaged model's batch norm statistics, of the model as it is now; empty where there are none, or a signal
  // came. May be null: none.
  std::function<std::vector<kasmina::NamedTensor>()> averaged_statistics = {};
};

// Of this process.
struct SaveFigures {
  std::int64_t written = 0, failed = 0, skipped = 0;
  double save_ms = 0, stall_ms = 0, bytes = 0;  // of the last save
  std::int64_t lost_records = 0;                // records of the journal
};

class Saver {
 public:
  // Borrows its arguments. A source that has already trained comes from a checkpoint, and counts as saved. From here on
  // space for a last save is kept on the disk.
  Saver(const SaveSource& source, CheckpointWriter& writer, Outbox& outbox, base::Ledger& ledger,
        leyline::Progress& display);
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Copies the run's state and hands it to the writer; marks it as the best if the epoch that just ended is. If the
  // writer is still busy at its deadline, the save is skipped and reported.
  void save(CheckpointWriter::Urgency urgency = CheckpointWriter::Urgency::kOrdinary);
  // Reports what the writer has done since the last report, as each save does.
  void report_results();
  // Copies the run's state for the saves to come, until release(): what follows may be given up.
  void hold();
  void release() { held_.reset(); }
  bool is_holding() const { return held_.has_value(); }
  // True if `checkpoint.every` is reached, in steps or in epochs.
  bool is_due_after_step() const;
  bool is_due_after_epoch() const;

  // Waits until everything handed over is written, at most until the deadline; false if that passed.
  bool finish();
  // Saves the run's state and waits for it; false if it is not on the disk. A save in progress is completed first; a
  // failed save is retried once.
  bool save_last_state();
  // The same for a run that ended with `error`, if its state is that of a whole step; false if it may not be, unless it
  // is saved already.
  bool save_after(const std::exception& error);

  // A copy of the run's state as a checkpoint has it, but for what only a use of the network needs.
  CheckpointImage image() const;

  // True if the run's present state is known to be on the disk.
  bool is_saved() const;
  // The last save, if it failed.
  const std::optional<SaveResult>& failure() const { return failure_; }
  const SaveFigures& figures() const { return figures_; }
  // As of the last completed save.
  std::vector<CheckpointEntry> checkpoints() const { return writer_.checkpoints(); }
  std::optional<std::uint64_t> disk_room() const { return writer_.disk_room(); }

  // Appends to the run's journal. A record that cannot be written is lost, counted and reported.
  void record(std::string json_text) { writer_.record(std::move(json_text)); }
  // The same for the run's log of decisions.
  void record(leyline::DecisionLine decision) { writer_.record(std::move(decision)); }

 private:
  void report_lost_records(const SaveResult& result);
  void report_saved(const SaveResult& result);
  void report_space(const SaveResult& result);
  void report_failed(const SaveResult& result);

  SaveSource source_;
  CheckpointWriter& writer_;
  Outbox& outbox_;
  base::Ledger& ledger_;
  leyline::Progress& display_;
  SaveFigures figures_;
  std::optional<CheckpointInfo> saved_;  // the newest state known to be on the disk
  std::optional<SaveResult> failure_;
  std::optional<CheckpointImage> held_;
  bool paused_ = false;           // the disk is full
  bool journal_failing_ = false;  // reported since the last successful save
  bool reserve_failing_ = false;  // reported since there was space
};

}  // namespace esper::tolaria
