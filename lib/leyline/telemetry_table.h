#pragma once
// Every metric and event that Esper reports: the one place where their names are spelled. Sorted by name.
// A name is here exactly if some code reports it; tests/build/telemetry_use_test.py compares both. The names are a
// contract with dashboards and alert rules: none is renamed. What the system before this one reported and Esper does
// not is listed in baselines/telemetry/reference.json, planned or with the reason; when such a name comes, it has the
// unit and the labels that it has there, and its status there becomes "reported". docs/telemetry.md and
// baselines/telemetry/catalogue.json are generated from this table.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace esper::leyline {

enum class TelemetryKind : std::uint8_t {
  kCounter,    // only grows while the process lives
  kGauge,      // the value now
  kHistogram,  // one measurement of many; its distribution matters
  kEvent,      // something that happened
};

struct TelemetryEntry {
  std::string_view name;
  TelemetryKind kind;
  std::string_view unit;
  std::string_view help;
  std::string_view labels;  // names of the attributes that may come with it, parted by blanks
};

namespace telemetry_rows {

constexpr TelemetryEntry counter(std::string_view name, std::string_view unit, std::string_view help,
                                 std::string_view labels = {}) {
  return {name, TelemetryKind::kCounter, unit, help, labels};
}
constexpr TelemetryEntry gauge(std::string_view name, std::string_view unit, std::string_view help,
                               std::string_view labels = {}) {
  return {name, TelemetryKind::kGauge, unit, help, labels};
}
constexpr TelemetryEntry histogram(std::string_view name, std::string_view unit, std::string_view help,
                                   std::string_view labels = {}) {
  return {name, TelemetryKind::kHistogram, unit, help, labels};
}
constexpr TelemetryEntry event(std::string_view name, std::string_view help, std::string_view labels = {}) {
  return {name, TelemetryKind::kEvent, "event", help, labels};
}

inline constexpr std::array kTable{
    event("command_rejected", "a command was rejected", "code reason command_id command_type seed_id slot blueprint"),
    event("gate_event", "a gate was passed", "gate measured required from to epoch seed_id reason"),
    event("gate_failure", "a gate was not passed", "gate measured required from to epoch seed_id reason"),
    event("grad_conflict_high", "gradients conflict often", "conflict_ratio"),
    gauge("kasmina.isolation.violations", "count",
          "isolation violations in the epoch: an isolated seed's gradient reached the host"),
    gauge("kasmina.seed.alpha", "ratio", "blend weight (alpha) of the seed", "seed_id slot blueprint stage"),
    gauge("kasmina.seed.alpha_steps", "count", "alpha ticks of the seed so far", "seed_id slot blueprint stage"),
    gauge("kasmina.seed.contribution_half_width_points", "points",
          "half the width of the contribution's 95 % interval over the validation samples, in percentage points",
          "seed_id slot blueprint stage"),
    gauge("kasmina.seed.contribution_points", "points",
          "validation accuracy with the seed minus without it, in percentage points", "seed_id slot blueprint stage"),
    gauge("kasmina.seed.contribution_stderr_points", "points",
          "standard error of the contribution over the validation samples, in percentage points",
          "seed_id slot blueprint stage"),
    gauge("kasmina.seed.gradient_ratio", "ratio",
          "seed's gradient norm divided by the host's, each divided by the square root of its size, smoothed",
          "seed_id slot blueprint stage"),
    gauge("kasmina.seed.improvement_points", "points",
          "validation accuracy gained since the seed entered its stage, in percentage points",
          "seed_id slot blueprint stage"),
    gauge("kasmina.seed.isolation.dot", "grad", "inner product of the host's and the seed's gradients",
          "seed_id slot blueprint stage"),
    gauge("kasmina.seed.isolation.host_norm", "grad", "L2 norm of the host's gradient at the seed's slot",
          "seed_id slot blueprint stage"),
    gauge("kasmina.seed.isolation.seed_norm", "grad", "L2 norm of the seed's gradient", "seed_id slot blueprint stage"),
    gauge("kasmina.seed.isolation_violations", "count", "isolation violations of the seed in the epoch",
          "seed_id slot blueprint stage"),
    gauge("kasmina.seed.params", "elems", "parameter elements of the seed", "seed_id slot blueprint stage"),
    gauge("kasmina.seed.shadow_points", "points",
          "validation accuracy at full blend minus that of the running network, in percentage points",
          "seed_id slot blueprint stage"),
    gauge(
        "kasmina.seed.shapley_half_width_points", "points",
        "half the width of the Shapley value's 95 % interval, over validation samples and drawn orders, in percentage "
        "points",
        "seed_id slot blueprint stage"),
    gauge("kasmina.seed.shapley_points", "points",
          "the seed's Shapley value of validation accuracy among the active seeds, in percentage points",
          "seed_id slot blueprint stage"),
    gauge("kasmina.seed.shapley_stderr_points", "points",
          "standard error of the Shapley value, over validation samples and drawn orders, in percentage points",
          "seed_id slot blueprint stage"),
    gauge("kasmina.seed.stage", "state", "stage of the seed, as its contract number", "seed_id slot blueprint stage"),
    gauge("kasmina.seed.worth_epochs", "count", "epochs of the seed that were compared with its control",
          "seed_id slot blueprint stage"),
    gauge("kasmina.seed.worth_loss", "loss",
          "validation loss of the control, which trained without the seed, minus that of the running network",
          "seed_id slot blueprint stage"),
    gauge("kasmina.seed.worth_loss_stderr", "loss", "standard error of the worth in loss over the validation samples",
          "seed_id slot blueprint stage"),
    gauge("kasmina.seed.worth_points", "points",
          "validation accuracy of the running network minus that of the control, in percentage points",
          "seed_id slot blueprint stage"),
    gauge("kasmina.seed.worth_stderr_points", "points",
          "standard error of the worth in points over the validation samples, in percentage points",
          "seed_id slot blueprint stage"),
    gauge("kasmina.seeds.active", "count", "active seeds of the network"),
    gauge("kasmina.seeds.interaction_half_width_points", "points",
          "half the width of the interaction's 95 % interval, in percentage points", "seed_id other_seed_id"),
    gauge("kasmina.seeds.interaction_points", "points",
          "interaction of two seeds: their joint value minus the sum of their single values, averaged over the others, "
          "in percentage points of validation accuracy",
          "seed_id other_seed_id"),
    gauge("kasmina.seeds.interaction_stderr_points", "points",
          "standard error of the interaction, in percentage points", "seed_id other_seed_id"),
    counter("nissa.dropped_total", "count", "packets dropped because the sink's queue was full or the hub was closed",
            "sink"),
    counter("nissa.packets_total", "count", "packets handed to the sink", "sink"),
    counter("nissa.sink_errors_total", "count", "packets that the sink could not deliver", "sink"),
    event("nissa.telemetry_dropped", "the oldest telemetry files were deleted because of telemetry.limit_mb",
          "files bytes"),
    event("seed_conflict_high", "a seed's gradient conflicts often", "seed_id stage conflict_ratio"),
    event("seed_folded", "a linear fossil was folded into the host's next layer, or the reason why not",
          "result output_change moments_carried moments_transformed moments_reset moments_dropped parameters_dropped "
          "epoch "
          "seed_id slot blueprint reason"),
    event("seed_grafted", "a seed joined the network",
          "operation output_change moments_carried moments_created moments_copied moments_reset moments_dropped "
          "parameters_created parameters_dropped epoch seed_id slot blueprint"),
    event("seed_health", "one seed's aggregation figures in one event", "share alpha conflicts weight seed_id stage"),
    event("seed_removed", "a seed was removed from the network",
          "output_change moments_carried moments_dropped parameters_dropped epoch seed_id slot blueprint"),
    event("seed_share_jump", "a seed's share of the gradient changed abruptly", "seed_id stage delta"),
    event("seed_stage", "a seed moved to another stage", "from to reason epoch seed_id slot blueprint"),
    histogram("tamiyo.decide.latency_ms", "ms", "time of one decision"),
    event("tamiyo.decision", "the policy's decision and its reason",
          "reason epoch commands operation seed_id slot blueprint policy"),
    gauge("tolaria.checkpoint.bytes", "bytes", "size of the last checkpoint"),
    counter("tolaria.checkpoint.failed_total", "count", "checkpoints that could not be published"),
    histogram("tolaria.checkpoint.save_ms", "ms", "time from the snapshot to the published checkpoint"),
    counter("tolaria.checkpoint.skipped_total", "count",
            "checkpoints skipped because one was still being written, or saving is paused"),
    histogram("tolaria.checkpoint.stall_ms", "ms", "time that one checkpoint blocked training"),
    counter("tolaria.checkpoint.written_total", "count", "checkpoints published"),
    event("tolaria.checkpoint_failed", "a checkpoint could not be published", "path epoch step reason"),
    event("tolaria.checkpoint_not_deleted", "a superseded checkpoint could not be deleted; the next save tries again",
          "path reason"),
    event("tolaria.checkpoint_refused", "a checkpoint was not used", "path reason"),
    event("tolaria.checkpoint_saved", "a checkpoint was published", "path epoch step bytes save_ms kind"),
    event("tolaria.checkpoint_skipped", "a checkpoint was skipped", "epoch step reason"),
    counter("tolaria.compile.cache_hits_total", "count", "compiled programs loaded from the cache"),
    counter("tolaria.compile.cache_misses_total", "count", "cache misses of compiled programs"),
    gauge("tolaria.compile.compile_ms", "ms", "time the compiler process took for the last program"),
    counter("tolaria.compile.compiled_epochs_total", "count", "epochs in which a compiled program ran every step"),
    gauge("tolaria.compile.eager_step_us", "us", "median time of an eager step when lanes were last compared"),
    gauge("tolaria.compile.pending", "count", "programs that are being compiled"),
    counter("tolaria.compile.quarantined_total", "count", "compiled programs rejected because of a failure"),
    gauge("tolaria.compile.steady_step_us", "us",
          "median time of a step in the lane in use when lanes were last compared"),
    gauge("tolaria.compile.warmup_ms", "ms", "time the training thread spent activating fast lanes"),
    event("tolaria.compile_cache_hit", "a compiled program was found in the cache", "key load_ms"),
    event("tolaria.compile_enabled", "a compiled program was adopted", "mode dynamic speedup"),
    event("tolaria.compile_fallback", "compilation is not possible; the run continues without it", "error reason"),
    event("tolaria.compile_finished", "a program was compiled, by this run or by another one that shares the cache",
          "key compile_ms recipe compiled_by"),
    event("tolaria.compile_runtime_fallback", "a compiled program failed and was rejected", "error reason"),
    event("tolaria.compile_started", "the step is being compiled in the background", "key operators"),
    event("tolaria.compile_waiting", "the run waits for a program to be compiled", "waits_for waited_s key"),
    gauge("tolaria.compile_warmup_remaining", "count", "eager steps left before the step is recorded"),
    counter("tolaria.control.steps_total", "count", "training steps of the controls of all seeds of the run"),
    event("tolaria.control_confounded", "a seed's worth is no longer measured: other seeds differ from its control",
          "seed_id epoch epochs reason"),
    event("tolaria.control_measured", "a control was trained: the network without the seed that germinates",
          "seed_id slot blueprint epoch epochs steps ms reason"),
    event("tolaria.control_skipped", "a seed germinated without a control",
          "seed_id slot blueprint epoch steps reason"),
    gauge("tolaria.counterfactual.accuracy_without_seeds", "ratio",
          "validation accuracy with every active seed turned off"),
    gauge("tolaria.counterfactual.configurations", "count", "configurations of the active seeds that were evaluated"),
    histogram("tolaria.counterfactual.latency_ms", "ms", "wall time of the counterfactual measurement"),
    gauge("tolaria.counterfactual.permutations", "count",
          "seed permutations sampled for the Shapley values; 0 if they are exact"),
    event("tolaria.counterfactual_late", "the counterfactual measurement was cancelled at its deadline",
          "epoch latency_ms deadline_ms"),
    event("tolaria.counterfactual_limited",
          "growth.counterfactual.max_configurations did not cover everything that was to be measured",
          "epoch seeds omitted max_configurations needed"),
    event("tolaria.diverged", "loss or gradient is not finite", "epoch step reason loss gradient_norm"),
    event("tolaria.early_stop", "validation no longer improves; the run ends early",
          "epoch best_epoch best_loss patience reason"),
    histogram("tolaria.epoch_hook.latency_ms", "ms", "wall time between two epochs: observation, decision, commands"),
    counter("tolaria.epochs.failed", "count", "epochs that ended in a failure"),
    counter("tolaria.epochs.total", "count", "epochs run"),
    gauge("tolaria.grad_agg.conflict_ratio", "ratio", "fraction of compared gradient pairs that conflict"),
    gauge("tolaria.grad_agg.conflicts", "count", "pairs of gradients with a negative inner product in the epoch"),
    counter("tolaria.grad_agg.microbatches_total", "count", "microbatches aggregated since the start of the run"),
    gauge("tolaria.grad_agg.pcgrad_applied", "bool", "1 if gradient surgery changed a step of the epoch"),
    gauge("tolaria.grad_agg.seed.alpha", "ratio", "blend weight (alpha) of the seed", "seed_id stage"),
    gauge("tolaria.grad_agg.seed.conflict_ratio", "ratio", "fraction of the seed's compared pairs that conflict",
          "seed_id stage"),
    gauge("tolaria.grad_agg.seed.conflicts", "count", "conflicts of the seed's gradient with others in the epoch",
          "seed_id stage"),
    gauge("tolaria.grad_agg.seed.layer_norm", "grad", "L2 norm of the seed's gradient in one layer",
          "seed_id stage layer"),
    gauge("tolaria.grad_agg.seed.mask_fraction", "ratio", "share of all parameter elements that the seed owns",
          "seed_id stage"),
    gauge("tolaria.grad_agg.seed.norm", "grad", "L2 norm of the seed's gradient vector", "seed_id stage"),
    gauge("tolaria.grad_agg.seed.params", "elems", "parameter elements that the seed owns", "seed_id stage"),
    gauge("tolaria.grad_agg.seed.share", "ratio", "share of the seed in the sum of gradient norms", "seed_id stage"),
    gauge("tolaria.grad_agg.seed.share_delta", "ratio", "change of the seed's share since the epoch before",
          "seed_id stage"),
    gauge("tolaria.grad_agg.seed.teacher_share", "ratio", "share of the host's gradient attributed to the seed",
          "seed_id stage"),
    gauge("tolaria.grad_agg.seed.weight", "ratio", "aggregation weight of the seed", "seed_id stage"),
    gauge("tolaria.grad_agg.teacher_share", "ratio", "share of the host in the sum of gradient norms"),
    gauge("tolaria.grad_agg.weights_mean", "ratio", "mean aggregation weight over the seeds"),
    histogram("tolaria.graph.capture_ms", "ms", "capture of the step as a graph, in total"),
    histogram("tolaria.graph.replay_ms", "ms", "one replay of the captured graph"),
    counter("tolaria.graph.replays_total", "count", "replays of captured graphs"),
    histogram("tolaria.graph.stage_copy_ms", "ms", "copy of a batch into the graph's static buffers"),
    event("tolaria.graph_disabled_after_failures", "graphs are off for the rest of the run", "failures"),
    event("tolaria.graph_enabled", "a captured graph was adopted", "capture_ms"),
    event("tolaria.graph_fallback", "a graph could not be captured or replayed", "error message stage failures"),
    event("tolaria.graph_skipped_compile", "no graph is captured because a compiled program is in use"),
    gauge("tolaria.growth.prepare_ms", "ms", "background preparation time of the last structure's step"),
    gauge("tolaria.growth.stall_ms", "ms", "stall of the steps by the last change of structure"),
    gauge("tolaria.growth.swap_us", "us", "time to activate the step of the last change of structure"),
    event("tolaria.growth_prepared", "the step of a likely next structure was prepared in advance",
          "change lane prepare_ms"),
    event("tolaria.growth_swapped", "steps of a changed structure run",
          "step lane prepared prepare_ms swap_us stall_ms"),
    event("tolaria.growth_unprepared", "the step of a likely next structure cannot be prepared", "change reason"),
    histogram("tolaria.h2d_copy_ms", "ms", "time the copies of batches to the device took in the epoch"),
    histogram("tolaria.h2d_wait_ms", "ms", "time steps waited for these copies in the epoch"),
    histogram("tolaria.hook.latency_ms", "ms", "wall time of the policy and of its commands after the last step"),
    event("tolaria.interrupted", "a run received a stop signal and saves its state", "signal epoch step"),
    counter("tolaria.journal.lost_total", "count", "records that could not be written to the run's journal"),
    event("tolaria.journal_failed", "records are lost because the run's journal cannot be written", "reason"),
    event("tolaria.journal_not_rotated", "the journal could not start a new file; the next save tries again", "reason"),
    event("tolaria.lane_adopted", "steps run in another lane from now on", "lane from step speedup reason"),
    event("tolaria.lane_chosen", "why auto prepares or skips the compiled lane", "lane reason steps_left"),
    event("tolaria.lane_refused", "a lane was rejected", "lane reason tensor difference tolerance"),
    gauge("tolaria.ledger.ms", "ms", "wall time of the epoch by owner", "owner"),
    counter("tolaria.loader.skipped_samples_total", "count", "samples skipped because they could not be read"),
    histogram("tolaria.loader.wait_ms", "ms", "time that training waited for batches in the epoch"),
    gauge("tolaria.lr_controller.current_lr", "lr", "learning rate of the epoch's last step"),
    gauge("tolaria.lr_controller.enabled", "bool", "1 if a schedule sets the learning rate"),
    gauge("tolaria.memory.device_free_bytes", "bytes", "device memory that is free"),
    gauge("tolaria.memory.device_used_bytes", "bytes", "device memory in use"),
    gauge("tolaria.memory.resident_bytes", "bytes", "memory of the process"),
    gauge("tolaria.mode.conservative", "bool", "1 while the policy is paused"),
    counter("tolaria.opt.rebuilds_total", "count", "times the optimizer was rebuilt"),
    event("tolaria.resumed", "a run was resumed from a checkpoint", "run_dir epoch step checkpoint skipped"),
    counter("tolaria.rollback.fast_hits_total", "count", "rollbacks served by a snapshot in memory"),
    counter("tolaria.rollback.fast_misses_total", "count", "rollbacks that found no snapshot in memory"),
    gauge("tolaria.rollback.fast_size_bytes", "bytes", "memory held by the ring of snapshots"),
    event("tolaria.rollback.restore_failed", "a rollback could not restore a state", "reason detail"),
    histogram("tolaria.rollback.restore_latency_ms", "ms", "wall time of one rollback"),
    event("tolaria.rollback.restored", "the run was rolled back to an earlier state",
          "reason epoch step to_epoch latency_ms"),
    counter("tolaria.rollback.snapshots_total", "count", "snapshots taken"),
    event("tolaria.run_finished", "a run ended", "status exit_code epochs steps wall_s reason"),
    event("tolaria.run_started", "a run started", "run_dir name epochs device precision config_hash version"),
    event("tolaria.samples_skipped", "samples were skipped because they could not be read", "count first reason epoch"),
    event("tolaria.save_paused", "saving is paused; training continues", "reason free_bytes path"),
    event("tolaria.save_resumed", "saving works again", "reason path skipped"),
    gauge("tolaria.scaler.scale", "scale", "loss scale of fp16 training"),
    counter("tolaria.scaler.skipped_steps_total", "count",
            "optimizer steps skipped because the gradient was not finite"),
    event("tolaria.seed_settled", "a seed was unfinished when the run ended, and was kept or removed",
          "seed_id slot blueprint epoch stage alpha result loss_gain loss_gain_half_width points_gain "
          "points_gain_half_width reason"),
    gauge("tolaria.seeds.active", "count", "active seeds at the end of the epoch"),
    counter("tolaria.step.checks_failed_total", "count", "comparisons with eager that a lane failed"),
    counter("tolaria.step.checks_total", "count", "comparisons of a lane with eager"),
    gauge("tolaria.step.lane", "bool", "1 for the lane that runs the step", "lane"),
    counter("tolaria.step.lane_steps_total", "count", "steps run by each lane", "lane"),
    histogram("tolaria.step.p50_us", "us", "median wall time of the epoch's steps"),
    histogram("tolaria.step.p95_us", "us", "95th percentile of the wall time of the epoch's steps"),
    counter("tolaria.step.refusals_total", "count", "lanes rejected because they failed or were not faster"),
    event("tolaria.tamiyo_error", "Tamiyo failed; the decision is empty", "error"),
    event("tolaria.tamiyo_timeout", "Tamiyo exceeded its deadline; the decision is empty",
          "error latency_ms deadline_ms"),
    gauge("tolaria.timeout.tamiyo_last_ms", "ms", "duration of the last Tamiyo call that exceeded its deadline"),
    counter("tolaria.timeout.tamiyo_total", "count", "calls of Tamiyo that exceeded their deadline"),
    gauge("tolaria.train.amp_enabled", "bool", "1 if the step runs under autocast"),
    gauge("tolaria.train.compile_enabled", "bool", "1 if a compiled program runs the step"),
    gauge("tolaria.train.foreach_enabled", "bool", "1 if the optimizer updates all tensors in one call"),
    gauge("tolaria.train.graph_enabled", "bool", "1 if a captured graph runs the step"),
    gauge("tolaria.train.pin_memory", "bool", "1 if batches are staged in pinned memory"),
    gauge("tolaria.train.tf32_enabled", "bool", "1 if TF32 is allowed in matrix products"),
    gauge("tolaria.training.accuracy", "ratio", "training accuracy of the epoch"),
    gauge("tolaria.training.gradient_norm", "grad",
          "global L2 norm of the gradient before clipping, mean over the epoch's steps"),
    histogram("tolaria.training.latency_ms", "ms", "wall time of the epoch's training part"),
    gauge("tolaria.training.loss", "loss", "mean training loss over the epoch's samples"),
    gauge("tolaria.training.params", "elems", "parameter elements of the network, seeds included"),
    gauge("tolaria.training.samples_per_s", "samples/s", "training samples per second of wall time in the epoch"),
    counter("tolaria.training.steps_total", "count", "optimizer steps since the start of the run"),
    gauge("tolaria.validation.accuracy", "ratio", "validation accuracy after the epoch"),
    histogram("tolaria.validation.latency_ms", "ms", "wall time of the validation pass"),
    gauge("tolaria.validation.loss", "loss", "mean loss over the validation samples after the epoch"),
    event("violation_recorded", "an isolation violation was recorded", "seed_id violations dot"),
};

// A metric and an event may share a name; the metric comes first.
constexpr bool in_order(const TelemetryEntry& a, const TelemetryEntry& b) {
  if (a.name != b.name) return a.name < b.name;
  return a.kind != TelemetryKind::kEvent && b.kind == TelemetryKind::kEvent;
}
constexpr bool complete(const TelemetryEntry& e) { return !e.name.empty() && !e.unit.empty() && !e.help.empty(); }
static_assert(std::ranges::adjacent_find(kTable, [](const auto& a, const auto& b) { return !in_order(a, b); }) ==
                  kTable.end(),
              "the telemetry table must be sorted by name without duplicates");
static_assert(std::ranges::all_of(kTable, complete), "each telemetry row needs name, unit and help");

}  // namespace telemetry_rows

constexpr bool allows_label(const TelemetryEntry& entry, std::string_view label) {
  for (auto rest = entry.labels; !rest.empty();) {
    const auto end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == label) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

inline constexpr const auto& kTelemetryTable = telemetry_rows::kTable;

}  // namespace esper::leyline
