// `esper jobs`: what the queue has.
#include <memory>

#include "base/names.h"
#include "base/text/json_fields.h"
#include "base/text/standard_output.h"
#include "esper/front.h"
#include "esper/queue/daemon_answer.h"
#include "esper/queue/job_list.h"
#include "esper/run_options.h"
#include "jobs/job/job.h"

namespace esper {
namespace {

constexpr std::int64_t kMostIds = 200;

struct JobsCommand {
  JobListOptions list;
  bool watch = false, ids = false;
};

int list_once(const JobListOptions& options) {
  const auto answer = listed_jobs(options, options.most());
  if (options.address.json) {
    print_json(answer);
  } else {
    const auto& jobs = list_of(options.address, answer, "jobs");
    base::write_output(job_table(jobs, table_style(jobs)));
  }
  report_more(options, answer);
  return 0;
}

// For completion in a shell.
int list_ids(const JobListOptions& options) {
  const auto answer = listed_jobs(options, kMostIds);
  for (const auto& job : list_of(options.address, answer, "jobs"))
    print_line(std::to_string(base::number_at<std::int64_t>(job, "id").value_or(0)));
  return 0;
}

int run(const JobsCommand& options) {
  if (options.ids) return list_ids(options.list);
  return options.watch ? watch_jobs(options.list) : list_once(options.list);
}

}  // namespace

void add_jobs(Front& front) {
  CLI::App* command = add_command(front.root, "jobs", "List the daemon's jobs",
                                  "esper jobs --state queued,running\n         esper jobs --watch");
  const auto options = std::make_shared<JobsCommand>();
  JobListOptions& list = options->list;
  command->add_option("--state", list.states, "Only jobs in these states: " + base::all_names<jobs::JobState>())
      ->type_name("STATE,...")
      ->check(refuse_empty);
  command->add_option("--name", list.name, "Only jobs with this name")->type_name("NAME")->check(refuse_empty);
  command->add_option("--sweep", list.sweep, "Only jobs of this sweep")
      ->type_name("SWEEP")
      ->check(job_or_sweep_number());
  command->add_option("--limit", list.limit, "At most this many jobs, the newest ones")
      ->type_name("N")
      ->check(whole_number(1, 100'000, "POSITIVE"));
  command->add_flag(
      "--watch", options->watch,
      "Keep printing until Ctrl-C: the table on a terminal, elsewhere a line (with --json an object) for each change");
  command->add_flag("--ids", options->ids, "Print only the numbers of the newest jobs")->group("");
  add_daemon_options(*command, list.address);
  command->callback([&front, options] { front.run = [options] { return run(*options); }; });
}

}  // namespace esper
