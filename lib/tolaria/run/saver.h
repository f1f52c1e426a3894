#pragma once
// When a run saves, and the result: copies are made here, written by another thread, and reported with the next packet.
// The run's journal is written in the same way, in order with the saves. Training thread.

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leyline/progress.h"
#include "tolaria/checkpoint/checkpoint_writer.h"
#include "tolaria/run/run_image.h"
#include "tolaria/run/save_reports.h"

namespace esper::tolaria {

class Saver {
 public:
  // Borrows its arguments. A source that has already trained comes from a checkpoint, and counts as saved. From here on
  // space for a last save is kept on the disk.
  Saver(const SaveSource& source, CheckpointWriter& writer, Outbox& outbox, base::Ledger& ledger,
        leyline::Progress& display);
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Copies the run's state and hands it to the writer; marks it as the best if the epoch that just ended is. If the
  // writer is still busy at its deadline, the save is skipped and reported. Where there is a copy of the model as it is
  // now, that is shared instead.
  void save(const StateCopy* model = nullptr) { save(CheckpointWriter::Urgency::kOrdinary, model); }
  // Reports what the writer has done since the last report, as each save does.
  void report_results();
  // Copies the run's state for the saves to come, until release(): what follows may be given up.
  void hold();
  // Instead an earlier state: the copy is of the model, and the progress belongs to it. Does not touch the device, so
  // that the averaged model's batch norm statistics are not in it: a run can go on from it, which saves them again.
  void hold(const StateCopy& model, const RunProgress& progress);
  void release() { held_.reset(); }
  bool is_holding() const { return held_.has_value(); }

  // Waits until everything handed over is written, at most until the deadline; false if that passed.
  bool finish();
  // Saves the run's state and waits for it; false if it is not on the disk. A save in progress is completed first; a
  // failed save is retried once.
  bool save_last_state();

  // True if the run's present state is known to be on the disk.
  bool is_saved() const;
  // The last save, if it failed.
  const std::optional<SaveResult>& failure() const { return reports_.failure(); }
  const SaveFigures& figures() const { return reports_.figures(); }
  // As of the last completed save.
  std::vector<CheckpointEntry> checkpoints() const { return writer_.checkpoints(); }
  std::optional<std::uint64_t> disk_room() const { return writer_.disk_room(); }

  // Appends to the run's journal. A record that cannot be written is lost, counted and reported.
  void record(std::string json_text) { writer_.record(std::move(json_text)); }
  // The same for the run's log of decisions.
  void record(leyline::DecisionLine decision) { writer_.record(std::move(decision)); }

 private:
  void save(CheckpointWriter::Urgency urgency, const StateCopy* model);

  SaveSource source_;
  CheckpointWriter& writer_;
  base::Ledger& ledger_;
  leyline::Progress& display_;
  SaveReports reports_;
  std::optional<CheckpointInfo> saved_;  // the newest state known to be on the disk
  std::optional<CheckpointImage> held_;
};

// A batch that cannot be loaded leaves the state of the last whole step; other errors may have stopped within a step.
bool leaves_whole_step(const std::exception& error);

// Saver::save_last_state() for a run that ended with `error`, if its state is that of a whole step; false if it may not
// be, unless it is saved already.
bool save_after(Saver& saver, const std::exception& error);

}  // namespace esper::tolaria
