#pragma once
// When a run saves, and what becomes of it: copies are made here, written by another thread, and reported with the next
// packet. The run's journal goes the same way, in order with the saves. Training thread.

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "leyline/progress.h"
#include "step/model.h"
#include "tolaria/checkpoint/checkpoint_writer.h"
#include "tolaria/run/consultation.h"
#include "tolaria/run/outbox.h"
#include "tolaria/run/run_facts.h"

namespace esper::tolaria {

// What a checkpoint is a copy of.
struct SaveSource {
  const RunFacts& facts;
  const step::Model& model;
  const RunProgress& progress;
  const Consultation& policy;
};

// Of this process.
struct SaveFigures {
  std::int64_t written = 0, failed = 0, skipped = 0;
  double save_ms = 0, stall_ms = 0, bytes = 0;  // of the last save
  std::int64_t lost_records = 0;                // of the journal
};

class Saver {
 public:
  // Borrows all of it. A source that has trained already comes from a checkpoint, and counts as saved.
  Saver(const SaveSource& source, CheckpointWriter& writer, Outbox& outbox, base::Ledger& ledger,
        leyline::Progress& display);
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Copies the run's state and hands it to the writer, as the best one if the epoch that just ended is. If the writer
  // is still busy at its deadline, the save is skipped and reported.
  void save();
  // True where `checkpoint.every` in steps has come, or in epochs.
  bool is_due_after_step() const;
  bool is_due_after_epoch() const;

  // Waits until what was handed over is written, at most until the deadline; false if that passed.
  bool finish();
  // Afterwards the run's state is on the disk, or this is false. What is under way is finished first; a save that
  // goes wrong is tried once more.
  bool save_last_state();
  // The same for a run that `error` ended, where its state is that of a whole step; false where it may not be.
  bool save_after(const std::exception& error);

  // Whether the run's state as it is now is known to be on the disk.
  bool is_saved() const;
  const SaveFigures& figures() const { return figures_; }
  // As of the last save that ended.
  std::vector<CheckpointEntry> checkpoints() const { return writer_.checkpoints(); }

  // Appends to the run's journal. A record that cannot be written is lost, counted and reported.
  void record(std::string json_text) { writer_.record(std::move(json_text)); }

 private:
  void report_results();
  void report_lost_record(const SaveResult& result);
  void report_saved(const SaveResult& result);
  void report_failed(const SaveResult& result);

  SaveSource source_;
  CheckpointWriter& writer_;
  Outbox& outbox_;
  base::Ledger& ledger_;
  leyline::Progress& display_;
  SaveFigures figures_;
  std::optional<CheckpointInfo> saved_;  // the newest state known to be on the disk
  bool paused_ = false;                  // the disk is full
  bool journal_failing_ = false;         // reported since the last save that went well
};

}  // namespace esper::tolaria
