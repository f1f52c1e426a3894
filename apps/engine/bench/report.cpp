#include "engine/bench/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/statistics.h"

namespace esper::engine::bench {
namespace {

using nlohmann::ordered_json;

ordered_json row_json(const char* key, const Row& row) {
  return {{key, row.name},
          {"p50_us", base::percentile(row.step_us, 50)},
          {"p95_us", base::percentile(row.step_us, 95)},
          {"p99_us", base::percentile(row.step_us, 99)},
          {"warmup_ms", row.warmup_ms},
          {"steps", row.step_us.size()},
          {"rounds_us", row.round_medians}};
}

ordered_json interval_json(const base::Interval& interval) { return {interval.low, interval.high}; }

void add_ratios(const Measurement& measurement, ordered_json& out) {
  ordered_json ratios = ordered_json::object(), intervals = ordered_json::object();
  for (const Row& a : measurement.rows) {
    for (const Row& b : measurement.rows) {
      if (a.name == b.name || a.name == kSameAgain || b.name == kSameAgain) continue;
      const auto estimate = ratio(a, b);
      ratios[a.name + "/" + b.name] = estimate.median;
      intervals[a.name + "/" + b.name] = interval_json(estimate.interval);
    }
  }
  out["ratios"] = std::move(ratios);
  out["intervals"] = std::move(intervals);
}

// The first lane against itself.
ordered_json noise_json(const Measurement& measurement) {
  const Row* again = measurement.find(kSameAgain);
  if (again == nullptr || measurement.lanes.empty()) return nullptr;
  const auto estimate = ratio(*measurement.find(measurement.lanes.front()), *again);
  return {{"lane", measurement.lanes.front()},
          {"ratio", estimate.median},
          {"interval", interval_json(estimate.interval)},
          {"floor", base::noise_floor(estimate)},
          {"rounds", estimate.pairs}};
}

double metric_of(const nlohmann::json& packet, const std::string& name) {
  for (const auto& metric : packet.at("metrics")) {
    if (metric.at("name") == name && metric.at("value").is_number()) return metric.at("value");
  }
  return 0;
}

ordered_json parts(const LoopFigures& figures) {
  ordered_json out = ordered_json::object();
  for (const char* name : {"tolaria.training.latency_ms", "tolaria.loader.wait_ms", "tolaria.validation.latency_ms",
                           "tolaria.epoch_hook.latency_ms", "tamiyo.decide.latency_ms"}) {
    std::vector<double> values;
    for (const auto& packet : figures.packets) values.push_back(metric_of(packet, name));
    if (!values.empty()) out[name] = base::median(steady(values));
  }
  return out;
}

}  // namespace

std::vector<double> steady(const std::vector<double>& values) {
  return {values.begin() + static_cast<std::ptrdiff_t>(values.size() / 10), values.end()};
}

ordered_json distribution(const std::vector<double>& values) {
  if (values.empty()) return nullptr;
  return {{"p50", base::percentile(values, 50)},
          {"p95", base::percentile(values, 95)},
          {"p99", base::percentile(values, 99)},
          {"mean", std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size())},
          {"max", *std::ranges::max_element(values)},
          {"count", values.size()}};
}

ordered_json counts_json(const StepCounts& counts) {
  ordered_json out = {{"operators", counts.operators}, {"host_reads", counts.host_reads}};
  out["allocations"] = counts.allocations ? ordered_json(*counts.allocations) : ordered_json(nullptr);
  out["kernel_launches"] = counts.kernel_launches ? ordered_json(*counts.kernel_launches) : ordered_json(nullptr);
  if (counts.device_allocations) out["device_allocations"] = *counts.device_allocations;
  return out;
}

ordered_json measurement_json(const Measurement& measurement) {
  ordered_json out;
  out["lanes"] = ordered_json::array();
  for (const auto& name : measurement.lanes) {
    if (const Row* row = measurement.find(name)) out["lanes"].push_back(row_json("lane", *row));
  }
  out["peers"] = ordered_json::array();
  for (const auto& name : measurement.peers) {
    out["peers"].push_back(row_json("name", *measurement.find(name)));
    out["peers"].back()["optimizer"] = measurement.optimizers.at(name);
  }
  out["refused"] = ordered_json::array();
  for (const auto& [name, reason] : measurement.refused) out["refused"].push_back({{"name", name}, {"reason", reason}});
  add_ratios(measurement, out);
  out["noise"] = noise_json(measurement);
  out["disagreement"] = measurement.disagreement;
  out["counts"] = ordered_json::object();
  for (const auto& [name, counts] : measurement.counts) out["counts"][name] = counts_json(counts);
  out["settings"] = {{"esper", measurement.settings}, {"python", measurement.peer_settings}};
  if (const auto& memory = measurement.device_memory) {
    out["device_memory"] = {{"peak_bytes", memory->peak_bytes}, {"reserved_bytes", memory->reserved_bytes}};
  }
  return out;
}

ordered_json epoch_json(const LoopFigures& figures) {
  const auto times = steady(figures.epoch_ms);
  if (times.empty()) return nullptr;
  return {{"p50_ms", base::percentile(times, 50)},      {"p95_ms", base::percentile(times, 95)},
          {"p99_ms", base::percentile(times, 99)},      {"epochs", times.size()},
          {"steps_per_epoch", figures.steps_per_epoch}, {"parts_p50_ms", parts(figures)}};
}

}  // namespace esper::engine::bench
