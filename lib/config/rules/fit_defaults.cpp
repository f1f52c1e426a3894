#include "config/rules/fit_defaults.h"

#include <algorithm>
#include <cmath>

#include "base/text/ascii.h"
#include "config/facts/data_facts.h"
#include "config/facts/deepening.h"
#include "config/facts/slot_geometry.h"

namespace esper::config {
namespace {

using IsGiven = std::function<bool(std::string_view)>;

std::int64_t largest_divisor(std::int64_t number, std::int64_t most) {
  std::int64_t divisor = std::clamp<std::int64_t>(number, 1, most);
  while (number % divisor != 0) --divisor;
  return divisor;
}

std::int64_t multiple_from(std::int64_t factor, std::int64_t least) { return (least + factor - 1) / factor * factor; }

// How often a side can be halved before nothing is left.
std::int64_t halvings(std::int64_t side) {
  std::int64_t count = 0;
  for (; side > 1; side /= 2) ++count;
  return count;
}

// A table is no text, whatever the network: read as text it would train without a complaint.
bool names_table(const std::string& path) {
  const std::string name = base::lower_case(path);
  return name.ends_with(".csv") || name.ends_with(".csv.gz");
}

void fit_kinds(RunConfig& config, const IsGiven& is_given) {
  const bool transformer = config.host.kind == HostKind::kTransformer;
  if (!config.host.path.empty() && !is_given("host.kind")) config.host.kind = HostKind::kExported;
  const bool has_host = is_given("host.kind") || config.host.kind == HostKind::kExported;
  if (has_tokens(config.data, config.task) && !has_host) config.host.kind = HostKind::kTransformer;
  const bool may_be_text = is_given("data.path") && !names_table(config.data.path);
  if (transformer && may_be_text && !is_given("data.kind")) config.data.kind = DataKind::kText;
  const bool bundled_digits = config.data.kind == DataKind::kDigits && config.data.path.empty();
  if (config.host.kind == HostKind::kCnn && bundled_digits && !is_given("data.shape")) config.data.shape = {1, 8, 8};
}

void fit_task(RunConfig& config, const IsGiven& is_given) {
  if (has_tokens(config.data, config.task) && !is_given("task")) config.task = Task::kLanguage;
  TrainingConfig& training = config.training;
  if (!is_given("training.loss") && config.task == Task::kMultilabel) training.loss = LossKind::kBce;
  if (!is_given("training.loss") && config.task == Task::kRegression) training.loss = LossKind::kMse;
  if (!is_given("training.metric") && config.task == Task::kMultilabel) training.metric = Metric::kF1;
  if (!is_given("training.metric") && config.task == Task::kRegression) training.metric = Metric::kR2;
}

// Training keeps at least as many samples as validation gets.
void fit_split(DataConfig& data, const IsGiven& is_given) {
  if (is_given("data.validation_fraction")) return;
  const double left = std::round(1000 * (1 - data.test_fraction)) / 1000;
  data.validation_fraction = std::min(data.validation_fraction, left / 2);
}

void fit_cnn(RunConfig& config, const IsGiven& is_given) {
  HostConfig& host = config.host;
  if (!is_given("host.blocks")) host.blocks = std::max(host.blocks, host.pool_layers);
  if (!is_given("host.pool_layers")) {
    host.pool_layers = std::min(host.pool_layers, host.blocks);
    if (const auto pixels = pixels_of(config.data)) {
      host.pool_layers = std::min(host.pool_layers, halvings(std::min(pixels->height, pixels->width)));
    }
  }
  const auto most_channels = kMostChannels >> (std::clamp<std::int64_t>(host.blocks, 1, 16) - 1);
  if (!is_given("host.base_channels")) host.base_channels = std::min(host.base_channels, most_channels);
}

void fit_transformer(HostConfig& host, const IsGiven& is_given) {
  constexpr std::int64_t kWidthOfHead = 64;
  if (host.embedding < 1 || host.heads < 1 || host.layers < 1 || host.segments < 1) return;
  if (!is_given("host.heads")) {
    host.heads = largest_divisor(host.embedding, host.heads);
  } else if (!is_given("host.embedding") && host.embedding % host.heads != 0) {
    host.embedding = host.heads * kWidthOfHead;
  }
  if (!is_given("host.segments")) {
    host.segments = largest_divisor(host.layers, host.segments);
  } else if (!is_given("host.layers")) {
    host.layers = multiple_from(host.segments, host.layers);
  }
}

// A seed that is no part of the network yet must not steer it. One that is part of it from its first step on changes
// nothing at birth and then learns what the network needs: it may come early, needs no trial before it takes part, and
// is soon a part like any other (docs/decisions/0020).
void fit_growth(RunConfig& config, const IsGiven& is_given) {
  GrowthConfig& growth = config.growth;
  HeuristicConfig& heuristic = config.policy.heuristic;
  if (!is_given("growth.isolate")) growth.isolate = growth.training == SeedTraining::kStraightThrough;
  if (growth.training != SeedTraining::kBlended) return;
  if (!is_given("growth.alpha_ticks")) growth.alpha_ticks = 2;
  if (!is_given("growth.gates.evidence")) growth.gates.evidence = Evidence::kNone;
  if (!is_given("growth.gates.min_training_epochs")) growth.gates.min_training_epochs = 1;
  if (!is_given("growth.gates.min_blending_epochs")) growth.gates.min_blending_epochs = 1;
  if (!is_given("policy.heuristic.min_epochs_before_germinate")) heuristic.min_epochs_before_germinate = 2;
  if (!is_given("policy.heuristic.plateau_epochs")) heuristic.plateau_epochs = 0;
  if (!is_given("policy.heuristic.stable_epochs")) heuristic.stable_epochs = 1;
  if (!is_given("policy.heuristic.stable_relative_improvement")) heuristic.stable_relative_improvement = 0.2;
}

// Two networks that trained side by side for a few epochs differ by less than their validation does from step to step.
// Averaged parameters do not have that noise: docs/growth.md, "Worth against a control".
void fit_averaging(RunConfig& config, const IsGiven& is_given) {
  constexpr double kDecay = 0.97;
  const bool compares = config.growth.enabled && config.policy.kind != PolicyKind::kNone &&
                        config.growth.gates.evidence == Evidence::kControl;
  if (compares && !is_given("training.ema_decay")) config.training.ema_decay = kDecay;
}

// Copies that were planned are no trial: they begin at once, wait for no gradient and grow side by side.
void fit_deepening(RunConfig& config, const IsGiven& is_given) {
  GrowthConfig& growth = config.growth;
  if (growth.kind != GrowthKind::kDeepen) return;
  if (!is_given("policy.kind")) config.policy.kind = PolicyKind::kSchedule;
  const auto count = static_cast<int>(deepened_slots(config).size());
  if (count > 0 && !is_given("growth.blueprints")) growth.blueprints = {copied_blueprint(growth.deepen.form)};
  if (!is_given("growth.max_seeds")) growth.max_seeds = std::clamp(count, 1, 64);
  if (!is_given("growth.gates.min_gradient_ratio")) growth.gates.min_gradient_ratio = 0;
  const bool starts_whole = growth.training == SeedTraining::kBlended && growth.deepen.form == DeepenForm::kIdentity;
  if (starts_whole && !is_given("growth.alpha_ticks")) growth.alpha_ticks = 1;
}

// A full file beside the one that is written to has to fit into the limit.
void fit_telemetry(TelemetryConfig& telemetry, const IsGiven& is_given) {
  if (telemetry.limit_mb < 1 || is_given("telemetry.segment_mb")) return;
  telemetry.segment_mb = static_cast<int>(std::clamp<std::int64_t>(telemetry.limit_mb / 2, 1, telemetry.segment_mb));
}

// Of two thresholds, that of the milder measure is reached first.
void fit_risk(RiskConfig& risk, const IsGiven& is_given) {
  if (!is_given("policy.risk.elevated_risk")) risk.elevated_risk = std::min(risk.elevated_risk, risk.critical_risk);
  if (!is_given("policy.risk.critical_risk")) risk.critical_risk = std::max(risk.elevated_risk, risk.critical_risk);
  if (!is_given("policy.risk.loss_warning")) risk.loss_warning = std::min(risk.loss_warning, risk.loss_spike);
  if (!is_given("policy.risk.loss_spike")) risk.loss_spike = std::max(risk.loss_warning, risk.loss_spike);
  if (!is_given("policy.risk.critical_coverage"))
    risk.critical_coverage = std::min(risk.critical_coverage, risk.low_coverage);
  if (!is_given("policy.risk.low_coverage")) risk.low_coverage = std::max(risk.critical_coverage, risk.low_coverage);
}

}  // namespace

void fit_defaults(RunConfig& config, const IsGiven& is_given) {
  fit_kinds(config, is_given);
  fit_task(config, is_given);
  fit_split(config.data, is_given);
  if (config.host.kind == HostKind::kCnn) fit_cnn(config, is_given);
  if (config.host.kind == HostKind::kTransformer) fit_transformer(config.host, is_given);
  fit_growth(config, is_given);
  fit_averaging(config, is_given);
  fit_deepening(config, is_given);
  fit_risk(config.policy.risk, is_given);
  fit_telemetry(config.telemetry, is_given);
}

}  // namespace esper::config
