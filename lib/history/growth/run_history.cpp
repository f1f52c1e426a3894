#include "history/growth/run_history.h"

#include <fmt/core.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/joined.h"
#include "base/text/json_fields.h"
#include "history/growth/checkpoint_list.h"
#include "history/require_run_folder.h"
#include "storage/bytes.h"
#include "storage/confined_file_system.h"
#include "storage/file_tools.h"
#include "storage/journal/journal.h"

namespace esper::history {
namespace {

using base::joined;
using base::PathKind;
using storage::JournalTail;

// So many gaps of one journal are listed one by one.
constexpr std::size_t kGapsReported = 5;
constexpr std::size_t kCheckpointsCompared = 4;

std::string record_name(std::size_t number) { return fmt::format("record {}", number); }

void report_tail(const storage::JournalScan& scan, std::size_t records, const std::string& run,
                 std::vector<std::string>& gaps) {
  if (scan.tail == JournalTail::kClean) return;
  const std::string bytes = fmt::format("{} bytes were not read", scan.dropped_bytes);
  if (scan.tail == JournalTail::kCorrupt) {
    gaps.push_back(
        fmt::format("the journal is damaged after {}: {}; records up to there are valid. esper train --resume {} moves "
                    "them to journal.bad and continues after that record",
                    record_name(records), bytes, run));
  } else {
    gaps.push_back(
        fmt::format("the journal ends within a record, after {}: {}; records up to there are valid. If no process "
                    "trains this run, esper train --resume {} removes them",
                    record_name(records), bytes, run));
  }
}

void report_damaged(const GrowthHistory& history, std::vector<std::string>& gaps) {
  if (history.damaged() == 0) return;
  const bool more = history.damaged() > history.damaged_records().size();
  gaps.push_back(fmt::format("{} {} ignored: {}{}", history.damaged(),
                             history.damaged() == 1 ? "record of the journal is invalid and was"
                                                    : "records of the journal are invalid and were",
                             joined(history.damaged_records()), more ? ", ..." : ""));
}

// Records from before the first one that is there.
void report_lost_beginning(const RunHistory& run, bool starts_known, std::vector<std::string>& gaps) {
  const auto& first = run.history.records().front();
  if (!starts_known) {
    gaps.push_back("the journal does not contain the initial topology; slots are shown from their first event on");
  } else if ((first.what == "resumed" || first.what == "segment" || !first.snapshot) && first.place > RunPlace{}) {
    gaps.push_back("the journal begins with " + record_name(first.number) + ", of " + place_text(first.place) + " (" +
                   first.what + "): earlier records are missing" + (first.snapshot ? "; later records are valid" : ""));
  }
}

void report_gaps_between(const std::vector<GrowthGap>& found, const std::string& run, std::vector<std::string>& gaps) {
  for (std::size_t i = 0; i < found.size() && i < kGapsReported; ++i) {
    const auto& gap = found[i];
    const std::string after = gap.sound_from == 0 ? "later records are uncertain. esper train --resume " + run +
                                                        " records the whole topology of its newest checkpoint again"
                                                  : "records from " + record_name(gap.sound_from) + " on are valid";
    gaps.push_back(describe(gap) + "; records up to " + record_name(gap.after) + " are valid, " + after);
  }
  if (found.size() > kGapsReported) {
    gaps.push_back(fmt::format("records are missing in {} more places after that", found.size() - kGapsReported));
  }
}

void report_losses(const std::vector<storage::JournalLoss>& losses, std::vector<std::string>& gaps) {
  for (const auto& [file, bytes] : losses) {
    const std::string what = bytes == 0 ? " is missing" : fmt::format(" is damaged: {} bytes were not read", bytes);
    gaps.push_back(file + what + "; the records before and after it are complete");
  }
}

// How much of the journal was read.
enum class Extent { kWhole, kTail };

void report_gaps(const storage::JournalScan& scan, const std::string& folder, Extent extent, RunHistory& run) {
  report_losses(scan.losses, run.gaps);
  report_tail(scan, run.history.num_records(), folder, run.gaps);
  report_damaged(run.history, run.gaps);
  if (run.history.left_out() > 0) {
    run.gaps.push_back(
        fmt::format("the journal is too long: its last {} records were ignored", run.history.left_out()));
  }
  if (run.history.records().empty()) return;
  const auto state = run.history.replay();
  const bool begins_on_purpose = extent == Extent::kTail && run.history.records().front().what == "segment";
  if (!begins_on_purpose) report_lost_beginning(run, state.starts_known, run.gaps);
  report_gaps_between(state.gaps, folder, run.gaps);
}

// Of the network's topology as the checkpoint itself has it; empty if it has none, or was deleted meanwhile.
std::string hash_in(base::FileSystem& files, const std::string& checkpoint) {
  try {
    if (files.kind_of(checkpoint + "/" + kRunName) != PathKind::kFile) return {};
    return base::text_at(read_run_json(files, checkpoint), "topology_hash");
  } catch (const base::Error&) {
    return {};
  }
}

// The newest checkpoints that journal and folder both have: two runs in one folder show where their networks differ.
void report_foreign_journal(base::FileSystem& files, const std::string& folder, RunHistory& run) {
  const auto& records = run.history.records();
  std::size_t compared = 0;
  for (auto record = records.rbegin(); record != records.rend() && compared < kCheckpointsCompared; ++record) {
    if (record->what != "checkpoint" || record->hash.empty()) continue;
    if (record->checkpoint.find('/') != std::string::npos) continue;
    const std::string hash = hash_in(files, folder + "/checkpoints/" + record->checkpoint);
    if (hash.empty()) continue;
    ++compared;
    if (hash == record->hash) continue;
    run.gaps.push_back(
        "the journal and the checkpoint " + record->checkpoint + " of " + folder +
        " describe two different networks (" + record->hash + " and " + hash +
        "): one of them may belong to another run; then the journal does not describe this run. esper train --resume " +
        folder + " compares them slot by slot");
    return;
  }
}

std::string why_nothing_is_known(base::FileSystem& files, const std::string& run, const RunHistory& read) {
  if (!read.history.records().empty()) return {};
  const auto records = read.history.num_records();
  const bool there = records > 0 || files.kind_of(run + "/journal") == PathKind::kFile;
  return (!there         ? run + " has no journal"
          : records == 0 ? "the journal of " + run + " is empty"
                         : fmt::format("the journal of {} has no growth records among {}", run, records)) +
         ": its growth is unknown. If the file is elsewhere, move it back; otherwise esper train --resume " + run +
         " records the network of its newest checkpoint and all later events";
}

}  // namespace

RunHistory read_journal(base::FileSystem& files, const std::string& run) {
  RunHistory read;
  const auto scan =
      storage::scan_journal(files, run + "/journal", [&](std::string_view text) { read.history.take(text); });
  report_gaps(scan, run, Extent::kWhole, read);
  read.nothing = why_nothing_is_known(files, run, read);
  return read;
}

RunHistory read_journal_since(base::FileSystem& files, const std::string& run, RunPlace place) {
  RunHistory read;
  const auto begins = [&](std::string_view text) {
    const auto segment = read_segment(text);
    return segment && segment->place <= place;
  };
  const auto scan = storage::scan_journal_from(files, run + "/journal", begins,
                                               [&](std::string_view text) { read.history.take(text); });
  report_gaps(scan, run, Extent::kTail, read);
  read.nothing = why_nothing_is_known(files, run, read);
  return read;
}

RunHistory read_run_history(const std::string& run) {
  storage::ConfinedFileSystem files(run, storage::Owner::kAnyone);
  require_run_folder(files, run);
  auto read = read_journal(files, run);
  if (!read.nothing.empty()) throw base::Error(base::ExitCode::kData, read.nothing);
  report_foreign_journal(files, run, read);
  return read;
}

}  // namespace esper::history
