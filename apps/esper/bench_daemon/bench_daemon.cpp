#include "esper/bench_daemon/bench_daemon.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/scratch_folder.h"
#include "base/text/progress_line.h"
#include "config/writing/write.h"
#include "esper/bench_daemon/daemon_figures.h"
#include "esper/bench_daemon/measured_daemon.h"
#include "esper/bench_daemon/process_facts.h"
#include "esper/bench_daemon/task_spooler.h"
#include "esper/bench_daemon/timed_command.h"
#include "esper/output.h"
#include "esper/own_program.h"
#include "esper/queue/daemon_client.h"
#include "runs/read_run_record.h"

namespace esper {
namespace {

using base::Error;
using base::ExitCode;

constexpr int kSubmits = 200, kLists = 5, kRestarts = 5, kCommands = 30;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class Measurement {
 public:
  explicit Measurement(const DaemonBench& bench)
      : bench_(bench), yaml_(config::resolved_yaml(bench.config)), daemon_(scratch_.path()), spooler_(scratch_.path()) {
    run_file_ = in_scratch("run.yaml");
    std::ofstream(run_file_) << yaml_;
    figures_.commit = bench.commit;
    figures_.queue_length = bench.queued;
  }

  DaemonFigures run() {
    idle();
    trainings();
    commands();
    submits("submit, empty queue");
    fill();
    submits("submit, full queue");
    lists();
    restarts();
    return figures_;
  }

 private:
  std::string in_scratch(const std::string& name) const { return scratch_.path() + "/" + name; }

  // On a terminal one line that is written over, else a line for each stage.
  void tell(const std::string& stage, int done, int all) {
    if (base::Interrupt::requested() != 0) throw Error(ExitCode::kInterrupted, "cancelled");
    if (base::is_progress_drawn()) {
      base::show_progress("bench", fmt::format("{} {}/{}", stage, done, all));
    } else if (done == 0) {
      base::show_progress("bench", stage);
    }
  }

  Times& times(const std::string& what) { return figures_.times.emplace_back(Times{what, {}}); }

  // Each has a seed of its own, as those of users have something of their own: the daemon has to read it.
  jobs::Submission submission(bool hold) {
    std::string run_file = yaml_;
    const auto line = run_file.find("\nseed: ") + 1;
    run_file.replace(line, run_file.find('\n', line) - line, fmt::format("seed: {}", ++seed_));
    jobs::Submission submission{.name = "bench", .config = run_file, .folder = scratch_.path(), .run_dir = {}};
    submission.runs_dir = in_scratch("runs");
    submission.needs.threads = 1;
    submission.hold = hold;
    if (!hold) submission.after = {held_};
    return submission;
  }

  // None of these ever begins: they come after a job that is held.
  void submits(const std::string& what) {
    if (held_ == 0) held_ = daemon_.submit(submission(true)).document.at("id");
    auto& taken = times(what).ms;
    for (int number = 0; number < kSubmits; ++number) {
      tell(what, number, kSubmits);
      taken.push_back(daemon_.submit(submission(false)).ms);
    }
  }

  void fill() {
    for (int number = 2 * kSubmits; number < bench_.queued; ++number) {
      tell("filling the queue", number, bench_.queued);
      daemon_.submit(submission(false));
    }
  }

  void lists() {
    std::vector<double> requests, commands;
    for (int number = 0; number < kLists; ++number) {
      tell("list of the queue", number, kLists);
      const auto answer = daemon_.ask("GET", "/v1/jobs?limit=100000");
      requests.push_back(answer.ms);
      figures_.list_bytes = answer.bytes;
      commands.push_back(1e3 * run_own({"jobs"}).seconds);
    }
    times("list, full queue").ms = requests;
    times("esper jobs, full queue").ms = commands;
    figures_.resident_with_queue_mib = facts_of(daemon_.process()).value_or(ProcessFacts{}).resident_mib;
  }

  void restarts() {
    std::vector<double> taken;
    for (int number = 0; number < kRestarts; ++number) {
      tell("restart", number, kRestarts);
      daemon_.kill();
      taken.push_back(daemon_.start());
    }
    times("restart after a kill, full queue").ms = taken;
  }

  TimedCommand run_own(CommandWords words) const {
    words.insert(words.begin(), own_program());
    words.insert(words.end(), {"--state-dir", daemon_.state_dir()});
    return time_needed_command(words);
  }

  // As a person submits: a process each time.
  void commands() {
    std::vector<double> own, theirs;
    if (spooler_.is_here()) spooler_.queue({"sleep", "600"});  // the others wait behind it
    for (int number = 0; number < kCommands; ++number) {
      tell("commands that submit", number, kCommands);
      own.push_back(1e3 * run_own({"submit", run_file_, "--hold"}).seconds);
      if (spooler_.is_here()) theirs.push_back(1e3 * spooler_.queue({"true"}));
    }
    times("esper submit").ms = own;
    if (!spooler_.is_here()) {
      figures_.notes.push_back(spooler_.why_absent() + ": nothing was measured beside it");
      return;
    }
    times("tsp").ms = theirs;
    idle_spooler("tsp with " + std::to_string(kCommands) + " queued", 0);
    figures_.notes.push_back(
        "tsp keeps its queue in memory, writes nothing, and keeps a process with an open connection for each queued "
        "command; its queue ends with its server, so there is no restart and no queue of thousands to compare");
  }

  void idle_spooler(const std::string& name, double wakeups) {
    Idle idle{name, 0, wakeups, 0};
    for (const pid_t process : spooler_.processes()) {
      idle.resident_mib += facts_of(process).value_or(ProcessFacts{}).resident_mib;
      ++idle.processes;
    }
    figures_.idle.push_back(idle);
  }

  void idle() {
    if (spooler_.is_here()) spooler_.queue({"true"});
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const auto theirs = spooler_.is_here() ? spooler_.processes() : std::vector<pid_t>{};
    const auto wakeups = [](pid_t process) { return facts_of(process).value_or(ProcessFacts{}).wakeups; };
    const auto before = wakeups(daemon_.process());
    const auto their_before = theirs.empty() ? 0 : wakeups(theirs.front());
    for (int second = 0; second < bench_.idle_s; ++second) {
      tell("idle", second, bench_.idle_s);
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    const double minutes = bench_.idle_s / 60.0;
    figures_.idle_s = bench_.idle_s;
    figures_.idle.push_back({"esper daemon", facts_of(daemon_.process()).value_or(ProcessFacts{}).resident_mib,
                             static_cast<double>(wakeups(daemon_.process()) - before) / minutes});
    if (!theirs.empty()) idle_spooler("tsp", static_cast<double>(wakeups(theirs.front()) - their_before) / minutes);
  }

  // The run reports its start right before its first step, in whole milliseconds of the machine's clock.
  std::optional<TimedTraining> timed(const std::string& run, double seconds, std::int64_t began_ms) const {
    const auto started = runs::read_run_record(run).started_ms;
    if (!started) return std::nullopt;
    return TimedTraining{seconds, static_cast<double>(*started - began_ms)};
  }

  std::optional<TimedTraining> train_alone(int number) const {
    const auto run = in_scratch(fmt::format("alone{}", number));
    const auto began_ms = now_ms();
    const auto trained = time_needed_command({own_program(), "train", "--config", run_file_, "--run-dir", run});
    if (trained.exit_code != 0) return std::nullopt;
    return timed(run, trained.seconds, began_ms);
  }

  std::optional<TimedTraining> train_queued(int number) const {
    const auto run = in_scratch(fmt::format("queued{}", number));
    const auto begin = std::chrono::steady_clock::now();
    const auto began_ms = now_ms();
    const auto submitted = run_own({"submit", run_file_, "--run-dir", run, "--json"});
    const auto job = nlohmann::json::parse(submitted.output, nullptr, false);
    if (submitted.exit_code != 0 || !job.is_object()) return std::nullopt;
    const auto id = std::to_string(job.at("id").get<jobs::JobId>());
    if (run_own({"job", "wait", id}).exit_code != 0) return std::nullopt;
    const auto took = std::chrono::steady_clock::now() - begin;
    return timed(run, std::chrono::duration<double>(took).count(), began_ms);
  }

  void trainings() {
    for (int number = 0; number < bench_.rounds; ++number) {
      tell("trainings through the queue and alone", number, bench_.rounds);
      const bool queue_first = number % 2 == 0;
      auto queued = queue_first ? train_queued(number) : std::nullopt;
      const auto alone = train_alone(number);
      if (!queue_first) queued = train_queued(number);
      if (!queued || !alone) {
        figures_.notes.push_back("trainings were not measured: esper train failed; try it: esper train --config FILE");
        return;
      }
      figures_.queued.push_back(*queued);
      figures_.alone.push_back(*alone);
    }
  }

  const DaemonBench bench_;
  const std::string yaml_;
  base::ScratchFolder scratch_{"esper-bench-daemon"};
  MeasuredDaemon daemon_;
  TaskSpooler spooler_;
  std::string run_file_;
  jobs::JobId held_ = 0;
  int seed_ = 0;  // of the last submission
  DaemonFigures figures_;
};

}  // namespace

int bench_daemon(const DaemonBench& bench) {
  base::Interrupt interrupt;
  interrupt.begin_saving();
  const DaemonFigures figures = Measurement(bench).run();
  base::end_progress();
  if (bench.json) {
    print_json(json_of(figures));
  } else {
    print(text_of(figures));
  }
  return 0;
}

}  // namespace esper
