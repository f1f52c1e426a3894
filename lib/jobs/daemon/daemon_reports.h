#pragma once
// All that the daemon reports without being asked: to its service manager, as telemetry, and in its log file, which it
// keeps small. On the loop's thread.

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "http/message.h"
#include "http/server.h"
#include "jobs/daemon/daemon_config.h"
#include "jobs/daemon/daemon_telemetry.h"
#include "jobs/daemon/job_census.h"
#include "jobs/daemon/notify.h"
#include "nissa/hub.h"

namespace esper::jobs {

struct ReportSetup {
  std::string state_dir, version;
  ServiceManager manager{};
  bool has_telemetry = true;
  std::int64_t log_max_bytes = 0;
};

class DaemonReports {
 public:
  // `unfinished`: jobs that have not ended. Telemetry whose file cannot be written is left out, with a warning.
  DaemonReports(boost::asio::io_context& loop, ReportSetup setup,
                const std::vector<std::pair<JobId, JobState>>& unfinished);

  // Clients can connect.
  void ready();
  // After a change of the job.
  void changed(const Job& job);
  // After a request that took so long.
  void answered(const http::Request& request, const http::Response& response, base::Duration took);
  void refused(const http::ServerCounts& counts);
  void stopping();

 private:
  void keep_log_small();

  ReportSetup setup_;
  JobCensus census_;
  ServiceNotices notices_;
  std::unique_ptr<nissa::Hub> hub_;
  std::optional<DaemonTelemetry> telemetry_;
};

}  // namespace esper::jobs
