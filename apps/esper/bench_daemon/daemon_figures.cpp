#include "esper/bench_daemon/daemon_figures.h"

#include <fmt/core.h>

#include "base/statistics.h"
#include "base/text/aligned.h"

namespace esper {
namespace {

using nlohmann::ordered_json;

double rounded(double value) { return std::stod(fmt::format("{:.3f}", value)); }

ordered_json json_of(const Times& times) {
  return {{"p50", rounded(base::median(times.ms))},
          {"p99", rounded(base::percentile(times.ms, 99))},
          {"samples", times.ms.size()}};
}

ordered_json json_of(const Idle& idle) {
  return {{"resident_mib", rounded(idle.resident_mib)},
          {"processes", idle.processes},
          {"wakeups_per_minute", rounded(idle.wakeups_per_minute)}};
}

constexpr double kTenSecondsMs = 10'000;

std::vector<double> of_each(const std::vector<TimedTraining>& trainings, double TimedTraining::* figure) {
  std::vector<double> values;
  for (const TimedTraining& training : trainings) values.push_back(training.*figure);
  return values;
}

base::RatioEstimate ratio_of(const DaemonFigures& figures) {
  return base::paired_ratio(of_each(figures.queued, &TimedTraining::seconds),
                            of_each(figures.alone, &TimedTraining::seconds));
}

std::string training_lines(const DaemonFigures& figures) {
  const auto ratio = ratio_of(figures);
  const double overhead = start_overhead_ms(figures);
  return fmt::format(
      "to a training's first step: {:.0f} ms through the queue, {:.0f} ms alone; the difference, {:.0f} ms, is {:.4f} "
      "of "
      "a run of 10 s (target: at most 0.02)\n"
      "a training through the queue / alone: {:.4f} ({:.4f} to {:.4f}), {} pairs of {:.2f} s\n",
      base::median(of_each(figures.queued, &TimedTraining::start_ms)),
      base::median(of_each(figures.alone, &TimedTraining::start_ms)), overhead, overhead / kTenSecondsMs, ratio.median,
      ratio.interval.low, ratio.interval.high, ratio.pairs,
      base::median(of_each(figures.alone, &TimedTraining::seconds)));
}

std::string times_table(const DaemonFigures& figures) {
  std::vector<std::vector<std::string>> lines{{"milliseconds", "p50", "p99", "samples"}};
  for (const Times& times : figures.times) {
    lines.push_back({times.what, fmt::format("{:.2f}", base::median(times.ms)),
                     fmt::format("{:.2f}", base::percentile(times.ms, 99)), std::to_string(times.ms.size())});
  }
  return base::aligned(lines);
}

std::string idle_table(const DaemonFigures& figures) {
  std::vector<std::vector<std::string>> lines{{"idle", "resident MiB", "processes", "wake-ups a minute"}};
  for (const Idle& idle : figures.idle) {
    lines.push_back({idle.program, fmt::format("{:.1f}", idle.resident_mib), std::to_string(idle.processes),
                     fmt::format("{:.1f}", idle.wakeups_per_minute)});
  }
  return base::aligned(lines);
}

}  // namespace

double start_overhead_ms(const DaemonFigures& figures) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < figures.alone.size(); ++i)
    differences.push_back(figures.queued[i].start_ms - figures.alone[i].start_ms);
  return base::median(differences);
}

ordered_json json_of(const DaemonFigures& figures) {
  ordered_json json{{"scenario", "daemon"}, {"commit", figures.commit}, {"queued", figures.queue_length}};
  for (const Times& times : figures.times) json["ms"][times.what] = json_of(times);
  json["list_bytes"] = figures.list_bytes;
  json["resident_with_queue_mib"] = rounded(figures.resident_with_queue_mib);
  if (!figures.alone.empty()) {
    const auto ratio = ratio_of(figures);
    json["training"] = {{"start_ms",
                         {{"queued", of_each(figures.queued, &TimedTraining::start_ms)},
                          {"alone", of_each(figures.alone, &TimedTraining::start_ms)},
                          {"overhead", rounded(start_overhead_ms(figures))},
                          {"overhead_of_10_s", rounded(start_overhead_ms(figures) / kTenSecondsMs)}}},
                        {"queued_s", of_each(figures.queued, &TimedTraining::seconds)},
                        {"alone_s", of_each(figures.alone, &TimedTraining::seconds)},
                        {"ratio", rounded(ratio.median)},
                        {"interval", {rounded(ratio.interval.low), rounded(ratio.interval.high)}}};
  }
  json["idle"]["seconds"] = figures.idle_s;
  for (const Idle& idle : figures.idle) json["idle"][idle.program] = json_of(idle);
  json["notes"] = figures.notes;
  return json;
}

std::string text_of(const DaemonFigures& figures) {
  std::string text = fmt::format("the daemon with SQLite and fsync, and a queue of {} jobs\n\n", figures.queue_length);
  text += times_table(figures);
  text += fmt::format("\nlist of the whole queue: {} KiB; resident with it: {:.1f} MiB\n", figures.list_bytes / 1024,
                      figures.resident_with_queue_mib);
  if (!figures.alone.empty()) text += training_lines(figures);
  if (!figures.idle.empty()) text += "\n" + idle_table(figures);
  for (const std::string& note : figures.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace esper
