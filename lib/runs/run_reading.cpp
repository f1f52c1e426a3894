#include "runs/run_reading.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/parse_number.h"
#include "base/text/json_fields.h"
#include "base/text/printable.h"
#include "config/facts/metric_facts.h"
#include "config/run_config.h"
#include "config/yaml/yaml_document.h"
#include "history/growth/checkpoint_list.h"
#include "runs/changed_epochs.h"
#include "runs/config_text.h"
#include "runs/run_folder_reader.h"
#include "runs/run_stamp.h"
#include "storage/confined_file_system.h"
#include "storage/journal/journal.h"
#include "storage/numbered_name.h"

namespace esper::runs {
namespace {

using base::PathKind;
using storage::FolderUse;
using storage::WalkedEntry;

constexpr std::uint64_t kMostSummaryBytes = 16 << 20;
constexpr std::uint64_t kJournalStartBytes = 4 << 10;
constexpr std::int64_t kNsPerMs = 1'000'000;
// Without telemetry, what was written so much later than summary.json is of a later process. Less may be a copy's
// order.
constexpr std::int64_t kCopySlackMs = 2000;

// A file that the walk showed; where it is none, that is damage.
bool has_file(RunReading& reading, std::string_view name) {
  const WalkedEntry* entry = reading.find(name);
  if (entry != nullptr && entry->kind != PathKind::kFile) {
    reading.report(std::string(name) + (entry->is_link ? " is a link" : " is not a regular file"));
  }
  return entry != nullptr && entry->kind == PathKind::kFile;
}

void take_entries(RunReading& reading) {
  const storage::NumberedName earlier{"telemetry", ".jsonl"};
  const WalkedEntry* folder = reading.find("checkpoints");
  if (folder != nullptr && folder->kind != PathKind::kFolder) {
    reading.report(folder->is_link ? "checkpoints is a link" : "checkpoints is not a folder");
  }
  std::vector<history::CheckpointEntry> checkpoints;
  for (const WalkedEntry& entry : reading.walk.entries) {
    if (entry.kind == PathKind::kFile && earlier.number_of(entry.path) > 0) reading.telemetry.push_back(entry.path);
    constexpr std::string_view kCheckpoints = "checkpoints/";
    if (entry.kind != PathKind::kFolder || !entry.path.starts_with(kCheckpoints)) continue;
    const auto found = history::checkpoint_entry(reading.path + "/checkpoints", entry.path.substr(kCheckpoints.size()));
    if (found) checkpoints.push_back(*found);
  }
  if (has_file(reading, "telemetry.jsonl")) reading.telemetry.emplace_back("telemetry.jsonl");
  std::ranges::sort(checkpoints, {}, [](const auto& entry) { return std::pair(entry.epoch, entry.step); });
  for (const auto& checkpoint : checkpoints) reading.checkpoints.push_back(checkpoint.path);
}

void report_field(RunReading& reading, std::string_view path, std::optional<std::string_view> value) {
  reading.report(value ? fmt::format("config.yaml cannot be read: {} is {}", path, base::in_quotes(*value))
                       : fmt::format("config.yaml cannot be read: it has no {}", path));
}

// A field that every config.yaml has.
template <class Number>
std::optional<Number> number_in(RunReading& reading, const ConfigText& config, std::string_view path, Number least) {
  const auto value = config.value_of(path);
  const auto number = base::parse_number<Number>(value.value_or(""));
  if (number && *number >= least) return number;
  report_field(reading, path, value);
  return std::nullopt;
}

// Likewise, one of Name's names.
template <class Name>
std::string name_in(RunReading& reading, const ConfigText& config, std::string_view path) {
  const auto value = config.value_of(path);
  if (const auto named = base::from_name<Name>(value.value_or(""))) return std::string(base::name_of(*named));
  report_field(reading, path, value);
  return config.text_of(path);
}

// A field that those of earlier versions lack.
template <class Name>
std::optional<Name> optional_in(RunReading& reading, const ConfigText& config, std::string_view path) {
  const auto value = config.value_of(path);
  const auto named = base::from_name<Name>(value.value_or(""));
  if (!named && value) report_field(reading, path, value);
  return named;
}

// Every config.yaml has one, which is not empty, and a text, neither a list nor a map.
std::string config_name_in(RunReading& reading, const ConfigText& config) {
  const auto value = config.value_of("name");
  std::string name = config.text_of("name");
  if (name.empty() || value->starts_with('[') || value->starts_with('{')) report_field(reading, "name", value);
  return name;
}

void take_names(RunReading& reading, const ConfigText& config) {
  RunRecord& record = reading.config;
  record.config_name = config_name_in(reading, config);
  const auto task = optional_in<config::Task>(reading, config, "task");
  record.task = task ? base::name_of(*task) : "";
  record.dataset = name_in<config::DataKind>(reading, config, "data.kind");
  record.host = name_in<config::HostKind>(reading, config, "host.kind");
  const auto metric =
      optional_in<config::Metric>(reading, config, "training.metric").value_or(config::TrainingConfig().metric);
  const auto best = optional_in<config::Metric>(reading, config, "checkpoint.best_metric")
                        .value_or(config::CheckpointConfig().best_metric);
  record.metric = base::name_of(metric);
  record.goal = config::goal_of(metric);
  record.best_metric = base::name_of(best);
  record.best_goal = config::goal_of(best);
}

void take_config(RunReading& reading, const FolderReader& folder) {
  if (!has_file(reading, "config.yaml")) {
    const bool is_new = reading.telemetry.empty() && reading.checkpoints.empty() && reading.find("journal") == nullptr;
    return is_new ? void() : reading.report("it has no config.yaml");
  }
  const auto config = ConfigText::read(folder.read("config.yaml", config::YamlLimits::kBytes));
  if (!config) return reading.report("config.yaml cannot be read: " + config.error());
  take_names(reading, *config);
  reading.config.seed = number_in<std::uint64_t>(reading, *config, "seed", 0);
  reading.config.planned_epochs = number_in<std::int64_t>(reading, *config, "epochs", 1);
}

// Most runs have no such folder, which then costs nothing. Where it cannot be read, the planned epochs are unknown.
void take_changes(RunReading& reading, const FolderReader&) {
  if (reading.find("changes") == nullptr) return;
  const auto of_config = std::exchange(reading.config.planned_epochs, std::nullopt);
  const auto changed = changed_epochs(reading.path);
  reading.config.planned_epochs = changed ? changed : of_config;
}

void take_summary(RunReading& reading, const FolderReader& folder) {
  if (!has_file(reading, "summary.json")) return;
  const auto summary = read_summary(folder.read("summary.json", kMostSummaryBytes));
  if (!summary) return reading.report("summary.json cannot be read: " + summary.error());
  reading.summary = *summary;
}

// Whether the journal's first record may be a fork's. It is short for all other runs with few slots.
bool may_be_fork(const FolderReader& folder, const std::string& journal) {
  const std::string start = folder.open(journal).read(0, kJournalStartBytes);
  return start.size() == kJournalStartBytes || start.find("\"forked\"") != std::string::npos;
}

// A fork's journal begins with where it came from.
void take_parent(RunReading& reading, const FolderReader& folder) {
  const std::string oldest = storage::NumberedName{"journal", ""}.of(1);
  const std::string name = reading.find(oldest) != nullptr ? oldest : "journal";
  if (!has_file(reading, name) || !may_be_fork(folder, name)) return;
  storage::ConfinedFileSystem files(reading.path, storage::Owner::kAnyone);
  const auto first = storage::first_journal_record(files, reading.path + "/" + name);
  if (!first || first->find("\"forked\"") == std::string::npos) return;
  const auto record = nlohmann::json::parse(*first, nullptr, false);
  if (base::text_at(record, "what") != "forked") return;
  reading.parent = base::text_at(record, "parent");
  reading.parent_checkpoint = base::text_at(record, "checkpoint");
}

// A run may have been resumed and killed since it wrote summary.json.
bool is_newest(const RunReading& reading, const Summary& summary) {
  if (!reading.end.timestamp.empty() && !summary.until.empty()) return reading.end.timestamp <= summary.until;
  const WalkedEntry *written = reading.find("summary.json"), *journal = reading.find("journal");
  if (written == nullptr || journal == nullptr) return true;
  return (journal->modified_ns - written->modified_ns) / kNsPerMs <= kCopySlackMs;
}

// Of files that telemetry.limit_mb allows the oldest are deleted.
bool has_first_telemetry(const RunReading& reading) {
  const storage::NumberedName earlier{"telemetry", ".jsonl"};
  return reading.telemetry.size() == 1 || (!reading.telemetry.empty() && reading.telemetry.front() == earlier.of(1));
}

// No more of the telemetry than the summary leaves open.
void take_telemetry(RunReading& reading, const FolderReader& folder) {
  OpenFiles files;
  if (reading.telemetry.size() > 2) files.push_back(folder.open(reading.telemetry.front()));
  for (std::size_t i = reading.telemetry.size() - std::min<std::size_t>(reading.telemetry.size(), 2);
       i < reading.telemetry.size(); ++i) {
    files.push_back(folder.open(reading.telemetry[i]));
  }
  reading.start = read_telemetry_start(files, has_first_telemetry(reading));
  if (reading.summary) {
    reading.end = read_telemetry_end(files, EndDetail::kTimestamp);
    reading.summary_is_newest = is_newest(reading, *reading.summary);
    if (reading.has_course_in_summary()) return;
  }
  reading.end = read_telemetry_end(files, EndDetail::kAll);
}

// One part, whose failure is the folder's.
template <class Take>
void attempt(RunReading& reading, const Take& take) {
  try {
    take();
  } catch (const base::Error& error) {
    reading.report(error.what());
  }
}

}  // namespace

const WalkedEntry* RunReading::find(std::string_view entry) const {
  const auto found = std::ranges::find(walk.entries, entry, &WalkedEntry::path);
  return found == walk.entries.end() ? nullptr : &*found;
}

void RunReading::report(const std::string& problem) {
  if (damage.empty()) damage = base::printable_line(base::shortened(problem, 400));
}

RunReading read_run(const std::string& path) {
  RunReading reading;
  reading.path = path;
  attempt(reading, [&] {
    const FolderReader folder(path);
    // Before anything else is read: a process that ends meanwhile counts as running, not as killed.
    attempt(reading, [&] { reading.use = storage::folder_use(folder.descriptor(), path); });
    reading.walk = storage::walk_folder(folder.descriptor());
    reading.stamp = run_stamp(reading.walk, reading.use);
    if (!reading.walk.incomplete.empty()) reading.report(reading.walk.incomplete);
    take_entries(reading);
    for (const auto take : {take_config, take_changes, take_summary, take_parent, take_telemetry}) {
      attempt(reading, [&] { take(reading, folder); });
    }
  });
  return reading;
}

}  // namespace esper::runs
