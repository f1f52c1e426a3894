#include "nissa/run_history.h"

#include "leyline/error.h"
#include "storage/journal.h"
#include "storage/real_file_system.h"

namespace esper::nissa {
namespace {

using leyline::PathKind;
using storage::JournalTail;

void tell_gaps(const storage::JournalScan& scan, RunHistory& run) {
  const auto& history = run.history;
  if (scan.tail == JournalTail::kCorrupt) {
    run.gaps.push_back("the journal is damaged behind record " + std::to_string(scan.records) + ": " +
                       std::to_string(scan.dropped_bytes) + " bytes were not read");
  } else if (scan.tail == JournalTail::kTorn) {
    run.gaps.push_back("the journal ends within a record: " + std::to_string(scan.dropped_bytes) +
                       " bytes were not read");
  }
  if (history.damaged() > 0) {
    run.gaps.push_back(std::to_string(history.damaged()) +
                       " records of the journal are no sound notes and were left out");
  }
  if (history.left_out() > 0) {
    run.gaps.push_back("the journal is too long: its last " + std::to_string(history.left_out()) +
                       " notes were left out");
  }
  const auto state = history.replay();
  if (!state.starts_known && !history.notes().empty()) {
    run.gaps.push_back(
        "the journal does not tell the topology that the run began with; slots show from their first event on");
  }
  if (state.gaps > 0) {
    run.gaps.push_back("notes are missing from the journal in " + std::to_string(state.gaps) + " places");
  }
}

}  // namespace

RunHistory read_run_history(const std::string& run) {
  auto& files = storage::real_file_system();
  if (files.kind_of(run) != PathKind::kFolder || files.kind_of(run + "/config.yaml") != PathKind::kFile) {
    throw leyline::Error(
        leyline::ExitCode::kConfig,
        run + " is no run folder: there is no config.yaml in it; `esper train` prints the folder of each run");
  }
  if (files.kind_of(run + "/journal") != PathKind::kFile) {
    throw leyline::Error(leyline::ExitCode::kData, run + " has no journal: nothing is known of its growth");
  }
  RunHistory read;
  const auto scan =
      storage::scan_journal(files, run + "/journal", [&](std::string_view text) { read.history.take(text); });
  tell_gaps(scan, read);
  return read;
}

}  // namespace esper::nissa
