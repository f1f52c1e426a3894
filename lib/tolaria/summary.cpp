#include "tolaria/summary.h"

#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/rounding.h"
#include "kasmina/network/network_seeds.h"
#include "kasmina/network/network_tensors.h"

namespace esper::tolaria {
namespace {

using nlohmann::ordered_json;

ordered_json seeds_of(const kasmina::Network& network) {
  ordered_json seeds = ordered_json::array();
  for (const auto& seed : kasmina::export_seed_states(network.state())) {
    const auto contribution = seed.figures.contribution_points;
    seeds.push_back({{"seed_id", seed.seed_id},
                     {"slot", seed.slot},
                     {"blueprint", seed.blueprint},
                     {"stage", base::name_of(seed.stage)},
                     {"alpha", seed.figures.alpha},
                     {"params", seed.figures.params},
                     {"contribution", contribution ? ordered_json(*contribution) : ordered_json()}});
  }
  return seeds;
}

ordered_json checkpoints_of(const Saver& saver) {
  ordered_json checkpoints = ordered_json::array();
  for (const auto& entry : saver.checkpoints()) {
    checkpoints.push_back({{"path", entry.path}, {"epoch", entry.epoch}, {"step", entry.step}});
  }
  return checkpoints;
}

// Before anything was measured.
ordered_json unknown_figures(const config::RunConfig& config) {
  ordered_json unknown;
  for (const config::Metric metric : {config::Metric::kLoss, config.training.metric}) {
    unknown[std::string(base::name_of(metric))] = nullptr;
  }
  return unknown;
}

ordered_json training_figures(const config::RunConfig& config, const EpochFigures& figures) {
  ordered_json known = {{"loss", figures.loss}};
  if (config.task != config::Task::kRegression) known["accuracy"] = figures.score;
  return known;
}

}  // namespace

ordered_json figures_json(const EpochFigures& figures) {
  if (figures.by_metric.empty()) return {{"loss", figures.loss}, {"accuracy", figures.score}};
  ordered_json known;
  for (const auto& [metric, figure] : figures.by_metric) known[std::string(base::name_of(metric))] = figure;
  return known;
}

ordered_json summarize(const Run& run, const RunOutcome& outcome, const std::string& run_dir) {
  const RunProgress& progress = run.progress;
  const auto& config = run.facts.config;
  const ordered_json unknown = unknown_figures(config);
  ordered_json summary = {{"run_dir", run_dir},
                          {"status", status_of(outcome.kind)},
                          {"exit_code", static_cast<int>(exit_code_of(outcome))},
                          {"reason", outcome.reason},
                          {"epochs", progress.epoch},
                          {"steps", progress.step},
                          {"wall_s", run.facts.wall_s(progress)},
                          {"parameters", kasmina::num_parameters_of(run.model.network.state())},
                          {"train", progress.validation ? training_figures(config, progress.train) : unknown},
                          {"validation", progress.validation ? figures_json(*progress.validation) : unknown},
                          {"best", nullptr},
                          {"seeds", seeds_of(run.model.network)},
                          {"checkpoints", checkpoints_of(run.saver)}};
  if (progress.best) {
    summary["best"] = {{"epoch", progress.best->epoch}};
    summary["best"].update(figures_json(progress.best->figures));
  }
  if (run.model.settings.scales_loss()) summary["skipped_steps"] = progress.scaler_skips;
  return summary;
}

ordered_json summarize_ledger(base::Ledger& ledger, const base::Clock& clock) {
  ledger.settle();
  const auto until = clock.wall();
  ordered_json owners;
  for (const auto& [owner, name] : names(base::Owner{})) {
    owners[std::string(name)] = base::milliseconds(ledger.settled().totals()[index_of(owner)]);
  }
  return {{"from", base::rfc3339(until - ledger.settled().wall())},
          {"until", base::rfc3339(until)},
          {"wall_ms", base::milliseconds(ledger.settled().wall())},
          {"ms", std::move(owners)}};
}

}  // namespace esper::tolaria
