#pragma once
// Everything that is read of one run folder, before read_run_record.cpp concludes from it. Any thread.

#include <optional>
#include <string>
#include <vector>

#include "runs/run_files.h"
#include "runs/run_record.h"
#include "runs/telemetry_end.h"
#include "storage/folder_lock.h"
#include "storage/folder_walk.h"

namespace esper::runs {

struct RunReading {
  std::string path;
  storage::FolderWalk walk;
  storage::FolderUse use = storage::FolderUse::kFree;
  std::string stamp;
  std::vector<std::string> telemetry;    // names, oldest first
  std::vector<std::string> checkpoints;  // paths, oldest first
  RunRecord config;                      // what config.yaml and accepted changes say, in the fields of that name
  std::optional<Summary> summary;
  TelemetryStart start;
  TelemetryEnd end;  // its epoch only where has_course_in_summary() is false
  std::string parent, parent_checkpoint;
  bool summary_is_newest = false;  // no later process wrote anything
  std::string damage;              // the first thing that could not be read, as text; else empty

  const storage::WalkedEntry* find(std::string_view entry) const;
  void report(const std::string& problem);
  bool has_course_in_summary() const { return summary_is_newest && summary->course; }
};

// Never throws for what lies in the folder: that is `damage`.
RunReading read_run(const std::string& folder);

}  // namespace esper::runs
