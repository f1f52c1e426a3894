#include "esper/bench_daemon/measure_trainings.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "esper/own_program.h"
#include "jobs/job/job.h"
#include "runs/read_run_record.h"

namespace esper {
namespace {

std::int64_t wall_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The run reports its start right before its first step, in whole milliseconds of the machine's clock.
std::optional<TimedTraining> timed_training(const std::string& run, double seconds, std::int64_t began_ms) {
  const auto started = runs::read_run_record(run).started_ms;
  if (!started) return std::nullopt;
  return TimedTraining{seconds, static_cast<double>(*started - began_ms)};
}

std::optional<TimedTraining> train_alone(const MeasuredPlace& place, int number) {
  const auto run = place.path(fmt::format("alone{}", number));
  const auto began_ms = wall_ms();
  const auto trained = time_needed_command({own_program(), "train", "--config", place.run_file, "--run-dir", run});
  if (trained.exit_code != 0) return std::nullopt;
  return timed_training(run, trained.seconds, began_ms);
}

std::optional<TimedTraining> train_queued(const MeasuredPlace& place, int number) {
  const auto run = place.path(fmt::format("queued{}", number));
  const auto begin = std::chrono::steady_clock::now();
  const auto began_ms = wall_ms();
  const auto submitted = place.run_own({"submit", place.run_file, "--run-dir", run, "--json"});
  const auto job = nlohmann::json::parse(submitted.output, nullptr, false);
  if (submitted.exit_code != 0 || !job.is_object()) return std::nullopt;
  const auto id = std::to_string(job.at("id").get<jobs::JobId>());
  if (place.run_own({"job", "wait", id}).exit_code != 0) return std::nullopt;
  const auto took = std::chrono::steady_clock::now() - begin;
  return timed_training(run, std::chrono::duration<double>(took).count(), began_ms);
}

}  // namespace

void measure_trainings(const MeasuredPlace& place, DaemonFigures& figures) {
  for (int number = 0; number < place.bench.rounds; ++number) {
    show_stage("trainings through the queue and alone", number, place.bench.rounds);
    const bool queue_first = number % 2 == 0;
    auto queued = queue_first ? train_queued(place, number) : std::nullopt;
    const auto alone = train_alone(place, number);
    if (!queue_first) queued = train_queued(place, number);
    if (!queued || !alone) {
      figures.notes.push_back("trainings were not measured: esper train failed; try it: esper train --config FILE");
      return;
    }
    figures.queued.push_back(*queued);
    figures.alone.push_back(*alone);
  }
}

}  // namespace esper
