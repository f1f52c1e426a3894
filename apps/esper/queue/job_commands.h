#pragma once
// Parts of `esper job` and `esper daemon`. On the thread that reads the command line.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "esper/front.h"
#include "esper/queue/daemon_client.h"

namespace esper {

// All that is known of the job, as text or JSON.
void print_job(const DaemonAddress& address, const nlohmann::json& job);

void add_job_priority(CLI::App& job, Front& front);
void add_job_edit(CLI::App& job, Front& front);
void add_job_set(CLI::App& job, Front& front);
void add_daemon_audit(CLI::App& daemon, Front& front, const std::shared_ptr<DaemonAddress>& address);
void add_daemon_install(CLI::App& daemon, Front& front, const std::shared_ptr<DaemonAddress>& address);

}  // namespace esper
