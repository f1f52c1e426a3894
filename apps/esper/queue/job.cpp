// `esper job`: what is known, asked and changed of single jobs.
#include <fmt/core.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "base/names.h"
#include "base/parse_number.h"
#include "base/text/json_fields.h"
#include "base/text/printable.h"
#include "base/text/standard_output.h"
#include "base/text/text_outlet.h"
#include "esper/front.h"
#include "esper/queue/daemon_client.h"
#include "esper/queue/job_commands.h"
#include "esper/queue/job_list.h"
#include "esper/queue/job_requests.h"
#include "esper/queue/job_run.h"
#include "esper/queue/job_table.h"
#include "esper/queue/wait.h"
#include "esper/runs/run_text.h"
#include "jobs/job/job_actions.h"

namespace esper {
namespace {

using base::Error;
using base::ExitCode;
using nlohmann::json;

struct JobsOptions {
  DaemonAddress address;
  std::vector<std::int64_t> ids;
  std::optional<double> timeout_s{};
};

int show(const JobsOptions& options) {
  print_job(options.address, ask_daemon(options.address, "GET", job_target(options.ids.front())));
  return 0;
}

int wait(const JobsOptions& options) {
  const auto jobs = wait_for_end(options.address, options.ids, options.timeout_s);
  if (jobs.size() == 1) {
    print_job(options.address, jobs.front());
  } else if (options.address.json) {
    print_json({{"jobs", json(jobs)}});
  } else {
    base::write_output(job_table(jobs, table_style(jobs)));
  }
  for (const auto& job : jobs) {
    if (const int code = exit_code_of(job); code != 0) return code;
  }
  return 0;
}

// Each job is tried, whatever becomes of the others. Exits as the first one that failed.
int act_on_each(const JobsOptions& options, const std::string& action) {
  json done = json::array(), refused = json::array();
  int code = 0;
  for (const auto id : options.ids) {
    try {
      done.push_back(ask_daemon(options.address, "POST", job_target(id, action)));
    } catch (const Error& error) {
      refused.push_back({{"job", id}, {"error", error.what()}});
      if (code == 0) code = static_cast<int>(error.code());
      // A refusal because of the job names it.
      const bool is_of_job = error.code() == ExitCode::kConfig;
      base::print_failure(is_of_job ? error.what() : fmt::format("job {}: {}", id, error.what()));
    }
  }
  if (options.address.json) {
    print_json({{"jobs", done}, {"errors", refused}});
  } else {
    for (const auto& job : done) print_line(job_line(job));
  }
  return code;
}

template <jobs::JobAction Action>
int act(const JobsOptions& options) {
  const std::string action(base::name_of(Action));
  if (options.ids.size() > 1) return act_on_each(options, action);
  print_job(options.address, ask_daemon(options.address, "POST", job_target(options.ids.front(), action)));
  return 0;
}

// Empty: it is a time to wait.
std::string wait_time_problem(const std::string& text) {
  constexpr double kLongestWaitS = 1e9;
  const auto seconds = base::parse_number<double>(text);
  if (seconds && *seconds >= 0 && *seconds <= kLongestWaitS) return "";
  return "needs seconds from 0 to 1000000000, not " + base::in_quotes(text);
}

// "3/90", of its run folder; "-" where there is none yet.
std::string epochs_of_run(const json& job) {
  const auto run = run_of_job(job);
  return run ? epochs_text(*run) : "-";
}

using Run = int (*)(const JobsOptions&);

CLI::App* add_jobs_command(CLI::App& parent, Front& front, const std::string& name, const std::string& help, Run run,
                           const std::string& example) {
  CLI::App* command = add_command(parent, name, help, "esper job " + name + " " + example);
  const auto options = std::make_shared<JobsOptions>();
  const bool is_one = example.find(' ') == std::string::npos;
  CLI::Option* ids = command->add_option("job", options->ids, is_one ? "Job number" : "Job numbers")
                         ->required()
                         ->type_name("JOB")
                         ->check(job_or_sweep_number());
  if (is_one) ids->expected(1);
  if (!is_one) ids->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  if (name == "wait") {
    command->add_option("--timeout", options->timeout_s, "Seconds; default: no limit")
        ->type_name("S")
        ->check(CLI::Validator(wait_time_problem, "FLOAT in [0 - 1e+09]"));
  }
  add_daemon_options(*command, options->address);
  command->callback([&front, options, run] { front.run = [options, run] { return run(*options); }; });
  return command;
}

}  // namespace

void print_job(const DaemonAddress& address, const json& job) {
  if (address.json) {
    print_json(job);
  } else {
    print(job_details(job, epochs_of_run(job)));
  }
}

void add_job(Front& front) {
  CLI::App* job = add_command(front.root, "job", "Show, wait for, stop, continue and change jobs", "esper job show 12");
  job->require_subcommand(1);
  add_jobs_command(*job, front, "show", "Show everything known about a job", show, "12");
  add_jobs_command(*job, front, "wait",
                   "Wait until jobs have ended; the exit code is the training's, with several jobs that of the first "
                   "that did not succeed",
                   wait, "12 13 --timeout 3600");
  using Action = jobs::JobAction;
  add_jobs_command(*job, front, "cancel", "Save, stop and do not continue", act<Action::kCancel>, "12 13");
  add_jobs_command(*job, front, "pause", "Save and stop, until `esper job resume`", act<Action::kPause>, "12 13");
  add_jobs_command(*job, front, "hold", "Keep a queued job from starting until `esper job resume`", act<Action::kHold>,
                   "12 13");
  add_jobs_command(*job, front, "resume", "Resume a paused or held job", act<Action::kResume>, "12 13");
  add_jobs_command(*job, front, "retry", "Continue a job that ended without success from its newest checkpoint",
                   act<Action::kRetry>, "12 13");
  add_job_priority(*job, front);
  add_job_edit(*job, front);
  add_job_set(*job, front);
}

}  // namespace esper
