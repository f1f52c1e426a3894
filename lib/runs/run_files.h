#pragma once
// What a run's process leaves about its course besides telemetry: summary.json and the progress in its newest
// checkpoint. Nothing in these files is trusted. Any thread.

#include <cstdint>
#include <optional>
#include <string>

#include "base/expected.h"
#include "base/file_system.h"
#include "runs/run_record.h"

namespace esper::runs {

// How far a run got, as one of its files says.
struct Course {
  std::int64_t epochs = 0;
  Validation last, best;
  std::optional<double> trained_s;
};

struct Summary {
  RunState state = RunState::kFinished;
  bool stopped_early = false;  // finished by training.early_stop_epochs
  std::string reason;
  std::string until;             // when its process ended, RFC 3339; empty in files of earlier versions
  std::string version;           // of Esper; empty where it was not recorded
  std::optional<Course> course;  // none where the number of epochs is missing or damaged
};

// Of the text of summary.json.
base::Expected<Summary> read_summary(std::string_view text);

// Of the run.json of a checkpoint, given by its path. A failure where it is missing, larger than 16 MiB, or no such
// file. Throws UnsafePath and what open() throws besides.
base::Expected<Course> read_checkpoint_course(base::FileSystem& files, const std::string& checkpoint);

}  // namespace esper::runs
