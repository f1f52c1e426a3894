// `esper job edit`, `priority` and `set`: what changes after a job was submitted.
#include <fmt/core.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "base/text/json_fields.h"
#include "base/text/problem.h"
#include "config/loading/live_settings.h"
#include "config/loading/load.h"
#include "config/loading/training_check.h"
#include "config/writing/write.h"
#include "esper/queue/byte_size.h"
#include "esper/queue/daemon_answer.h"
#include "esper/queue/job_commands.h"
#include "esper/queue/job_requests.h"
#include "esper/run_options.h"
#include "esper/setting_text.h"
#include "jobs/job/job_change.h"

namespace esper {
namespace {

using nlohmann::json;

struct EditOptions {
  DaemonAddress address;
  std::int64_t job = 0;
  jobs::JobChange change;
  std::vector<std::int64_t> after;
  bool after_none = false;
  std::optional<std::string> memory;
  std::vector<std::string> assignments;
};

// The run file that the job has, with the assignments on top. The daemon refuses it where another edit came between.
void edit_run_file(const EditOptions& options, jobs::JobChange& change) {
  if (sets(options.assignments, "name"))
    throw base::Error(base::ExitCode::kConfig, "--set name does not rename a job: give --name NAME");
  if (sets(options.assignments, "runs_dir")) {
    throw base::Error(base::ExitCode::kConfig,
                      "--set runs_dir: a job's run folder is fixed when it is submitted; cancel the job and submit it "
                      "again, with --set runs_dir or --run-dir");
  }
  change.config_before = ask_daemon_text(options.address, job_target(options.job, "config"));
  auto loaded = config::read_run_config_text(*change.config_before, fmt::format("run file of job {}", options.job),
                                             options.assignments);
  config::check_for_training(loaded);
  if (!loaded.problems.empty()) throw base::ConfigError(std::move(loaded.problems));
  change.config = config::resolved_yaml(loaded.config);
  change.threads = loaded.config.device.threads;
}

// Fields that are not given are left out.
json given_fields(const jobs::JobChange& change) {
  json document = base::to_json(change);
  std::erase_if(document.get_ref<json::object_t&>(), [](const auto& field) { return field.second.is_null(); });
  return document;
}

int edit(const EditOptions& options) {
  jobs::JobChange change = options.change;
  if (!options.after.empty() || options.after_none) change.after = jobs::JobIds{options.after};
  if (options.memory) change.memory_bytes = bytes_in("--memory", *options.memory);
  if (!options.assignments.empty()) edit_run_file(options, change);
  if (change == jobs::JobChange{})
    throw base::Error(base::ExitCode::kConfig, "nothing to change; esper job edit --help lists what can be changed");
  print_job(options.address, ask_daemon(options.address, "PATCH", job_target(options.job), given_fields(change)));
  return 0;
}

struct SetOfJob {
  DaemonAddress address;
  std::int64_t job = 0;
  std::vector<std::string> assignments;
};

int set_of_job(const SetOfJob& options) {
  const auto answer =
      ask_daemon(options.address, "POST", job_target(options.job, "set"), {{"assignments", options.assignments}});
  if (options.address.json) {
    print_json(answer);
    return 0;
  }
  const auto changes =
      answer_in<std::vector<history::FieldChange>>(options.address, list_of(options.address, answer, "changes"));
  const bool trains = base::text_at(answer, "from") == "end_of_epoch";
  print(setting_text(changes, trains ? SettingHolds::kFromEndOfEpoch : SettingHolds::kFromResume));
  return 0;
}

void add_job_option(CLI::App& command, std::int64_t& job) {
  command.add_option("job", job, "Job number")->required()->type_name("JOB")->check(job_or_sweep_number());
}

}  // namespace

void add_job_priority(CLI::App& job, Front& front) {
  CLI::App* command =
      add_command(job, "priority", "Jobs with higher ones start first, and running jobs with lower ones make room",
                  "esper job priority 12 10");
  const auto options = std::make_shared<EditOptions>();
  add_job_option(*command, options->job);
  command->add_option("priority", options->change.priority, "The new priority")
      ->required()
      ->type_name("N")
      ->check(priority_number());
  add_daemon_options(*command, options->address);
  command->callback([&front, options] { front.run = [options] { return edit(*options); }; });
}

void add_job_edit(CLI::App& job, Front& front) {
  CLI::App* command = add_command(
      job, "edit", "Change a submitted job: everything until it starts, then its name, priority and resource needs",
      "esper job edit 12 --set epochs=20 --memory 8GiB");
  const auto options = std::make_shared<EditOptions>();
  add_job_option(*command, options->job);
  command->add_option("--name", options->change.name, "Name of the job; its run folder keeps its name")
      ->type_name("NAME");
  command
      ->add_option("--priority", options->change.priority,
                   "Jobs with higher ones start first, and running jobs with lower ones make room")
      ->type_name("N")
      ->check(priority_number());
  auto* after = command
                    ->add_option("--after", options->after,
                                 "Start once these jobs have succeeded; replaces the jobs named before")
                    ->type_name("JOB,...")
                    ->delimiter(',')
                    ->allow_extra_args(false)
                    ->check(job_or_sweep_number())
                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_flag("--after-none", options->after_none, "Do not wait for other jobs")->excludes(after);
  command->add_option("--gpus", options->change.gpus, "Number of GPUs for the job")
      ->type_name("N")
      ->check(CLI::Range(0, 64));
  command->add_option("--memory", options->memory, "Memory that must be available for it, like 4GiB")
      ->type_name("SIZE");
  add_set_option(*command, options->assignments);
  add_daemon_options(*command, options->address);
  command->callback([&front, options] { front.run = [options] { return edit(*options); }; });
}

void add_job_set(CLI::App& job, Front& front) {
  CLI::App* command =
      add_command(job, "set", "Change settings of a job's run while it trains, starting with its next epoch",
                  "esper job set 12 training.optimizer.lr=0.01\nFields: " + config::live_fields_text());
  const auto options = std::make_shared<SetOfJob>();
  add_job_option(*command, options->job);
  command->add_option("settings", options->assignments, "Fields and their new values")
      ->required()
      ->type_name("KEY=VALUE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_daemon_options(*command, options->address);
  command->callback([&front, options] { front.run = [options] { return set_of_job(*options); }; });
}

}  // namespace esper
