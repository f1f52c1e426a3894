// `esper submit`: puts a run file into the daemon's queue.
#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/text/byte_size.h"
#include "config/writing/write.h"
#include "esper/front.h"
#include "esper/queue/daemon_client.h"
#include "esper/run_options.h"
#include "jobs/job/job.h"

namespace esper {
namespace {

struct SubmitOptions {
  DaemonAddress address;
  ConfigOptions config;
  jobs::Submission submission;
  std::string memory;
  bool no_daemon_start = false;
};

std::int64_t bytes_in(const std::string& text) {
  const auto bytes = base::parse_byte_size(text);
  if (!bytes)
    throw base::Error(base::ExitCode::kConfig, "--memory: needs a whole number and a unit, like 4GiB or 500MiB");
  return *bytes;
}

int submit(SubmitOptions options) {
  const config::RunConfig config = load_or_throw(options.config).config;
  jobs::Submission& submission = options.submission;
  submission.config = config::resolved_yaml(config);
  submission.folder = std::filesystem::current_path().string();
  submission.runs_dir = absolute_path(config.runs_dir);
  if (!submission.run_dir.empty()) submission.run_dir = absolute_path(submission.run_dir);
  if (submission.name.empty()) submission.name = config.name;
  submission.needs.threads = config.device.threads;
  if (!options.memory.empty()) submission.needs.memory_bytes = bytes_in(options.memory);
  submission.token = new_submission_token();
  const auto start = options.no_daemon_start ? StartDaemon::kNo : StartDaemon::kIfNeeded;
  options.address.json = options.config.json;
  const auto job = ask_daemon(options.address, "POST", "/v1/jobs", base::to_json(submission), start);
  if (options.config.json) {
    print_json(job);
  } else {
    print_line(
        fmt::format("job {}: {}, run folder {}", job.value("id", 0), job.value("state", ""), job.value("run_dir", "")));
  }
  return 0;
}

}  // namespace

void add_submit(Front& front) {
  CLI::App* command = add_command(front.root, "submit", "Put a run file into the daemon's queue",
                                  "esper submit configs/run/digits.yaml --set epochs=5 --priority 10");
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
  command->add_option("--priority", submission.priority, "Higher ones first, and lower ones make room; default: 0")
      ->type_name("N");
  command->add_option("--after", submission.after, "Begin once these jobs have succeeded")
      ->type_name("JOB")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  submission.needs.gpus = jobs::kGpusByDevice;
  command
      ->add_option(
          "--gpus", submission.needs.gpus,
          "How many GPUs it gets; default: by the run file's device.kind, 1 for cuda, and for auto where there are any")
      ->type_name("N")
      ->check(CLI::Range(0, 64));
  command
      ->add_option("--memory", options->memory,
                   "Memory that must be left for it, like 4GiB; default: what its run is forecast to take")
      ->type_name("SIZE");
  command->add_flag("--hold", submission.hold, "Wait until `esper job resume`");
  command->add_flag("--no-daemon-start", options->no_daemon_start, "Fail where no daemon runs, rather than start one");
  command->callback([&front, options] { front.run = [options] { return submit(*options); }; });
}

}  // namespace esper
