#include "esper/queue/job_list.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/file_system.h"
#include "base/text/json_fields.h"
#include "base/text/text_outlet.h"
#include "esper/queue/daemon_answer.h"
#include "esper/queue/job_requests.h"
#include "http/target.h"
#include "jobs/job/job_states.h"
#include "runs/telemetry_end.h"

namespace esper {
namespace {

constexpr std::size_t kMostRunFoldersRead = 32;

// Of the newest telemetry file alone: enough for a table.
std::optional<std::int64_t> newest_epoch(const std::string& run_dir) {
  try {
    runs::OpenFiles files;
    files.push_back(runs::FolderReader(run_dir).open("telemetry.jsonl"));
    const auto end = runs::read_telemetry_end(files, runs::EndDetail::kAll);
    return end.epoch ? end.epoch->epoch : std::nullopt;
  } catch (const base::IoError&) {
    return std::nullopt;
  }
}

std::map<std::int64_t, std::string> progress_of(const nlohmann::json& jobs) {
  std::map<std::int64_t, std::string> progress;
  for (const auto& job : jobs) {
    if (!is_active(state_of(job)) || progress.size() >= kMostRunFoldersRead) continue;
    const auto epoch = newest_epoch(base::text_at(job, "run_dir"));
    if (epoch) progress[base::number_at<std::int64_t>(job, "id").value_or(0)] = fmt::format("epoch {}", *epoch);
  }
  return progress;
}

}  // namespace

nlohmann::json listed_jobs(const JobListOptions& options, std::int64_t limit) {
  std::string target = fmt::format("/v1/jobs?limit={}", limit);
  if (!options.states.empty()) target += "&state=" + http::percent_encoded(options.states);
  if (!options.name.empty()) target += "&name=" + http::percent_encoded(options.name);
  if (options.sweep > 0) target += fmt::format("&sweep={}", options.sweep);
  return ask_daemon(options.address, "GET", target);
}

void report_more(const JobListOptions& options, const nlohmann::json& answer) {
  if (base::member(answer, "more") != true) return;
  const auto listed = static_cast<std::int64_t>(list_of(options.address, answer, "jobs").size());
  const bool is_full = listed >= options.most();
  if (is_full && options.limit) return;
  base::standard_error().write(fmt::format(
      "esper: the newest {} jobs are listed, and there are older ones{}; --state, --name and --sweep search all\n",
      listed, is_full ? ": --limit lists up to 100000" : ", which do not fit into one answer"));
}

TableStyle table_style(const nlohmann::json& jobs) {
  winsize size{};
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return {.now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(base::Clock().wall()).count(),
          .columns = is_terminal ? size.ws_col : std::size_t{0},
          .has_colours = has_coloured_output(),
          .progress = progress_of(jobs)};
}

}  // namespace esper
