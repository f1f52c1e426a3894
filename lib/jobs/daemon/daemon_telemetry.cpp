#include "jobs/daemon/daemon_telemetry.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/clock.h"
#include "base/names.h"
#include "jobs/job/job_states.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::jobs {

using namespace leyline::literals;
using leyline::event;
using leyline::Level;
using leyline::metric;

namespace {

double milliseconds_in(base::Duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

std::string name_of_state(JobState state) { return std::string(base::name_of(state)); }

bool is_interrupted(const Job& job, const JobCensus::Step& step) {
  return step.before && is_active(*step.before) && step.purpose_before == StopPurpose::kNone &&
         step.after == JobState::kQueued && !job.cause.empty();
}

}  // namespace

DaemonTelemetry::DaemonTelemetry(boost::asio::io_context& loop, leyline::TelemetrySink& sink, const JobCensus& census)
    : loop_(loop), sink_(sink), census_(census) {}

void DaemonTelemetry::started(const std::string& version, std::int64_t recovered) {
  packet_.events.push_back(
      event("daemon.started"_event, Level::kInfo,
            {{"version", version}, {"pid", std::to_string(::getpid())}, {"recovered", std::to_string(recovered)}}));
  flush_later();
}

void DaemonTelemetry::changed(const Job& job, const JobCensus::Step& step) {
  if (step.after == JobState::kStarting) add_start(job);
  if (const auto begun = starting_.find(job.id); begun != starting_.end() && step.after != JobState::kStarting) {
    if (step.after == JobState::kRunning) {
      const auto took = std::chrono::steady_clock::now() - begun->second;
      packet_.metrics.push_back(metric("jobs.start_ms"_metric, milliseconds_in(took)));
    }
    starting_.erase(begun);
  }
  if (is_interrupted(job, step)) {
    packet_.metrics.push_back(metric("jobs.interruptions_total"_metric, static_cast<double>(++totals_.interruptions)));
    packet_.events.push_back(event(
        "jobs.interrupted"_event, Level::kWarning,
        {{"job", std::to_string(job.id)}, {"cause", job.cause}, {"interruptions", std::to_string(job.interruptions)}}));
  }
  if (is_terminal(step.after)) add_end(job);
  flush_later();
}

void DaemonTelemetry::add_start(const Job& job) {
  starting_[job.id] = std::chrono::steady_clock::now();
  if (job.attempts != 1) return;
  // By the wall clock, which may have been set back meanwhile.
  const auto waited_ms = std::max<std::int64_t>(job.started_ms - job.submitted_ms, 0);
  packet_.metrics.push_back(metric("jobs.queue_wait_s"_metric, static_cast<double>(waited_ms) * 1e-3));
}

void DaemonTelemetry::add_end(const Job& job) {
  const std::int64_t ended = ++totals_.ended[job.state];
  packet_.metrics.push_back(
      metric("jobs.ended_total"_metric, static_cast<double>(ended), {{"state", name_of_state(job.state)}}));
  const bool is_bad = job.state == JobState::kFailed || job.state == JobState::kDiverged;
  packet_.events.push_back(event("jobs.ended"_event, is_bad ? Level::kWarning : Level::kInfo,
                                 {{"job", std::to_string(job.id)},
                                  {"state", name_of_state(job.state)},
                                  {"exit_code", job.exit_code ? std::to_string(*job.exit_code) : ""},
                                  {"reason", job.reason},
                                  {"attempts", std::to_string(job.attempts)}}));
}

void DaemonTelemetry::submitted(base::Duration took) {
  packet_.metrics.push_back(metric("jobs.submit_ms"_metric, milliseconds_in(took)));
  packet_.metrics.push_back(metric("jobs.submitted_total"_metric, static_cast<double>(++totals_.submitted)));
  flush_later();
}

void DaemonTelemetry::refused(const http::ServerCounts& counts) {
  const auto add = [&](std::size_t now, std::size_t before, const char* reason) {
    if (now == before) return;
    packet_.metrics.push_back(metric("http.refused_total"_metric, static_cast<double>(now), {{"reason", reason}}));
    flush_later();
  };
  add(counts.refused_peers, totals_.refused.refused_peers, "user");
  add(counts.refused_full, totals_.refused.refused_full, "full");
  add(counts.refused_access, totals_.refused.refused_access, "access");
  totals_.refused = counts;
}

void DaemonTelemetry::stopped() {
  std::int64_t active = 0;
  for (const auto& [state, name] : names(JobState{}))
    if (is_active(state)) active += census_.count(state);
  packet_.events.push_back(event("daemon.stopped"_event, Level::kInfo, {{"running", std::to_string(active)}}));
  flush();
}

void DaemonTelemetry::flush_later() {
  if (std::exchange(is_flush_due_, true)) return;
  boost::asio::post(loop_, [this] {
    if (is_flush_due_) flush();
  });
}

void DaemonTelemetry::add_states() {
  for (const auto& [state, name] : names(JobState{})) {
    const std::int64_t count = census_.count(state);
    const auto [reported, is_first] = reported_.try_emplace(state, 0);
    if (is_terminal(state) || (!is_first && reported->second == count)) continue;
    reported->second = count;
    packet_.metrics.push_back(metric("jobs.state"_metric, static_cast<double>(count), {{"state", std::string(name)}}));
  }
}

void DaemonTelemetry::flush() {
  is_flush_due_ = false;
  add_states();
  leyline::TelemetryPacket packet = std::exchange(packet_, {});
  packet.packet_id = fmt::format("daemon-{}-{}", ::getpid(), ++packets_);
  packet.timestamp = base::rfc3339(base::Clock().wall());
  packet.source_subsystem = "jobs";
  leyline::finish_packet(packet, 0);
  sink_.emit(packet);
}

}  // namespace esper::jobs
