#include "tolaria/growth/observe.h"

#include <fmt/core.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"
#include "device/facts.h"
#include "kasmina/network/network_seeds.h"
#include "step/optimizer.h"
#include "tolaria/growth/control.h"
#include "tolaria/growth/host_blocks.h"

namespace esper::tolaria {

using step::StepMetrics;

namespace {

constexpr double kBytesInGb = 1e9;

double norm_of_group(const StepMetrics& metrics, const std::string& id) {
  const auto found = metrics.group_gradient_norms.find(id);
  return found == metrics.group_gradient_norms.end() ? 0 : found->second;
}

// Of all that the host owns, its fossils too: each group's norm is its mean over the epoch's steps.
double norm_of_host(const StepMetrics& metrics, std::span<const kasmina::ParameterGroup> groups) {
  double norm = 0;
  for (const auto& group : groups) {
    if (group.owner == kasmina::kHostOwner) norm = std::hypot(norm, norm_of_group(metrics, group.id));
  }
  return norm;
}

std::optional<double> value_at(const std::map<std::string, double>& values, const std::string& id) {
  const auto found = values.find(id);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

double violations_of(const StepMetrics& metrics, const std::string& id) {
  const auto found = std::ranges::find(metrics.seeds, id, [](auto& seed) { return seed.first; });
  return found == metrics.seeds.end() ? 0 : found->second.isolation_violations;
}

kasmina::SeedValue seed_value_of(const ValueOfSeed& seed) {
  kasmina::SeedValue seed_value;
  seed_value.contribution_stderr_points = seed.contribution.standard_error;
  seed_value.contribution_half_width_points = seed.contribution.half_width;
  if (!seed.shapley) return seed_value;
  seed_value.shapley_points = seed.shapley->value;
  seed_value.shapley_stderr_points = seed.shapley->standard_error;
  seed_value.shapley_half_width_points = seed.shapley->half_width;
  return seed_value;
}

leyline::HardwareContext hardware(torch::Device device) {
  const auto memory = device::memory_figures(device);
  leyline::HardwareContext context;
  context.device_type = device.is_cuda() ? "cuda" : "cpu";
  context.device_id = device.str();
  context.total_memory_gb = static_cast<double>(memory.total_bytes) / kBytesInGb;
  context.available_memory_gb = static_cast<double>(memory.free_bytes) / kBytesInGb;
  return context;
}

std::vector<leyline::CommandParameter> germination_parameters(const config::RunConfig& config) {
  const auto& growth = config.growth;
  return {{"alpha_curve", 0, static_cast<double>(names(config::AlphaCurve{}).size() - 1),
           static_cast<double>(growth.alpha_curve)},
          {"alpha_ticks", 1, static_cast<double>(std::max<std::int64_t>(config.epochs, growth.alpha_ticks)),
           static_cast<double>(growth.alpha_ticks)},
          {"alpha_target", config::SlotAlpha::kLeastTarget, 1, growth.alpha_target}};
}

void observe_network(const kasmina::Network& network, const config::HostConfig& host, leyline::Observation& seen) {
  seen.seed_states = kasmina::export_seed_states(network.state());
  seen.slots = kasmina::export_slots(network.state());
  const auto& sites = network.state().host.sites;
  describe_slots(sites, seen.slots);
  seen.blocks = host_blocks(host, network.state().host.tensors.parameters, sites);
}

}  // namespace

kasmina::EpochFacts facts_of(const kasmina::Network& network, std::uint32_t epoch, const EpochResults& results) {
  const auto& [metrics, measured, trained, is_last] = results;
  kasmina::EpochFacts facts;
  facts.epoch = epoch;
  facts.validation_loss = measured.running.loss;
  facts.validation_accuracy = measured.running.score;
  const auto groups = network.parameter_groups();
  facts.host_gradient_norm = norm_of_host(metrics, groups);
  facts.learning_rate = trained.learning_rate;
  facts.undone = measured.undone;
  facts.undone_seeds = measured.undone_seeds;
  for (const auto& group : groups) {
    if (group.id == kasmina::kHostOwner) continue;
    facts.seeds.push_back({group.id, norm_of_group(metrics, group.id), value_at(measured.accuracy_without, group.id),
                           value_at(measured.accuracy_at_full, group.id), violations_of(metrics, group.id)});
    facts.seeds.back().learning_rate = value_at(trained.learning_rates, group.id);
  }
  for (const auto& seed : measured.counterfactual.seeds) facts.seed_value[seed.seed_id] = seed_value_of(seed);
  return facts;
}

leyline::Observation observe(const RunFacts& run, const RunProgress& progress, const kasmina::Network& network,
                             const EpochResults& results) {
  ESPER_CHECK(progress.validation && progress.loss.mean && progress.gradient_norm.mean,
              "an epoch that ended was validated and recorded");
  const auto& [metrics, measured, trained, is_last] = results;
  const auto& optimizer = run.config.training.optimizer;
  leyline::Observation seen;
  seen.packet_id = fmt::format("{}-epoch-{}", run.run_id, progress.epoch);
  seen.training_run_id = run.run_id;
  seen.experiment_name = run.config.name;
  seen.timestamp_ns = static_cast<std::uint64_t>(run.clock.wall().count());
  seen.current_epoch = progress.epoch;
  seen.num_epochs = static_cast<std::uint32_t>(run.config.epochs);
  seen.global_step = static_cast<std::uint64_t>(progress.step);
  seen.training_loss = progress.train.loss;
  seen.validation_loss = progress.validation->loss;
  seen.validation_accuracy = progress.validation->score;
  seen.hardware_context = hardware(run.device);
  seen.training_metrics = {
      {"loss", metrics.loss},
      {"gradient_norm", metrics.gradient_norm},
      {"samples_per_s", trained.samples_per_s()},
      {"optimizer_lr", trained.learning_rate},
      {"optimizer_momentum", optimizer.momentum},
      {"optimizer_family_index", step::optimizer_of(optimizer.kind).family_index},
      {"loss_delta", metrics.loss - *progress.loss.mean},
      {"loss_ewma", *progress.loss.mean},
      {"loss_volatility", std::sqrt(progress.loss.variance)},
      {"grad_norm_ewma", *progress.gradient_norm.mean},
      {"grad_var", progress.gradient_norm.variance},
      {"input_wait_ms", trained.loader_wait_ms},
      {"latency_ms", trained.train_ms},
  };
  // Guards compare it with the validation's: that is of the same kind only then.
  if (run.config.training.metric == config::Metric::kAccuracy) seen.training_metrics["accuracy"] = metrics.accuracy;
  observe_network(network, run.config.host, seen);
  seen.parameters = germination_parameters(run.config);
  if (run.config.growth.gates.evidence == config::Evidence::kControl) {
    const auto control = check_control(run, progress, network);
    if (!control) seen.germination_barred = control.error().reason;
  }
  seen.validation_changes = changes_of(progress.window, run.config.policy.heuristic.window_epochs);
  seen.is_last = is_last;
  return seen;
}

}  // namespace esper::tolaria
