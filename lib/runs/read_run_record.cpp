#include "runs/read_run_record.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/text/printable.h"
#include "runs/moment.h"
#include "runs/run_folder_reader.h"
#include "runs/run_reading.h"
#include "storage/confined_file_system.h"

namespace esper::runs {
namespace {

using storage::FolderUse;

constexpr std::int64_t kNsInMs = 1'000'000;

// An epoch between the newest checkpoint and the newest one that was reported; without figures where its packet is not
// found.
Validation reported_epoch(RunReading& reading, std::int64_t epoch) {
  try {
    const FolderReader folder(reading.path);
    OpenFiles files;
    const auto newest = std::span(reading.telemetry).last(std::min<std::size_t>(reading.telemetry.size(), 2));
    for (const std::string& name : newest) files.push_back(folder.open(name));
    return read_telemetry_epoch(files, epoch).value_or(Validation{epoch, {}});
  } catch (const base::Error& error) {
    reading.report(error.what());
    return {epoch, {}};
  }
}

// Of a run whose summary does not say it, or that has none of its end: what was saved, and the epoch that was reported
// after that. Only the run knows whether an epoch may be the best one: its end must have left the network that was
// validated.
Course saved_course(RunReading& reading) {
  Course course;
  if (!reading.checkpoints.empty()) {
    const std::string& newest = reading.checkpoints.back();
    try {
      storage::ConfinedFileSystem files(reading.path, storage::Owner::kAnyone);
      const auto saved = read_checkpoint_course(files, newest);
      if (saved) course = *saved;
      if (!saved) reading.report(newest + " cannot be read: " + saved.error());
    } catch (const base::Error& error) {  // also one that a running process deleted just now
      reading.report(error.what());
    }
  }
  const auto& reported = reading.end.epoch;
  if (!reported || *reported->epoch <= course.epochs) return course;
  course.epochs = *reported->epoch;
  if (!reported->figures.empty()) course.last = *reported;
  const auto& best = reading.end.best_epoch;
  if (best && best != course.best.epoch) {
    course.best = best == reported->epoch ? *reported : reported_epoch(reading, *best);
  }
  return course;
}

RunState state_of_exit(const RecordedEnd& end) {
  using base::ExitCode;
  if (!end.exit_code) return RunState::kFailed;
  switch (static_cast<ExitCode>(*end.exit_code)) {
    case ExitCode::kDone:
      return RunState::kFinished;
    case ExitCode::kDiverged:
      return RunState::kDiverged;
    case ExitCode::kHungUp:
    case ExitCode::kInterrupted:
    case ExitCode::kTerminated:
      return RunState::kInterrupted;
    default:
      return RunState::kFailed;
  }
}

struct StateAndReason {
  RunState state;
  std::string reason;
};

StateAndReason unrecorded_end(const RunReading& reading) {
  const bool trained = !reading.end.timestamp.empty() || !reading.checkpoints.empty();
  if (!trained) return {RunState::kEmpty, "its process ended before anything was trained"};
  const bool only_forked = !reading.parent.empty() && reading.end.timestamp.empty();
  return {RunState::kInterrupted,
          only_forked ? "forked, and not trained since" : "no process works on it, and none recorded its end"};
}

std::string reason_of(bool stopped_early, const std::string& reason) {
  return stopped_early ? "stopped early: " + reason : reason;
}

// Of a run that finished, only one that stopped early has a reason.
StateAndReason recorded_end(const RecordedEnd& end) {
  const RunState state = state_of_exit(end);
  return {state, reason_of(state == RunState::kFinished && !end.reason.empty(), end.reason)};
}

StateAndReason state_of(const RunReading& reading) {
  if (reading.use == FolderUse::kHeld) return {RunState::kRunning, ""};
  if (!reading.damage.empty()) return {RunState::kDamaged, reading.damage};
  if (reading.summary_is_newest) {
    return {reading.summary->state, reason_of(reading.summary->stopped_early, reading.summary->reason)};
  }
  return reading.end.end ? recorded_end(*reading.end.end) : unrecorded_end(reading);
}

void take_course(const Course& course, RunRecord& record) {
  record.epochs = course.epochs;
  record.last = course.last;
  record.best = course.best;
  record.duration_s = course.trained_s;
}

void take_times(const RunReading& reading, RunRecord& record) {
  record.started_ms = milliseconds_of(reading.start.timestamp);
  const auto* config = reading.find("config.yaml");
  if (!record.started_ms && config != nullptr) record.started_ms = config->modified_ns / kNsInMs;
  for (const auto& entry : reading.walk.entries) {
    // Who takes the lock to delete checkpoints touches these; a process that trains, others as well.
    const bool is_of_training = entry.path != "lock" && entry.path != "checkpoints";
    if (!is_of_training || entry.path.find('/') != std::string::npos) continue;
    record.written_ms = std::max(record.written_ms, entry.modified_ns / kNsInMs);
  }
  if (reading.use == FolderUse::kHeld) return;
  if (reading.summary_is_newest) record.ended_ms = milliseconds_of(reading.summary->until);
  if (!reading.summary_is_newest && reading.end.end) record.ended_ms = milliseconds_of(reading.end.timestamp);
}

std::string last_name(const std::string& path) {
  const auto named = std::filesystem::path(path).filename();
  if (!named.empty() && named != "." && named != "..") return named.string();
  std::error_code ignored;
  const auto whole = std::filesystem::absolute(path, ignored).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

}  // namespace

RunRecord read_run_record(const std::string& folder) {
  RunReading reading = read_run(folder);
  RunRecord record = reading.config;
  record.path = folder;
  record.stamp = reading.stamp;
  record.name = last_name(folder);
  take_course(reading.has_course_in_summary() ? *reading.summary->course : saved_course(reading), record);
  take_times(reading, record);
  record.parent = reading.parent;
  record.parent_checkpoint = reading.parent_checkpoint;
  record.checkpoints = static_cast<std::int64_t>(reading.checkpoints.size());
  record.bytes = storage::bytes_of(reading.walk);
  record.version = reading.start.version;
  if (record.version.empty() && reading.summary) record.version = reading.summary->version;
  auto [state, reason] = state_of(reading);
  record.state = state;
  record.reason = base::printable_line(base::shortened(reason, 1000));
  return record;
}

}  // namespace esper::runs
