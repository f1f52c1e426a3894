#pragma once
// What `esper jobs` lists: once, and each time that something changes. One thread, that of signals.

#include <cstdint>
#include <optional>
#include <string>

#include "esper/queue/daemon_client.h"
#include "esper/queue/job_table.h"

namespace esper {

struct JobListOptions {
  DaemonAddress address;
  std::string states, name;             // as given; empty: any
  std::int64_t sweep = 0;               // 0: any
  std::optional<std::int64_t> limit{};  // as given

  std::int64_t most() const { return limit.value_or(10'000); }
};

// Asks for at most `limit` jobs, the newest ones; oldest first. `more` of the answer: there are older ones.
nlohmann::json listed_jobs(const JobListOptions& options, std::int64_t limit);
// Says on standard error that there are older jobs than those of an answer, and how to see them. Nothing where the user
// asked for so many and no more.
void report_more(const JobListOptions& options, const nlohmann::json& answer);
// For standard output, now. Reads how far running jobs are from their run folders.
TableStyle table_style(const nlohmann::json& jobs);

// Until Ctrl-C: the table, redrawn, on a terminal; else a line for each change.
int watch_jobs(const JobListOptions& options);

}  // namespace esper
