#include "engine/bench_policy/scenario.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/statistics.h"
#include "engine/bench/progress.h"
#include "engine/bench/report.h"
#include "engine/bench_policy/latency.h"
#include "engine/bench_policy/policy_runs.h"

namespace esper::engine::bench {
namespace {

using config::RunConfig;
using nlohmann::ordered_json;

constexpr int kMostPairs = 9;

ordered_json latency_json(const LatencyRow& measured) {
  const auto& [nodes, row] = measured;
  return {{"network", row.name},
          {"nodes", nodes},
          {"p50_us", base::percentile(row.step_us, 50)},
          {"p95_us", base::percentile(row.step_us, 95)},
          {"p99_us", base::percentile(row.step_us, 99)},
          {"warmup_ms", row.warmup_ms},
          {"calls", row.step_us.size()}};
}

// Where both were measured, p95 of `a` over p95 of `b`.
void add_ratio(const Latency& latency, int nodes, const std::string& a, const std::string& b, ordered_json& out) {
  const auto p95_of = [&](const std::string& name) {
    for (const auto& [at, row] : latency.rows) {
      if (at == nodes && row.name == name) return base::percentile(row.step_us, 95);
    }
    return 0.0;
  };
  const double over = p95_of(a), under = p95_of(b);
  if (over > 0 && under > 0) out[a + "/" + b] = over / under;
}

ordered_json ratios_json(const Latency& latency) {
  ordered_json all = ordered_json::array();
  for (const auto& [nodes, row] : latency.rows) {
    if (row.name != "eager") continue;  // one of each size
    ordered_json one = {{"nodes", nodes}};
    for (const char* peer : {"pyg_eager", "pyg_compiled"}) {
      for (const char* ours : {"folded", "folded_bf16", "compiled"}) add_ratio(latency, nodes, peer, ours, one);
    }
    if (one.size() > 1) all.push_back(std::move(one));
  }
  return all;
}

void add_latency(const Latency& latency, ordered_json& report) {
  report["policy"] = report["refused"] = ordered_json::array();
  for (const LatencyRow& row : latency.rows) report["policy"].push_back(latency_json(row));
  for (const auto& [name, reason] : latency.refused) report["refused"].push_back({{"name", name}, {"reason", reason}});
  report["ratios"] = ratios_json(latency);
}

ordered_json cost_json(const StepCost& cost) {
  return {{"steps_per_epoch", cost.steps_per_epoch},
          {"on_p50_us", base::percentile(cost.on_us, 50)},
          {"off_p50_us", base::percentile(cost.off_us, 50)},
          {"ratio", cost.ratio.median},
          {"interval", {cost.ratio.interval.low, cost.ratio.interval.high}},
          {"pairs", cost.ratio.pairs}};
}

// A decision leaves cold caches behind, which the first steps after it pay for.
RunConfig with_long_epochs(RunConfig config) {
  constexpr std::int64_t kTimesLonger = 64;
  config.data.synthetic.samples *= kTimesLonger;
  return config;
}

// Whole runs: with the network deciding, and with it and without.
void add_runs(const Session& session, const Scratch& scratch, ordered_json& report) {
  report["epoch"] = nullptr;
  report["steps"] = ordered_json::array();
  const LoopFigures figures = run_decided_epochs(session.config, scratch);
  report["epoch"] = epoch_json(figures);
  report["epoch"]["seeds"] = growing_seeds(figures);
  report["epoch_lane"] = base::name_of(session.config.step.lane);
  const int pairs = std::min(session.comparison.rounds, kMostPairs);
  for (const RunConfig& config : {session.config, with_long_epochs(session.config)}) {
    report["steps"].push_back(cost_json(measure_step_cost(config, scratch, pairs)));
  }
}

}  // namespace

ordered_json run_policy_scenario(const Session& session, const Scratch& scratch, Measured measured) {
  ordered_json report = session.header;
  const LatencyPlan plan{session.comparison.rounds, measured == Measured::kTimesAndPeer};
  add_latency(measure_latency(session.config, scratch, plan), report);
  add_runs(session, scratch, report);
  end_progress();
  return report;
}

}  // namespace esper::engine::bench
