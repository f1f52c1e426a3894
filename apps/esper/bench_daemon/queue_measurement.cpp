#include "esper/bench_daemon/queue_measurement.h"

#include <fmt/core.h>

#include <vector>

#include "esper/bench_daemon/process_facts.h"

namespace esper {
namespace {

constexpr int kSubmits = 200, kLists = 5, kRestarts = 5;

}  // namespace

void QueueMeasurement::run() {
  submits("submit, empty queue");
  fill();
  submits("submit, full queue");
  lists();
  restarts();
}

// Each has a seed of its own, as those of users have something of their own: the daemon has to read it.
jobs::Submission QueueMeasurement::submission(bool hold) {
  std::string run_file = place_.yaml;
  const auto line = run_file.find("\nseed: ") + 1;
  run_file.replace(line, run_file.find('\n', line) - line, fmt::format("seed: {}", ++seed_));
  jobs::Submission submission{.name = "bench", .config = run_file, .folder = place_.scratch.path(), .run_dir = {}};
  submission.runs_dir = place_.path("runs");
  submission.needs.threads = 1;
  submission.hold = hold;
  if (!hold) submission.after = {held_};
  return submission;
}

// None of these ever begins: they come after a job that is held.
void QueueMeasurement::submits(const std::string& what) {
  if (held_ == 0) held_ = place_.daemon.submit(submission(true)).document.at("id");
  std::vector<double> taken;
  for (int number = 0; number < kSubmits; ++number) {
    show_stage(what, number, kSubmits);
    taken.push_back(place_.daemon.submit(submission(false)).ms);
  }
  figures_.times.push_back({what, taken});
}

void QueueMeasurement::fill() {
  for (int number = 2 * kSubmits; number < place_.bench.queued; ++number) {
    show_stage("filling the queue", number, place_.bench.queued);
    place_.daemon.submit(submission(false));
  }
}

void QueueMeasurement::lists() {
  std::vector<double> requests, commands;
  for (int number = 0; number < kLists; ++number) {
    show_stage("list of the queue", number, kLists);
    const auto answer = place_.daemon.ask("GET", "/v1/jobs?limit=100000");
    requests.push_back(answer.ms);
    figures_.list_bytes = answer.bytes;
    commands.push_back(1e3 * place_.run_own({"jobs"}).seconds);
  }
  figures_.times.push_back({"list, full queue", requests});
  figures_.times.push_back({"esper jobs, full queue", commands});
  figures_.resident_with_queue_mib = facts_of(place_.daemon.process()).value_or(ProcessFacts{}).resident_mib;
}

void QueueMeasurement::restarts() {
  std::vector<double> taken;
  for (int number = 0; number < kRestarts; ++number) {
    show_stage("restart", number, kRestarts);
    place_.daemon.kill();
    taken.push_back(place_.daemon.start());
  }
  figures_.times.push_back({"restart after a kill, full queue", taken});
}

}  // namespace esper
