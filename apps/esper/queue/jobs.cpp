// `esper jobs` and `esper job`: what the queue has, and what is asked of one job.
#include <fmt/core.h>

#include <memory>

#include "base/error.h"
#include "base/names.h"
#include "base/text/json_struct.h"
#include "esper/front.h"
#include "esper/queue/daemon_client.h"
#include "esper/queue/job_table.h"
#include "esper/run_options.h"
#include "http/event_reader.h"
#include "http/target.h"
#include "jobs/daemon/daemon.h"
#include "jobs/job/job_states.h"

namespace esper {
namespace {

using base::Error;
using base::ExitCode;

struct ListOptions {
  DaemonAddress address;
  std::string states, name;
  std::int64_t sweep = 0;
};

struct JobOptions {
  DaemonAddress address;
  std::int64_t job = 0;
  std::int64_t priority = 0;
  double timeout_s = 0;
};

std::string target_of(std::int64_t job, const std::string& what = "") {
  return fmt::format("/v1/jobs/{}{}{}", job, what.empty() ? "" : "/", what);
}

int list(const ListOptions& options) {
  std::string target = "/v1/jobs?limit=100000";
  if (!options.states.empty()) target += "&state=" + http::percent_encoded(options.states);
  if (!options.name.empty()) target += "&name=" + http::percent_encoded(options.name);
  if (options.sweep > 0) target += fmt::format("&sweep={}", options.sweep);
  const auto answer = ask_daemon(options.address, "GET", target);
  if (options.address.json) {
    print_json(answer);
  } else {
    print(job_table(answer["jobs"]));
  }
  return 0;
}

int report_job(const JobOptions& options, const nlohmann::json& job) {
  if (options.address.json) {
    print_json(job);
  } else {
    print(job_details(job));
  }
  return 0;
}

jobs::JobState state_of(const nlohmann::json& job) {
  const auto state = base::from_name<jobs::JobState>(job.value("state", ""));
  if (!state) throw Error(ExitCode::kBug, "the daemon told of a state that this esper does not know");
  return *state;
}

// Of the training, as `esper train` would have ended.
int exit_code_of(const nlohmann::json& job) {
  if (state_of(job) == jobs::JobState::kCancelled) return static_cast<int>(ExitCode::kInterrupted);
  const auto& code = job["exit_code"];
  return code.is_number() ? code.get<int>() : static_cast<int>(ExitCode::kResources);
}

constexpr auto kLookAgain = std::chrono::seconds(30);

int wait(const JobOptions& options) {
  using Clock = std::chrono::steady_clock;
  const bool forever = options.timeout_s <= 0;
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(forever ? 0 : options.timeout_s));
  const http::Endpoint endpoint = http::UnixEndpoint{jobs::socket_of(state_dir_of(options.address))};
  while (true) {
    // Before the look at the job: no change between the two is missed.
    auto events = http::EventReader::open(endpoint, "/v1/events", kLookAgain);
    const auto job = ask_daemon(options.address, "GET", target_of(options.job));
    if (is_terminal(state_of(job))) {
      report_job(options, job);
      return exit_code_of(job);
    }
    if (!events) throw Error(ExitCode::kTryAgain, "the daemon's events cannot be followed: " + events.error());
    bool look = false;
    while (!look) {
      const auto left = deadline - Clock::now();
      if (!forever && left <= Clock::duration(0))
        throw Error(ExitCode::kTryAgain, fmt::format("job {} has not ended in time; it goes on", options.job));
      const auto event =
          events->next(forever ? base::Duration(kLookAgain) : std::min<base::Duration>(left, kLookAgain));
      if (!event) break;  // the daemon may come back
      const auto told = *event ? base::parse_json((*event)->data, http::kMostEventBytes) : base::failure("none");
      look = told && told->value("id", 0) == options.job;
    }
  }
}

using Run = int (*)(const JobOptions&);

CLI::App* add_job_command(CLI::App& parent, Front& front, const std::string& name, const std::string& help, Run run,
                          const std::shared_ptr<JobOptions>& options, const std::string& further = "") {
  CLI::App* command = add_command(parent, name, help, "esper job " + name + " 12" + further);
  command->add_option("job", options->job, "Job number")->required()->type_name("JOB")->check(CLI::PositiveNumber);
  add_daemon_options(*command, options->address);
  command->callback([&front, options, run] { front.run = [options, run] { return run(*options); }; });
  return command;
}

template <int Which>
int act(const JobOptions& options) {
  static constexpr std::array kActions{"cancel", "pause", "resume", "retry"};
  return report_job(options, ask_daemon(options.address, "POST", target_of(options.job, kActions[Which])));
}

int show(const JobOptions& options) {
  return report_job(options, ask_daemon(options.address, "GET", target_of(options.job)));
}

int set_priority(const JobOptions& options) {
  return report_job(options,
                    ask_daemon(options.address, "PATCH", target_of(options.job), {{"priority", options.priority}}));
}

}  // namespace

void add_jobs(Front& front) {
  CLI::App* command = add_command(front.root, "jobs", "List the daemon's jobs", "esper jobs --state queued,running");
  const auto options = std::make_shared<ListOptions>();
  command->add_option("--state", options->states, "Only of these states: " + base::all_names<jobs::JobState>())
      ->type_name("STATE,...");
  command->add_option("--name", options->name, "Only of this name")->type_name("NAME");
  command->add_option("--sweep", options->sweep, "Only of this sweep")->type_name("SWEEP")->check(CLI::PositiveNumber);
  add_daemon_options(*command, options->address);
  command->callback([&front, options] { front.run = [options] { return list(*options); }; });
}

void add_job(Front& front) {
  CLI::App* job = add_command(front.root, "job", "Show, wait for, stop and continue a job", "esper job show 12");
  job->require_subcommand(1);
  const auto options = std::make_shared<JobOptions>();
  add_job_command(*job, front, "show", "All that is known of a job", show, options);
  CLI::App* waiting = add_job_command(*job, front, "wait", "Wait until a job has ended; exits as its training did",
                                      wait, options, " --timeout 3600");
  waiting->add_option("--timeout", options->timeout_s, "Seconds; default: no limit")->type_name("S");
  add_job_command(*job, front, "cancel", "Save, stop and do not continue", act<0>, options);
  add_job_command(*job, front, "pause", "Save and stop, until `esper job resume`", act<1>, options);
  add_job_command(*job, front, "resume", "Let a paused or held job go on", act<2>, options);
  add_job_command(*job, front, "retry", "Let a job that ended without success go on from its newest checkpoint", act<3>,
                  options);
  CLI::App* priority = add_job_command(*job, front, "priority", "Higher ones first, and lower ones make room",
                                       set_priority, options, " 10");
  priority->add_option("priority", options->priority, "The new priority")->required()->type_name("N");
}

}  // namespace esper
