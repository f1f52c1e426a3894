// `esper bench`: a scenario's steps in every lane, its epochs through the real loop, and what both cost.

#include "engine/bench/bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/text/standard_output.h"
#include "config/writing/workload.h"
#include "engine/bench/artefacts.h"
#include "engine/bench/clean_end.h"
#include "engine/bench/drift/drift.h"
#include "engine/bench/drift/drift_figures.h"
#include "engine/bench/environment.h"
#include "engine/bench/growth/counterfactual.h"
#include "engine/bench/growth/growth.h"
#include "engine/bench/growth/growth_figures.h"
#include "engine/bench/growth/seed_costs.h"
#include "engine/bench/output_folder.h"
#include "engine/bench/progress.h"
#include "engine/bench/report.h"
#include "engine/bench/table.h"
#include "engine/bench_policy/policy_table.h"
#include "engine/bench_policy/scenario.h"
#include "engine/commands.h"
#include "lanes/step_runner.h"
#include "storage/real_file_system.h"

namespace esper::engine {
namespace bench {
namespace {

using nlohmann::ordered_json;

std::vector<config::Lane> lanes_of(const Comparison& comparison) {
  std::vector<config::Lane> lanes;
  for (const std::string& name : comparison.lanes) {
    const auto lane = base::from_name<config::Lane>(name);
    ESPER_CHECK(lane, "the front has checked the names of the lanes");
    lanes.push_back(*lane);
  }
  return lanes;
}

// A growing run is measured so often.
constexpr int kGrowthRuns = 5;

bool needs_compiler(const std::vector<config::Lane>& lanes) {
  return std::ranges::any_of(
      lanes, [](config::Lane lane) { return lane == config::Lane::kCompiled || lane == config::Lane::kAuto; });
}

// The one row of a growing run: its steps as the loop ran them.
void add_growth(const Session& session, const Scratch& scratch, ordered_json& report) {
  const auto lane = base::name_of(session.config.step.lane);
  report["lanes"] = report["peers"] = report["refused"] = ordered_json::array();
  report["ratios"] = ordered_json::object();
  report["noise"] = report["epoch"] = nullptr;
  const bool compiles = session.workload->setup.compile_service != nullptr;
  show_phase("a growing run with an empty cache");
  const LoopFigures cold = run_growing(session.config, scratch, "cold", scratch.path("empty_cache"));
  if (compiles) {
    show_phase("a run that waits for compiled programs");
    run_growing(waiting_for_programs(session.config), scratch, "warming", scratch.cache_dir());
  }
  std::vector<LoopFigures> runs;
  for (int i = 1; i <= kGrowthRuns; ++i) {
    show_phase(fmt::format("growing run {} of {}", i, kGrowthRuns));
    runs.push_back(run_growing(session.config, scratch, fmt::format("growth-{}", i), scratch.cache_dir()));
  }
  const LoopFigures& last = runs.back();
  const auto times = distribution(last.step_us);
  report["lanes"].push_back({{"lane", lane},
                             {"p50_us", times.at("p50")},
                             {"p95_us", times.at("p95")},
                             {"p99_us", times.at("p99")},
                             {"warmup_ms", last.step_us.front() / 1e3},
                             {"steps", times.at("count")}});
  report["epoch"] = epoch_json(last);
  report["epoch_lane"] = lane;
  report["growth"] = growth_json(runs);
  report["growth"]["cache"] = compiles ? "warm" : "none";
  report["growth"]["cold"] = growth_json(cold);
  report["growth"]["cold"].erase("changes");
  if (!report["growth"].contains("ratio")) return;
  report["ratios"]["growth_p99/steady_p50"] = report["growth"]["ratio"];
  report["ratios"]["steady_p99/steady_p50"] = report["growth"]["steady_ratio"];
}

// What seeds cost beyond their own modules.
void add_seed_costs(const Session& session, ordered_json& report) {
  std::vector<SeedCost> costs = seed_costs(*session.workload, session.comparison.rounds);
  show_phase("counterfactual passes");
  costs.push_back(
      {"counterfactual_4_seeds/validation", counterfactual_ratio(*session.workload, session.comparison.rounds)});
  ordered_json intervals = ordered_json::object();
  for (const auto& [name, ratio] : costs) {
    report["ratios"][name] = ratio.median;
    intervals[name] = {ratio.interval.low, ratio.interval.high};
  }
  report["seed_costs"] = {{"intervals", intervals}};
}

std::string text_of(const ordered_json& report, Measured measured) {
  if (report.contains("policy")) return policy_table(report);
  if (measured == Measured::kDrift) return drift_text(report);
  return measured == Measured::kCounts ? counts_text(report) : table_text(report);
}

}  // namespace

Session open_session(const Comparison& comparison, const config::RunConfig& given, const Scratch& scratch) {
  Session session{comparison, comparison.built_in ? with_made_up_text(given, scratch) : given, nullptr, nullptr, {}};
  session.workload = prepare_workload(session.config, scratch.cache_dir());
  lanes::check_lane(session.config.step, session.workload->setup.device);
  if (needs_compiler(lanes_of(comparison))) prepare_compiling(*session.workload, scratch.cache_dir());
  session.header = {{"scenario", comparison.scenario},
                    {"environment", environment(comparison.commit)},
                    {"workload", config::workload_json(given)}};
  return session;
}

void set_against(Session& session, const config::RunConfig& config, const Scratch& scratch) {
  session.against =
      prepare_workload(session.comparison.built_in ? with_made_up_text(config, scratch) : config, scratch.cache_dir());
  if (needs_compiler(lanes_of(session.comparison))) prepare_compiling(*session.against, scratch.cache_dir());
  session.header["against"] = {{"name", session.comparison.against}, {"workload", config::workload_json(config)}};
}

ordered_json run_scenario(const Session& session, const Scratch& scratch, Measured measured) {
  const Comparison& comparison = session.comparison;
  if (comparison.built_in && comparison.scenario == kPolicyScenario) {
    return run_policy_scenario(session, scratch, measured);
  }
  const bool counts_only = measured == Measured::kCounts;
  ordered_json report = session.header;
  if (comparison.scenario == "growth" && comparison.built_in && !counts_only) {
    add_growth(session, scratch, report);
    add_seed_costs(session, report);
    end_progress();
    return report;
  }
  MeasurePlan plan;
  plan.lanes = lanes_of(comparison);
  plan.against = {comparison.against, session.against.get()};
  plan.peers = measured == Measured::kTimesAndPeer;
  plan.peer_model = comparison.peer_model;
  plan.times = !counts_only;
  plan.turns.rounds = comparison.rounds;
  plan.turns.progress = show_rounds;
  plan.phase = show_phase;
  report.update(measurement_json(measure(*session.workload, scratch, plan)));
  report["epoch"] = nullptr;
  if (!counts_only) {
    show_phase("whole epochs");
    report["epoch"] = epoch_json(run_loop(session.config, scratch, "epochs", scratch.cache_dir()));
    report["epoch_lane"] = base::name_of(session.config.step.lane);
  }
  end_progress();
  return report;
}

}  // namespace bench

int run(const BenchRequest& request) {
  const Scratch scratch(request.job.cache_dir);
  const bench::CleanEnd clean_end(scratch, request.job);
  auto& files = storage::real_file_system();
  const std::string& folder = request.output_dir;
  if (!folder.empty()) bench::open_output_folder(files, folder, "--output-dir");
  const bool drift = request.measured == Measured::kDrift;
  auto session = bench::open_session(request.comparison,
                                     drift ? bench::for_drift(request.job.config) : request.job.config, scratch);
  if (request.against) bench::set_against(session, *request.against, scratch);
  const auto report = drift ? bench::measure_drift(session, scratch, request.drift_steps)
                            : bench::run_scenario(session, scratch, request.measured);
  if (!folder.empty()) {
    bench::show_phase("the drills");
    bench::write_artefacts(files, folder, report, session.config, scratch);
    bench::end_progress();
  }
  if (request.job.json) {
    base::write_json(report);
  } else {
    base::write_text(bench::text_of(report, request.measured) + "\n");
  }
  return 0;
}

}  // namespace esper::engine
