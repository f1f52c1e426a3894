#include "esper/bench_daemon/measure_beside_spooler.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "esper/bench_daemon/process_facts.h"

namespace esper {
namespace {

constexpr int kCommands = 30;

std::int64_t wakeups_of(pid_t process) { return facts_of(process).value_or(ProcessFacts{}).wakeups; }

Idle idle_spooler(const TaskSpooler& spooler, const std::string& name, double wakeups) {
  Idle idle{name, 0, wakeups, 0};
  for (const pid_t process : spooler.processes()) {
    idle.resident_mib += facts_of(process).value_or(ProcessFacts{}).resident_mib;
    ++idle.processes;
  }
  return idle;
}

}  // namespace

void measure_idle(const MeasuredPlace& place, DaemonFigures& figures) {
  const MeasuredDaemon& daemon = place.daemon;
  const TaskSpooler& spooler = place.spooler;
  const int idle_s = place.bench.idle_s;
  if (spooler.is_here()) spooler.queue({"true"});
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const auto theirs = spooler.is_here() ? spooler.processes() : std::vector<pid_t>{};
  const auto before = wakeups_of(daemon.process());
  const auto their_before = theirs.empty() ? 0 : wakeups_of(theirs.front());
  for (int second = 0; second < idle_s; ++second) {
    show_stage("idle", second, idle_s);
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  const double minutes = idle_s / 60.0;
  figures.idle_s = idle_s;
  figures.idle.push_back({"esper daemon", facts_of(daemon.process()).value_or(ProcessFacts{}).resident_mib,
                          static_cast<double>(wakeups_of(daemon.process()) - before) / minutes});
  if (theirs.empty()) return;
  const double their_wakeups = static_cast<double>(wakeups_of(theirs.front()) - their_before) / minutes;
  figures.idle.push_back(idle_spooler(spooler, "tsp", their_wakeups));
}

void measure_commands(const MeasuredPlace& place, DaemonFigures& figures) {
  const TaskSpooler& spooler = place.spooler;
  std::vector<double> own, theirs;
  if (spooler.is_here()) spooler.queue({"sleep", "600"});  // the others wait behind it
  for (int number = 0; number < kCommands; ++number) {
    show_stage("commands that submit", number, kCommands);
    own.push_back(1e3 * place.run_own({"submit", place.run_file, "--hold"}).seconds);
    if (spooler.is_here()) theirs.push_back(1e3 * spooler.queue({"true"}));
  }
  figures.times.push_back({"esper submit", own});
  if (!spooler.is_here()) {
    figures.notes.push_back(spooler.why_absent() + ": nothing was measured beside it");
    return;
  }
  figures.times.push_back({"tsp", theirs});
  figures.idle.push_back(idle_spooler(spooler, "tsp with " + std::to_string(kCommands) + " queued", 0));
  figures.notes.push_back(
      "tsp keeps its queue in memory, writes nothing, and keeps a process with an open connection for each queued "
      "command; its queue ends with its server, so there is no restart and no queue of thousands to compare");
}

}  // namespace esper
