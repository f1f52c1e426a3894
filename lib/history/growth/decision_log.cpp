#include "history/growth/decision_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text/printable.h"
#include "history/growth/lineage.h"
#include "history/growth/run_history.h"
#include "history/require_run_folder.h"
#include "storage/bytes.h"
#include "storage/confined_file_system.h"

namespace esper::history {
namespace {

using base::Error;
using base::ExitCode;
using leyline::DecisionProcess;
using leyline::DecisionRecord;

constexpr std::size_t kBlockBytes = 256 << 10;
// So many damaged lines are named one by one.
constexpr std::size_t kDamagedNamed = 20;

RunPlace place_of(const DecisionRecord& record) {
  return {record.observation.current_epoch, static_cast<std::int64_t>(record.observation.global_step)};
}

std::string path_of(const std::string& run) { return run + "/" + kDecisionLog; }

// Puts the lines of one file together.
class LogReader {
 public:
  explicit LogReader(std::string path) : path_(std::move(path)) {}

  void take(std::string_view block) {
    while (!block.empty()) {
      const auto end = block.find('\n');
      append(block.substr(0, end));
      if (end == std::string_view::npos) return;
      finish_line();
      block.remove_prefix(end + 1);
    }
  }

  DecisionLog finish() {
    if (!line_.empty()) finish_line();
    if (log_.damaged > kDamagedNamed) {
      log_.gaps.push_back(fmt::format("{} more lines of {} were ignored", log_.damaged - kDamagedNamed, path_));
    }
    return std::move(log_);
  }

 private:
  // One byte beyond the limit is enough to refuse the line.
  void append(std::string_view part) {
    const auto room = leyline::kMostDecisionLine + 1 - line_.size();
    line_.append(part.substr(0, room));
  }

  void finish_line() {
    ++number_;
    if (!line_.empty()) take_line(leyline::read_decision_line(line_));
    line_.clear();
  }

  void take_line(base::Expected<leyline::DecisionLine> read) {
    if (!read) {
      if (++log_.damaged > kDamagedNamed) return;
      log_.gaps.push_back(
          fmt::format("line {} of {} was ignored: {}", number_, path_, base::printable_line(read.error())));
    } else if (auto* process = std::get_if<DecisionProcess>(&*read)) {
      drop_after({process->epoch, static_cast<std::int64_t>(process->step)});
      log_.processes.push_back(std::move(*process));
    } else {
      add(std::get<DecisionRecord>(*std::move(read)));
    }
  }

  void add(DecisionRecord record) {
    if (log_.processes.empty()) {
      log_.gaps.push_back(fmt::format("{} does not say which process made its first decisions", path_));
      log_.processes.emplace_back().policy = record.policy;
    }
    // One that is there already was made again.
    while (!log_.entries.empty() && place_of(log_.entries.back().record) >= place_of(record)) {
      log_.entries.pop_back();
      ++log_.given_up;
    }
    log_.entries.push_back({std::move(record), log_.processes.size() - 1, number_});
  }

  void drop_after(RunPlace place) {
    log_.given_up += std::erase_if(log_.entries, [&](const auto& entry) { return place_of(entry.record) > place; });
  }

  std::string path_, line_;
  DecisionLog log_;
  std::size_t number_ = 0;
};

DecisionLog read_own(const std::string& run) {
  storage::ConfinedFileSystem files(run, storage::Owner::kAnyone);
  require_run_folder(files, run);
  const auto path = path_of(run);
  if (files.kind_of(path) == base::PathKind::kNothing) {
    throw Error(ExitCode::kData,
                fmt::format("run {} has no {}: it was trained before decisions were logged, has not finished an epoch, "
                            "or its policy is none; esper train --resume {} logs the decisions of the epochs to come",
                            run, kDecisionLog, run));
  }
  auto file = files.open(path, base::OpenMode::kRead);
  LogReader reader(path);
  std::vector<std::byte> block(kBlockBytes);
  for (std::uint64_t at = 0; at < kMostDecisionLogBytes;) {
    const auto got = file.read_at(at, block);
    reader.take(storage::text_of({block.data(), got}));
    at += got;
    if (got < block.size()) break;
  }
  return reader.finish();
}

// Puts what an ancestor decided before it was forked ahead of the log.
void begin_with(const Ancestor& ancestor, DecisionLog& log) {
  auto earlier = read_own(ancestor.run);
  // A question that was open at the fork was answered in the fork, too.
  std::erase_if(earlier.entries, [&](const auto& entry) {
    const auto place = place_of(entry.record);
    const bool is_made_again = !log.entries.empty() && place >= place_of(log.entries.front().record);
    return place > ancestor.until || is_made_again;
  });
  for (auto& entry : log.entries) entry.process += earlier.processes.size();
  std::ranges::move(log.processes, std::back_inserter(earlier.processes));
  std::ranges::move(log.entries, std::back_inserter(earlier.entries));
  std::ranges::move(log.gaps, std::back_inserter(earlier.gaps));
  log.processes = std::move(earlier.processes);
  log.entries = std::move(earlier.entries);
  log.gaps = std::move(earlier.gaps);
  log.damaged += earlier.damaged;
}

void add_ancestors(const std::string& run, DecisionLog& log) {
  try {
    const auto lineage = read_lineage(run, read_run_history(run).history);
    for (const auto& ancestor : lineage.ancestors) begin_with(ancestor, log);
    if (lineage.unread) {
      log.gaps.push_back(fmt::format("what {} decided up to {} is not known: that run could not be read",
                                     lineage.unread->run, place_text(lineage.unread->until)));
    }
  } catch (const Error& error) {
    log.gaps.push_back(fmt::format("the decisions before the fork, if it is one, are not known: {}", error.what()));
  }
}

}  // namespace

DecisionLog read_decision_log(const std::string& run) {
  auto log = read_own(run);
  add_ancestors(run, log);
  return log;
}

void require_decisions(const DecisionLog& log, const std::string& run) {
  if (!log.entries.empty() || log.damaged > 0) return;
  throw Error(ExitCode::kData, fmt::format("run {} has no decisions yet", run));
}

const DecisionEntry& decision_after(const DecisionLog& log, std::uint32_t epoch) {
  const auto found = std::ranges::find(log.entries.rbegin(), log.entries.rend(), epoch,
                                       [](const auto& entry) { return entry.record.observation.current_epoch; });
  if (found != log.entries.rend()) return *found;
  if (log.entries.empty()) throw Error(ExitCode::kConfig, "the log has no decisions yet");
  throw Error(ExitCode::kConfig,
              fmt::format("there is no decision after epoch {}; the log has those after epochs {} to {}", epoch,
                          log.entries.front().record.observation.current_epoch,
                          log.entries.back().record.observation.current_epoch));
}

}  // namespace esper::history
