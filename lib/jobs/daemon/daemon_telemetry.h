#pragma once
// What the daemon reports of its queue as telemetry. Whatever happens in one turn of the loop becomes one packet;
// nothing is sent while nothing happens. On the loop's thread.

#include <array>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "base/quantity.h"
#include "http/server.h"
#include "jobs/daemon/job_census.h"
#include "leyline/telemetry/telemetry_packet.h"

namespace esper::jobs {

class DaemonTelemetry {
 public:
  // The sink and the census must outlive this object.
  DaemonTelemetry(boost::asio::io_context& loop, leyline::TelemetrySink& sink, const JobCensus& census);

  // `recovered`: jobs that had processes when the daemon before this one ended.
  void started(const std::string& version, std::int64_t recovered);
  // `job` is in the census already.
  void changed(const Job& job, const JobCensus::Step& step);
  // The time from the request to its answer.
  void submitted(base::Duration took);
  // Those since the server began; sent where there are new ones.
  void refused(const http::ServerCounts& counts);
  // The last packet, sent at once.
  void stopped();

 private:
  void flush_later();
  void flush();
  void add_start(const Job& job);
  void add_end(const Job& job);
  void add_states();

  boost::asio::io_context& loop_;
  leyline::TelemetrySink& sink_;
  const JobCensus& census_;
  leyline::TelemetryPacket packet_;  // of this turn
  bool is_flush_due_ = false;
  std::int64_t packets_ = 0;
  struct Totals {
    std::int64_t submitted = 0, interruptions = 0;
    std::map<JobState, std::int64_t> ended{};
    http::ServerCounts refused{};
  } totals_;
  std::map<JobState, std::int64_t> reported_;  // numbers of jobs that were sent last
  std::map<JobId, std::chrono::steady_clock::time_point> starting_;
};

}  // namespace esper::jobs
