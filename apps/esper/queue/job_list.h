#pragma once
// What `esper jobs` lists: once, and each time that something changes.

#include <string>

#include "esper/queue/daemon_client.h"
#include "esper/queue/job_table.h"

namespace esper {

struct JobListOptions {
  DaemonAddress address;
  std::string states, name;  // as given; empty: any
  std::int64_t sweep = 0;    // 0: any
  std::int64_t limit = 100'000;
};

// Asks for at most `limit` jobs, the newest ones; oldest first.
nlohmann::json listed_jobs(const JobListOptions& options, std::int64_t limit);
// For standard output, now. Reads how far running jobs are from their run folders.
TableStyle table_style(const nlohmann::json& jobs);

// Until Ctrl-C: the table, redrawn, on a terminal; else a line for each change.
int watch_jobs(const JobListOptions& options);

}  // namespace esper
