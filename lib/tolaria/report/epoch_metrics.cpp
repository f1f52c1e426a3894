#include "tolaria/report/epoch_metrics.h"

#include <algorithm>

#include "base/names.h"
#include "config/facts/metric_facts.h"
#include "device/facts.h"
#include "kasmina/network/network_tensors.h"
#include "leyline/telemetry/telemetry.h"
#include "tolaria/evaluation/counterfactual_report.h"
#include "tolaria/report/seed_report.h"

namespace esper::tolaria {

using lanes::GraphFigures;
using lanes::LaneFigures;

namespace {

using config::Lane;
using leyline::metric;
using leyline::MetricValue;
using leyline::SeedState;
using leyline::Stage;
using namespace leyline::literals;

constexpr double flag(bool on) { return on ? 1 : 0; }

bool has(config::Task task, config::Metric metric) {
  const auto known = config::metrics_of(task);
  return std::ranges::find(known, metric) != known.end();
}

bool is_active(Stage stage) { return stage >= Stage::kGerminated && stage <= Stage::kProbationary; }

std::size_t count_active(const std::vector<SeedState>& seeds) {
  return static_cast<std::size_t>(
      std::ranges::count_if(seeds, [](const SeedState& seed) { return is_active(seed.stage); }));
}

void add_training(std::vector<MetricValue>& out, const RunView& run, const EpochResults& results) {
  const auto& [steps, measured, trained, is_last] = results;
  const RunProgress& progress = run.progress;
  out.push_back(metric("tolaria.training.loss"_metric, steps.loss));
  if (has(run.facts.config.task, config::Metric::kAccuracy)) {
    out.push_back(metric("tolaria.training.accuracy"_metric, steps.accuracy));
  }
  out.push_back(metric("tolaria.training.latency_ms"_metric, trained.train_ms));
  out.push_back(metric("tolaria.training.gradient_norm"_metric, steps.gradient_norm));
  if (run.facts.config.training.clip_norm > 0) {
    out.push_back(metric("tolaria.training.clipped_steps"_metric, static_cast<double>(steps.clipped_steps)));
  }
  out.push_back(metric("tolaria.training.samples_per_s"_metric, trained.samples_per_s()));
  out.push_back(metric("tolaria.training.steps_total"_metric, static_cast<double>(progress.step)));
  out.push_back(metric("tolaria.training.params"_metric,
                       static_cast<double>(kasmina::num_parameters_of(run.model.network.state()))));
  out.push_back(metric("tolaria.loader.wait_ms"_metric, trained.loader_wait_ms));
  out.push_back(metric("tolaria.loader.skipped_samples_total"_metric, static_cast<double>(run.facts.skipped_samples)));
  out.push_back(metric("tolaria.grad_agg.microbatches_total"_metric,
                       static_cast<double>(progress.epoch) * static_cast<double>(run.facts.batches_per_epoch)));
  out.push_back(metric("tolaria.epochs.total"_metric, progress.epoch));
  out.push_back(metric("tolaria.epochs.failed"_metric, static_cast<double>(progress.conservative_epochs)));
}

// On the CPU nothing is copied.
void add_copies(std::vector<MetricValue>& out, torch::Device device, const device::CopyTimes& copies) {
  if (!device.is_cuda()) return;
  out.push_back(metric("tolaria.h2d_copy_ms"_metric, copies.copy_ms));
  out.push_back(metric("tolaria.h2d_wait_ms"_metric, copies.wait_ms));
}

void add_settings(std::vector<MetricValue>& out, const RunView& run, const TrainedEpoch& trained) {
  const auto& config = run.facts.config;
  const bool on_card = run.facts.device.is_cuda();
  out.push_back(metric("tolaria.train.amp_enabled"_metric, flag(run.model.settings.compute_type != torch::kFloat32)));
  out.push_back(metric("tolaria.train.tf32_enabled"_metric, flag(on_card && config.device.tf32)));
  out.push_back(metric("tolaria.train.foreach_enabled"_metric, flag(config.training.optimizer.foreach)));
  out.push_back(metric("tolaria.train.compile_enabled"_metric, flag(trained.lanes.in_use == Lane::kCompiled)));
  out.push_back(metric("tolaria.train.graph_enabled"_metric, flag(trained.lanes.in_use == Lane::kGraph)));
  out.push_back(metric("tolaria.train.pin_memory"_metric,
                       flag(on_card && config.data.pin_memory && trained.pinned_refusal.empty())));
  out.push_back(metric("tolaria.lr_controller.enabled"_metric,
                       flag(config.training.schedule.kind != config::ScheduleKind::kConstant)));
  out.push_back(metric("tolaria.lr_controller.current_lr"_metric, trained.learning_rate));
}

void add_lanes(std::vector<MetricValue>& out, const LaneFigures& lanes, const lanes::LaneCounts& validation) {
  for (const Lane lane : {Lane::kEager, Lane::kReplay, Lane::kGraph, Lane::kCompiled}) {
    const std::string name(base::name_of(lane));
    if (const auto batches = validation[static_cast<std::size_t>(lane)]; batches > 0) {
      out.push_back(
          metric("tolaria.validation.lane_batches_total"_metric, static_cast<double>(batches), {{"lane", name}}));
    }
    if (lanes.steps_in(lane) == 0) continue;
    out.push_back(metric("tolaria.step.lane"_metric, flag(lanes.in_use == lane), {{"lane", name}}));
    out.push_back(
        metric("tolaria.step.lane_steps_total"_metric, static_cast<double>(lanes.steps_in(lane)), {{"lane", name}}));
  }
  const auto count = [&](auto handle, std::int64_t value) {
    out.push_back(metric(handle, static_cast<double>(value)));
  };
  count("tolaria.compile_warmup_remaining"_metric, lanes.warmup_remaining);
  count("tolaria.compile.compiled_epochs_total"_metric, lanes.compiled_epochs);
  count("tolaria.compile.pending"_metric, lanes.pending);
  count("tolaria.compile.cache_hits_total"_metric, lanes.cache_hits);
  count("tolaria.compile.cache_misses_total"_metric, lanes.cache_misses);
  count("tolaria.compile.quarantined_total"_metric, lanes.quarantined);
  count("tolaria.step.refusals_total"_metric, lanes.refusals);
  count("tolaria.step.checks_total"_metric, lanes.checks);
  count("tolaria.step.checks_failed_total"_metric, lanes.checks_failed);
  out.push_back(metric("tolaria.compile.warmup_ms"_metric, lanes.warmup_ms));
  out.push_back(metric("tolaria.compile.compile_ms"_metric, lanes.compile_ms));
  out.push_back(metric("tolaria.compile.eager_step_us"_metric, lanes.eager_step_us));
  out.push_back(metric("tolaria.compile.steady_step_us"_metric, lanes.steady_step_us));
  if (lanes.swaps == 0) return;
  out.push_back(metric("tolaria.growth.prepare_ms"_metric, lanes.prepare_ms));
  out.push_back(metric("tolaria.growth.swap_us"_metric, lanes.swap_us));
  out.push_back(metric("tolaria.growth.stall_ms"_metric, lanes.stall_ms));
}

void add_graphs(std::vector<MetricValue>& out, const GraphFigures& graphs) {
  if (graphs.captures == 0) return;
  out.push_back(metric("tolaria.graph.capture_ms"_metric, graphs.capture_ms));
  out.push_back(metric("tolaria.graph.stage_copy_ms"_metric, graphs.stage_copy_ms));
  out.push_back(metric("tolaria.graph.replay_ms"_metric, graphs.replay_ms));
  out.push_back(metric("tolaria.graph.replays_total"_metric, static_cast<double>(graphs.replays)));
}

void add_validation(std::vector<MetricValue>& out, const RunView& run, const ValidationResult& result) {
  out.push_back(metric("tolaria.validation.loss"_metric, result.loss));
  const auto add = [&](auto handle, config::Metric of) {
    const auto found = result.figures.by_metric.find(of);
    if (found != result.figures.by_metric.end()) out.push_back(metric(handle, found->second));
  };
  add("tolaria.validation.accuracy"_metric, config::Metric::kAccuracy);
  add("tolaria.validation.top5"_metric, config::Metric::kTop5);
  add("tolaria.validation.precision"_metric, config::Metric::kPrecision);
  add("tolaria.validation.recall"_metric, config::Metric::kRecall);
  add("tolaria.validation.f1"_metric, config::Metric::kF1);
  add("tolaria.validation.mae"_metric, config::Metric::kMae);
  add("tolaria.validation.r2"_metric, config::Metric::kR2);
  add("tolaria.validation.perplexity"_metric, config::Metric::kPerplexity);
  // After the accuracy, in whose place readers take it.
  const config::Metric primary = run.facts.config.training.metric;
  if (primary != config::Metric::kAccuracy) out.push_back(metric("tolaria.validation.score"_metric, result.score));
  if (const auto& best = run.progress.best) out.push_back(metric("tolaria.validation.best_epoch"_metric, best->epoch));
}

void add_times_and_growth(std::vector<MetricValue>& out, const Measurements& measured, const ComponentFigures& figures,
                          const std::vector<SeedState>& seeds) {
  out.push_back(metric("tolaria.validation.latency_ms"_metric, measured.running_ms));
  out.push_back(metric("tolaria.epoch_hook.latency_ms"_metric, figures.hook_ms));
  out.push_back(metric("tolaria.seeds.active"_metric, static_cast<double>(count_active(seeds))));
  out.push_back(metric("kasmina.seeds.active"_metric, static_cast<double>(count_active(seeds))));
  out.push_back(metric("tolaria.hook.latency_ms"_metric, figures.growth.hook_ms));
  const auto& decide_ms = figures.growth.questions.decide_ms;
  if (decide_ms) out.push_back(metric("tamiyo.decide.latency_ms"_metric, *decide_ms));
}

void add_policy(std::vector<MetricValue>& out, const ComponentFigures& figures) {
  out.push_back(metric("tolaria.mode.conservative"_metric, flag(figures.growth.questions.without_decision)));
  out.push_back(metric("tolaria.timeout.tamiyo_total"_metric, static_cast<double>(figures.policy.timeouts)));
  out.push_back(metric("tolaria.timeout.tamiyo_last_ms"_metric, figures.policy.last_timeout_ms));
  out.push_back(metric("tolaria.opt.rebuilds_total"_metric, static_cast<double>(figures.growth.optimizer_rebuilds)));
  const auto& metrics = figures.growth.questions.metrics;
  out.insert(out.end(), metrics.begin(), metrics.end());
}

void add_safety(std::vector<MetricValue>& out, const RollbackFigures& figures, const EmergencyFigures& emergency) {
  const auto count = [&](auto handle, std::int64_t value) {
    out.push_back(metric(handle, static_cast<double>(value)));
  };
  count("tolaria.rollback.snapshots_total"_metric, figures.snapshots);
  if (figures.snapshots > 0) out.push_back(metric("tolaria.rollback.snapshot_ms"_metric, figures.snapshot_ms));
  count("tolaria.rollback.fast_size_bytes"_metric, figures.size_bytes);
  count("tolaria.rollback.fast_hits_total"_metric, figures.hits);
  count("tolaria.rollback.fast_misses_total"_metric, figures.misses);
  count("tolaria.rollback.failures_total"_metric, figures.failures);
  count("tolaria.rollback.deadline_exceeded_total"_metric, figures.late);
  if (figures.latency_ms > 0) out.push_back(metric("tolaria.rollback.restore_latency_ms"_metric, figures.latency_ms));
  count("tolaria.emergency.halts_total"_metric, emergency.halts);
  out.push_back(metric("tolaria.emergency.halt"_metric, flag(emergency.halts > 0)));
}

void add_saving(std::vector<MetricValue>& out, const SaveFigures& saves) {
  out.push_back(metric("tolaria.checkpoint.written_total"_metric, static_cast<double>(saves.written)));
  out.push_back(metric("tolaria.checkpoint.failed_total"_metric, static_cast<double>(saves.failed)));
  out.push_back(metric("tolaria.checkpoint.skipped_total"_metric, static_cast<double>(saves.skipped)));
  out.push_back(metric("tolaria.checkpoint.save_ms"_metric, saves.save_ms));
  out.push_back(metric("tolaria.checkpoint.stall_ms"_metric, saves.stall_ms));
  out.push_back(metric("tolaria.checkpoint.bytes"_metric, saves.bytes));
  out.push_back(metric("tolaria.journal.lost_total"_metric, static_cast<double>(saves.lost_records)));
}

void add_memory(std::vector<MetricValue>& out, torch::Device device) {
  const auto memory = device::memory_figures(device);
  out.push_back(metric("tolaria.memory.device_used_bytes"_metric, static_cast<double>(memory.used_bytes)));
  out.push_back(metric("tolaria.memory.device_free_bytes"_metric, static_cast<double>(memory.free_bytes)));
  const auto process = device.is_cpu() ? memory : device::memory_figures(torch::kCPU);
  out.push_back(metric("tolaria.memory.resident_bytes"_metric, static_cast<double>(process.used_bytes)));
}

// Metrics of an fp16 run.
void add_scaler(std::vector<MetricValue>& out, const RunView& run, double loss_scale) {
  if (!run.model.settings.scales_loss()) return;
  out.push_back(metric("tolaria.scaler.scale"_metric, loss_scale));
  out.push_back(metric("tolaria.scaler.skipped_steps_total"_metric, static_cast<double>(run.progress.scaler_skips)));
}

void add_controls(std::vector<MetricValue>& out, const RunView& run) {
  if (run.facts.config.growth.gates.evidence != config::Evidence::kControl) return;
  out.push_back(metric("tolaria.control.steps_total"_metric, static_cast<double>(run.progress.control.steps)));
  out.push_back(metric("tolaria.control.wall_ms"_metric, run.progress.control.took_ms));
}

}  // namespace

std::vector<MetricValue> epoch_metrics(const RunView& run, const EpochResults& results,
                                       const ComponentFigures& figures) {
  const auto& [steps, measured, trained, is_last] = results;
  const auto& config = run.facts.config;
  std::vector<MetricValue> out;
  add_training(out, run, results);
  add_copies(out, run.facts.device, trained.copies);
  add_settings(out, run, trained);
  if (config.step.lane != Lane::kEager) add_lanes(out, trained.lanes, measured.batches);
  add_graphs(out, trained.lanes.graphs);
  add_validation(out, run, measured.running);
  add_times_and_growth(out, measured, figures, run.seeds);
  add_policy(out, figures);
  add_safety(out, figures.rollback, figures.emergency);
  add_saving(out, figures.saves);
  add_memory(out, run.facts.device);
  if (trained.utilization) out.push_back(metric("tolaria.device.utilization"_metric, *trained.utilization));
  add_seed_gradients(out, run.model.network, steps, run.seeds,
                     {run.progress.gradient_shares, static_cast<std::size_t>(config.growth.aggregation.layers_shown)});
  add_counterfactual(out, measured.counterfactual);
  add_controls(out, run);
  add_scaler(out, run, steps.loss_scale);
  return out;
}

std::vector<MetricValue> safety_metrics(const RollbackFigures& rollback, const EmergencyFigures& emergency) {
  std::vector<MetricValue> out;
  add_safety(out, rollback, emergency);
  return out;
}

}  // namespace esper::tolaria
