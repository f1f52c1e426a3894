// `esper submit`: puts a run file into the daemon's queue.
#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/text/json_fields.h"
#include "config/writing/write.h"
#include "esper/front.h"
#include "esper/queue/byte_size.h"
#include "esper/queue/daemon_answer.h"
#include "esper/queue/daemon_client.h"
#include "esper/queue/repeat.h"
#include "esper/run_options.h"
#include "jobs/job/job.h"

namespace esper {
namespace {

struct SubmitOptions {
  DaemonAddress address;
  ConfigOptions config;
  jobs::Submission submission;
  std::optional<std::string> memory;
  std::string repeat;
  bool no_daemon_start = false;
};

std::string submitted_line(const nlohmann::json& job) {
  return fmt::format("job {}: {}, run folder {}", base::number_at<std::int64_t>(job, "id").value_or(0),
                     base::text_at(job, "state"), base::text_at(job, "run_dir"));
}

int submit(SubmitOptions options) {
  const config::LoadedConfig loaded = load_for_queue(options.config);
  report_warnings(loaded);
  const config::RunConfig& config = loaded.config;
  jobs::Submission& submission = options.submission;
  submission.config = config::resolved_yaml(config);
  submission.folder = working_folder();
  submission.runs_dir = absolute_path(config.runs_dir);
  if (!submission.run_dir.empty()) submission.run_dir = absolute_path(submission.run_dir);
  if (submission.name.empty()) submission.name = config.name;
  submission.needs.threads = config.device.threads;
  if (options.memory) submission.needs.memory_bytes = bytes_in("--memory", *options.memory);
  submission.token = new_submission_token();
  if (!options.repeat.empty()) submission.seeds = seeds_in(options.repeat);
  if (!submission.seeds.empty() && sets(options.config.assignments, "seed"))
    throw base::Error(base::ExitCode::kConfig, "--set seed and --repeat seeds exclude each other: give one of them");
  const auto start = options.no_daemon_start ? StartDaemon::kNo : StartDaemon::kIfNeeded;
  options.address.json = options.config.json;
  const auto answer = submit_to_daemon(options.address, "/v1/jobs", base::to_json(submission), start);
  if (options.config.json) {
    print_json(answer);
  } else if (submission.seeds.empty()) {
    print_line(submitted_line(answer));
  } else {
    for (const auto& job : list_of(options.address, answer, "jobs")) print_line(submitted_line(job));
  }
  return 0;
}

}  // namespace

void add_submit(Front& front) {
  CLI::App* command = add_command(front.root, "submit", "Submit a run file to the daemon's queue",
                                  "esper submit configs/run/digits.yaml --set epochs=5 --priority 10\n"
                                  "         esper submit configs/run/digits.yaml --repeat seeds=1..5");
  const auto options = std::make_shared<SubmitOptions>();
  add_config_options(*command, options->config);
  command
      ->add_option(
          "--state-dir", options->address.state_dir,
          "The daemon's folder; default: $ESPER_DAEMON_DIR, else esper/daemon in $XDG_STATE_HOME or ~/.local/state")
      ->type_name("DIR")
      ->check(refuse_empty);
  jobs::Submission& submission = options->submission;
  command->add_option("--name", submission.name, "Default: the run file's name")
      ->type_name("NAME")
      ->check(refuse_empty);
  command->add_option("--run-dir", submission.run_dir, "Run folder to create; default: a new one in runs_dir")
      ->type_name("DIR")
      ->check(refuse_empty);
  command
      ->add_option("--priority", submission.priority,
                   "Jobs with higher ones start first, and running jobs with lower ones make room; default: 0")
      ->type_name("N")
      ->check(priority_number());
  command->add_option("--after", submission.after, "Start once these jobs have succeeded: --after 3,4")
      ->type_name("JOB,...")
      ->delimiter(',')
      ->check(whole_number(1))
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  submission.needs.gpus = jobs::kGpusByDevice;
  command
      ->add_option("--gpus", submission.needs.gpus,
                   "Number of GPUs for the job; default: by the run file's device.kind, 1 for cuda, and for auto if "
                   "there are any")
      ->type_name("N")
      ->check(CLI::Range(0, 64));
  command
      ->add_option("--memory", options->memory,
                   "Memory that must be available for it, like 4GiB; default: what its run is forecast to take")
      ->type_name("SIZE");
  command
      ->add_option("--repeat", options->repeat,
                   "One job for each seed, with the seed in its name: seeds=1..5 or seeds=1,2,7; at most 10000")
      ->type_name("seeds=LIST")
      ->check(refuse_empty);
  command->add_flag("--hold", submission.hold, "Wait until `esper job resume`");
  command->add_flag("--no-daemon-start", options->no_daemon_start,
                    "Fail if no daemon is running, rather than start one");
  command->callback([&front, options] { front.run = [options] { return submit(*options); }; });
}

}  // namespace esper
