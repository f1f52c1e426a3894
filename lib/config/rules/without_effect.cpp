#include "config/rules/without_effect.h"

#include <fmt/core.h>

#include <initializer_list>

#include "base/names.h"

namespace esper::config {
namespace {

// A field that acts beside some values of another one alone.
struct Companion {
  std::string_view path;
  bool is_changed;  // from its default
  bool acts;
  std::string_view wanted;  // values with which it acts
};

void add_idle(Findings& findings, std::string_view key, std::string_view value,
              std::initializer_list<Companion> fields) {
  for (const auto& field : fields) {
    if (!field.is_changed || field.acts) continue;
    findings.push_back({std::string(field.path),
                        fmt::format("has no effect with {0} {1}: it is for {0} {2}", key, value, field.wanted),
                        {std::string(key)}});
  }
}

void add_idle_of_host(Findings& findings, const HostConfig& host) {
  const HostConfig plain;
  const bool mlp = host.kind == HostKind::kMlp, cnn = host.kind == HostKind::kCnn;
  const bool transformer = host.kind == HostKind::kTransformer;
  add_idle(findings, "host.kind", base::name_of(host.kind),
           {{"host.hidden", host.hidden != plain.hidden, mlp, "mlp"},
            {"host.blocks", host.blocks != plain.blocks, cnn, "cnn"},
            {"host.base_channels", host.base_channels != plain.base_channels, cnn, "cnn"},
            {"host.kernel", host.kernel != plain.kernel, cnn, "cnn"},
            {"host.pool_layers", host.pool_layers != plain.pool_layers, cnn, "cnn"},
            {"host.residual_blocks", host.residual_blocks != plain.residual_blocks, cnn, "cnn"},
            {"host.layers", host.layers != plain.layers, transformer, "transformer"},
            {"host.embedding", host.embedding != plain.embedding, transformer, "transformer"},
            {"host.heads", host.heads != plain.heads, transformer, "transformer"},
            {"host.segments", host.segments != plain.segments, transformer, "transformer"},
            {"host.dropout", host.dropout != plain.dropout, mlp || transformer, "mlp and transformer"}});
}

void add_idle_of_training(Findings& findings, const TrainingConfig& training) {
  const TrainingConfig plain;
  const auto &optimizer = training.optimizer, &usual = plain.optimizer;
  const bool sgd = optimizer.kind == OptimizerKind::kSgd, adamw = optimizer.kind == OptimizerKind::kAdamw;
  add_idle(findings, "training.optimizer.kind", base::name_of(optimizer.kind),
           {{"training.optimizer.momentum", optimizer.momentum != usual.momentum, sgd, "sgd"},
            {"training.optimizer.nesterov", optimizer.nesterov != usual.nesterov, sgd, "sgd"},
            {"training.optimizer.beta1", optimizer.beta1 != usual.beta1, adamw, "adamw"},
            {"training.optimizer.beta2", optimizer.beta2 != usual.beta2, adamw, "adamw"},
            {"training.optimizer.eps", optimizer.eps != usual.eps, adamw, "adamw"}});
  const auto &schedule = training.schedule, &constant = plain.schedule;
  const bool cosine = schedule.kind == ScheduleKind::kCosine, step = schedule.kind == ScheduleKind::kStep;
  add_idle(findings, "training.schedule.kind", base::name_of(schedule.kind),
           {{"training.schedule.total_steps", schedule.total_steps != constant.total_steps, cosine, "cosine"},
            {"training.schedule.min_factor", schedule.min_factor != constant.min_factor, cosine, "cosine"},
            {"training.schedule.step_epochs", schedule.step_epochs != constant.step_epochs, step, "step"},
            {"training.schedule.gamma", schedule.gamma != constant.gamma, step, "step"}});
  add_idle(findings, "training.loss", base::name_of(training.loss),
           {{"training.huber_delta", training.huber_delta != plain.huber_delta, training.loss == LossKind::kHuber,
             "huber"}});
}

void add_idle_of_policy(Findings& findings, const PolicyConfig& policy) {
  const PolicyConfig plain;
  using enum PolicyKind;
  add_idle(findings, "policy.kind", base::name_of(policy.kind),
           {{"policy.schedule", !policy.schedule.empty(), policy.asks(kSchedule), "schedule"},
            {"policy.periodic.every_epochs", policy.periodic.every_epochs != plain.periodic.every_epochs,
             policy.asks(kPeriodic), "periodic"},
            {"policy.random.probability", policy.random.probability != plain.random.probability, policy.asks(kRandom),
             "random"},
            {"policy.random.seed", policy.random.seed != plain.random.seed, policy.asks(kRandom), "random"},
            {"policy.file", !policy.file.empty(), policy.asks(kGnn), "gnn"},
            {"policy.command", !policy.command.empty(), policy.asks(kProcess), "process"},
            {"policy.ensemble", !policy.ensemble.empty(), policy.kind == kEnsemble, "ensemble"}});
}

void add_idle_scaler(Findings& findings, const RunConfig& config) {
  const Precision precision = config.device.precision;
  if (precision == Precision::kFp16 || config.training.grad_scaler == GradScalerConfig()) return;
  findings.push_back({"training.grad_scaler",
                      fmt::format("has no effect with device.precision {}: the loss is scaled only in fp16; leave it "
                                  "out, or set device.precision: fp16",
                                  base::name_of(precision)),
                      {"device.precision"}});
}

}  // namespace

Findings settings_without_effect(const RunConfig& config, const std::function<bool(std::string_view path)>& is_given) {
  Findings findings;
  add_idle_of_host(findings, config.host);
  add_idle_of_training(findings, config.training);
  add_idle_of_policy(findings, config.policy);
  std::erase_if(findings, [&](const Finding& finding) { return !is_given(finding.path); });
  add_idle_scaler(findings, config);
  return findings;
}

}  // namespace esper::config
