// `esper bench`: a scenario's steps in every lane, its epochs through the real loop, and what both cost.

#include "engine/bench/bench.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "engine/bench/artefacts.h"
#include "engine/bench/counterfactual.h"
#include "engine/bench/environment.h"
#include "engine/bench/growth.h"
#include "engine/bench/report.h"
#include "engine/commands.h"
#include "leyline/names.h"
#include "storage/real_file_system.h"

namespace esper::engine {
namespace bench {
namespace {

using nlohmann::ordered_json;

// One line on standard error, where that is a terminal.
void show_progress(int done, int total) {
  constexpr int kWidth = 40;
  if (isatty(STDERR_FILENO) == 0) return;
  const int full = kWidth * done / total;
  std::fprintf(stderr, "\r[%s%s] %d/%d rounds", std::string(static_cast<std::size_t>(full), '#').c_str(),
               std::string(static_cast<std::size_t>(kWidth - full), ' ').c_str(), done, total);
  if (done == total) std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

std::vector<leyline::Lane> lanes_of(const BenchRequest& request) {
  std::vector<leyline::Lane> lanes;
  for (const std::string& name : request.lanes) {
    const auto lane = leyline::from_name<leyline::Lane>(name);
    ESPER_CHECK(lane, "the front has checked the names of the lanes");
    lanes.push_back(*lane);
  }
  return lanes;
}

// The one row of a growing run: its steps as the loop ran them.
void add_growth(const LoopFigures& figures, const leyline::RunConfig& config, ordered_json& report) {
  const auto times = distribution(figures.step_us);
  report["lanes"] = {{{"lane", leyline::name_of(config.step.lane)},
                      {"p50_us", times.at("p50")},
                      {"p95_us", times.at("p95")},
                      {"p99_us", times.at("p99")},
                      {"warmup_ms", figures.step_us.front() / 1e3},
                      {"steps", times.at("count")}}};
  report["peers"] = report["refused"] = ordered_json::array();
  report["ratios"] = ordered_json::object();
  report["noise"] = nullptr;
  report["epoch"] = epoch_json(figures);
  report["growth"] = growth_json(figures);
}

}  // namespace

ordered_json run_scenario(const BenchRequest& request, const leyline::RunConfig& given, const Scratch& scratch) {
  const leyline::RunConfig config = request.built_in ? with_made_up_text(given, scratch) : given;
  const auto workload = prepare_workload(config);
  ordered_json report = {{"scenario", request.scenario}, {"environment", environment(request.commit)}};
  if (request.scenario == "growth" && request.built_in && !request.counts_only) {
    add_growth(run_growing(config, scratch), config, report);
    report["ratios"]["counterfactual_4_seeds/validation"] = counterfactual_ratio(*workload).median;
    return report;
  }
  MeasurePlan plan;
  plan.lanes = lanes_of(request);
  plan.peers = request.peer_python;
  plan.times = !request.counts_only;
  plan.turns.rounds = request.rounds;
  plan.turns.progress = show_progress;
  const Measurement measurement = measure(*workload, scratch, plan);
  report.update(measurement_json(measurement));
  report["epoch"] = request.counts_only ? ordered_json(nullptr) : epoch_json(run_loop(config, scratch, "epochs"));
  return report;
}

}  // namespace bench

int run_bench(const EngineRequest& request) {
  const bench::Scratch scratch;
  const auto report = bench::run_scenario(request.bench, request.config, scratch);
  if (!request.bench.output_dir.empty()) {
    const auto config = request.bench.built_in ? bench::with_made_up_text(request.config, scratch) : request.config;
    bench::write_artefacts(storage::real_file_system(), request.bench.output_dir, report, config, scratch);
  }
  print_line(request.json ? report.dump(2) : bench::table_text(report));
  return 0;
}

}  // namespace esper::engine
