#include "jobs/daemon/daemon_reports.h"

#include <limits>

#include "base/error.h"
#include "jobs/job/job_states.h"
#include "jobs/process/log_files.h"
#include "nissa/jsonl_sink.h"
#include "nissa/log.h"

namespace esper::jobs {
namespace {

constexpr std::size_t kMostPackets = 1024;  // that wait for the disk
constexpr nissa::TelemetryLimits kTelemetryLimits{.file_bytes = 16u << 20, .total_bytes = 64u << 20};

std::unique_ptr<nissa::Hub> hub_of(const ReportSetup& setup) {
  if (!setup.has_telemetry) return nullptr;
  try {
    using nissa::JsonlSink;
    auto sink = std::make_unique<JsonlSink>(setup.state_dir + "/telemetry.jsonl", JsonlSink::Target::kRegularFile,
                                            JsonlSink::kWriteDeadline, kTelemetryLimits);
    std::vector<nissa::NamedSink> sinks;
    sinks.push_back({"jsonl", std::move(sink)});
    return std::make_unique<nissa::Hub>(kMostPackets, std::move(sinks));
  } catch (const base::Error& error) {
    nissa::log::warning(std::string("there is no telemetry of the daemon: ") + error.what());
    return nullptr;
  }
}

}  // namespace

DaemonReports::DaemonReports(boost::asio::io_context& loop, ReportSetup setup,
                             const std::vector<std::pair<JobId, JobState>>& unfinished)
    : setup_(std::move(setup)), census_(unfinished), notices_(loop, setup_.manager), hub_(hub_of(setup_)) {
  if (!hub_) return;
  telemetry_.emplace(loop, *hub_, census_);
  std::int64_t recovered = 0;
  for (const auto& [job, state] : unfinished) recovered += is_active(state) ? 1 : 0;
  telemetry_->started(setup_.version, recovered);
}

void DaemonReports::ready() {
  notices_.ready();
  notices_.status(census_.text());
  keep_log_small();
}

void DaemonReports::changed(const Job& job) {
  const auto step = census_.see(job);
  if (!step) return;
  notices_.status(census_.text());
  if (telemetry_) telemetry_->changed(job, *step);
  keep_log_small();
}

void DaemonReports::answered(const http::Request& request, const http::Response& response, base::Duration took) {
  const bool is_submission = request.method == "POST" && request.path == "/v1/jobs" && response.status < 300;
  if (telemetry_ && is_submission) telemetry_->submitted(took);
  keep_log_small();
}

void DaemonReports::refused(const http::ServerCounts& counts) {
  if (telemetry_) telemetry_->refused(counts);
}

void DaemonReports::stopping() {
  notices_.stopping();
  if (telemetry_) telemetry_->stopped();
}

void DaemonReports::keep_log_small() {
  const auto rotated = rotate_own_log(setup_.state_dir + "/daemon.log", setup_.log_max_bytes);
  if (rotated) return;
  nissa::log::warning(rotated.error() + "; it is left as it is");
  setup_.log_max_bytes = std::numeric_limits<std::int64_t>::max();
}

}  // namespace esper::jobs
