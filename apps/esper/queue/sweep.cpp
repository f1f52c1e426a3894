// `esper sweep`: one run file with many values of some of its fields, as jobs of the daemon (docs/sweep.md).
#include <fmt/core.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "base/text/text_file.h"
#include "config/yaml/yaml_document.h"
#include "esper/front.h"
#include "esper/queue/byte_size.h"
#include "esper/queue/daemon_answer.h"
#include "esper/queue/daemon_client.h"
#include "esper/queue/sweep_text.h"
#include "esper/run_options.h"
#include "jobs/sweeps/sweep_report.h"
#include "nissa/log.h"
#include "storage/atomic_publish.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"
#include "sweep/run_file.h"
#include "sweep/sweep_file.h"

namespace esper {
namespace {

using base::Error;
using base::ExitCode;

struct SweepOptions {
  DaemonAddress address;
  std::string file;
  jobs::SweepSubmission submission;
  std::optional<std::string> memory;
  bool dry_run = false, no_daemon_start = false;
  std::int64_t sweep = 0;
  std::string best;  // file to write; "-": standard output
};

sweep::Sweep checked_sweep(const std::string& path, std::string& text) {
  const auto file = base::read_text_file(path, config::YamlLimits::kBytes, base::Streams::kOfThisProcess);
  if (!file) throw Error(ExitCode::kConfig, path + " " + file.error());
  text = *file;
  auto read = sweep::read_sweep_text(text, path);
  if (!read.problems.empty()) throw base::ConfigError(std::move(read.problems));
  for (const auto& warning : read.warnings) nissa::log::warning(to_string(warning));
  return std::move(read.sweep);
}

int submit_sweep(SweepOptions options) {
  if (options.file.empty())
    throw Error(ExitCode::kConfig,
                "choose a sweep file: esper sweep FILE; or esper sweep list, show, cancel or resume");
  jobs::SweepSubmission& submission = options.submission;
  const sweep::Sweep sweep = checked_sweep(options.file, submission.sweep);
  if (options.memory) submission.memory_bytes = bytes_in("--memory", *options.memory);
  if (options.dry_run) {
    options.address.json ? print_json(sweep_preview_json(sweep)) : print(sweep_preview(sweep));
    return 0;
  }
  const auto run_file = sweep::read_with(sweep, {});
  submission.run_file = sweep::run_file_text(run_file);
  submission.folder = working_folder();
  submission.runs_dir = absolute_path(run_file.config.runs_dir);
  submission.token = new_submission_token();
  const auto start = options.no_daemon_start ? StartDaemon::kNo : StartDaemon::kIfNeeded;
  const auto answer = submit_to_daemon(options.address, "/v1/sweeps", base::to_json(submission), start);
  if (options.address.json) {
    print_json(answer);
    return 0;
  }
  const auto made = answer_in<jobs::SweepRecord>(options.address, answer);
  std::size_t jobs = 0;
  for (const auto& [state, count] : made.jobs) jobs += static_cast<std::size_t>(count);
  print_line(fmt::format("sweep {}: {}, run folders in {}", made.id, counted(jobs, "job"), made.run_dir));
  if (made.not_forecast)
    nissa::log::warning(
        fmt::format("not checked against this machine: {}; the daemon makes 1000 forecasts of a sweep, and reads data "
                    "for them for 5 s. A job that does not fit waits, and esper jobs says so",
                    counted(static_cast<std::size_t>(*made.not_forecast), "configuration")));
  return 0;
}

std::string target_of_sweep(const SweepOptions& options, const std::string& what = "") {
  return fmt::format("/v1/sweeps/{}{}", options.sweep, what);
}

// A file that exists may be one that the user wrote.
void write_new_file(const std::string& path, const std::string& text) {
  auto& files = storage::real_file_system();
  if (files.kind_of(path) != base::PathKind::kNothing)
    throw Error(ExitCode::kConfig, path + " exists already; give another name, or remove it");
  storage::publish_file(files, path, storage::bytes_of(text));
}

int show_sweep(const SweepOptions& options) {
  std::string written;
  if (!options.best.empty()) {
    const auto answer = ask_daemon(options.address, "GET", target_of_sweep(options, "/best"));
    const auto best = answer_in<jobs::BestConfiguration>(options.address, answer);
    if (options.best == "-") {
      options.address.json ? print_json(answer) : print(best.config);
      return 0;
    }
    write_new_file(options.best, best.config);
    written = fmt::format("\nconfiguration {} is written to {}\n", best.configuration, options.best);
  }
  const auto answer = ask_daemon(options.address, "GET", target_of_sweep(options));
  if (options.address.json) {
    print_json(answer);
    return 0;
  }
  const auto report = answer_in<jobs::SweepReport>(options.address, answer);
  print(fmt::format("state      {}\njobs       {}\nruns       {}\n", base::name_of(report.sweep.state),
                    job_counts(report.sweep), report.sweep.run_dir) +
        summary_text(report.summary) + written);
  return 0;
}

int list_sweeps(const SweepOptions& options) {
  const auto answer = ask_daemon(options.address, "GET", "/v1/sweeps");
  if (options.address.json) {
    print_json(answer);
  } else {
    print(sweep_table(
        answer_in<std::vector<jobs::SweepRecord>>(options.address, list_of(options.address, answer, "sweeps"))));
  }
  return 0;
}

int report_change(const SweepOptions& options, const std::string& what) {
  const auto answer = ask_daemon(options.address, "POST", target_of_sweep(options, what));
  if (options.address.json) {
    print_json(answer);
  } else {
    print(sweep_table({answer_in<jobs::SweepRecord>(options.address, answer)}));
  }
  return 0;
}

int cancel_sweep(const SweepOptions& options) { return report_change(options, "/cancel"); }
int resume_sweep(const SweepOptions& options) { return report_change(options, "/resume"); }

using Shared = std::shared_ptr<SweepOptions>;

CLI::App* add_sweep_command(CLI::App& parent, Front& front, const std::string& name, const std::string& help,
                            int (*run)(const SweepOptions&), const Shared& options) {
  const bool is_list = name == "list";
  CLI::App* command = add_command(parent, name, help, "esper sweep " + name + (is_list ? "" : " 1"));
  if (!is_list)
    command->add_option("sweep", options->sweep, "Sweep number")
        ->required()
        ->type_name("SWEEP")
        ->check(job_or_sweep_number());
  add_daemon_options(*command, options->address);
  command->callback([&front, options, run] { front.run = [options, run] { return run(*options); }; });
  return command;
}

void add_submission_options(CLI::App& command, const Shared& options) {
  jobs::SweepSubmission& submission = options->submission;
  command.add_option("file", options->file, "Sweep file")->type_name("FILE");
  command.add_option("--priority", submission.priority, "Priority of its jobs; default: 0")
      ->type_name("N")
      ->check(priority_number());
  submission.gpus = jobs::kGpusByDevice;
  command
      .add_option("--gpus", submission.gpus,
                  "Number of GPUs for each job; default: by device.kind, as for esper submit")
      ->type_name("N")
      ->check(CLI::Range(0, 64));
  command
      .add_option("--memory", options->memory,
                  "Memory that must be available for each job, like 4GiB; default: what its run is forecast to take")
      ->type_name("SIZE");
  command.add_flag("--hold", submission.hold, "Start no job until `esper sweep resume`");
  command.add_flag("--dry-run", options->dry_run, "Print the configurations without queueing any job");
  command.add_flag("--no-daemon-start", options->no_daemon_start,
                   "Fail if no daemon is running, rather than start one");
  add_daemon_options(command, options->address);
}

}  // namespace

void add_sweep(Front& front) {
  CLI::App* command =
      add_command(front.root, "sweep", "Train a run file with many values of its fields, and compare the results",
                  "esper sweep configs/sweep/digits_quick.yaml\n"
                  "         esper sweep show 1 --best best.yaml");
  const auto options = std::make_shared<SweepOptions>();
  add_submission_options(*command, options);
  add_sweep_command(*command, front, "list", "List the daemon's sweeps", list_sweeps, options);
  CLI::App* show = add_sweep_command(*command, front, "show", "Results as a table with 95 % intervals over seeds",
                                     show_sweep, options);
  show->add_option("--best", options->best, "Write the best configuration as a run file; -: to standard output")
      ->type_name("FILE")
      ->check(refuse_empty);
  add_sweep_command(*command, front, "cancel", "Cancel its jobs; running jobs save and stop", cancel_sweep, options);
  add_sweep_command(*command, front, "resume", "Start a sweep that was submitted with --hold", resume_sweep, options);
  command->callback([&front, command, options] {
    if (command->get_subcommands().empty()) front.run = [options] { return submit_sweep(*options); };
  });
}

}  // namespace esper
