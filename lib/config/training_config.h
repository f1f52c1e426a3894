#pragma once
#include <cstdint>

#include "config/entries/entry.h"
#include "config/entries/group_rule.h"
#include "config/field.h"

namespace esper::config {

enum class OptimizerKind { kSgd, kAdamw };
constexpr auto names(OptimizerKind) {
  return std::array{std::pair{OptimizerKind::kSgd, "sgd"}, std::pair{OptimizerKind::kAdamw, "adamw"}};
}

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::kSgd;
  double lr = 0.01;
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool foreach = true;

  template <class = void>
  static constexpr auto fields() {
    using C = OptimizerConfig;
    return std::tuple{
        field("kind", &C::kind, "sgd or adamw"),
        field("lr", &C::lr, "base learning rate, before the schedule", between(0, 1e3)),
        field("momentum", &C::momentum, "sgd: momentum", between(0, 0.9999)),
        field("nesterov", &C::nesterov, "sgd: Nesterov's form of momentum"),
        field("beta1", &C::beta1, "adamw: decay of the first moment", between(0, 0.9999)),
        field("beta2", &C::beta2, "adamw: decay of the second moment", between(0, 0.999999)),
        field("eps", &C::eps, "adamw: added to the root of the second moment", between(1e-16, 1)),
        field("weight_decay", &C::weight_decay, "sgd: L2 penalty in the gradient; adamw: decoupled decay",
              between(0, 10)),
        field("foreach", &C::foreach, "update all parameters in one call (multi-tensor) instead of one by one")};
  }
};

enum class ScheduleKind { kConstant, kCosine, kStep };
constexpr auto names(ScheduleKind) {
  using K = ScheduleKind;
  return std::array{std::pair{K::kConstant, "constant"}, std::pair{K::kCosine, "cosine"}, std::pair{K::kStep, "step"}};
}

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::kConstant;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;
  double min_factor = 0.0;
  std::int64_t step_epochs = 10;
  double gamma = 0.5;

  template <class = void>
  static constexpr auto fields() {
    using C = ScheduleConfig;
    return std::tuple{
        field("kind", &C::kind, "constant, cosine (to min_factor) or step (times gamma)"),
        field("warmup_steps", &C::warmup_steps, "linear warm-up: factor (step + 1) / warmup_steps", at_least(0)),
        field("total_steps", &C::total_steps, "cosine: last step; 0 uses the whole run", at_least(0)),
        field("min_factor", &C::min_factor, "cosine: factor at its end", between(0, 1)),
        field("step_epochs", &C::step_epochs, "step: epochs between two drops", at_least(1)),
        field("gamma", &C::gamma, "step: factor of one drop", between(1e-6, 1))};
  }
};

// Dynamic loss scaling of fp16 training, by torch.amp.GradScaler's names and defaults.
struct GradScalerConfig {
  double init_scale = 65536.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;

  bool operator==(const GradScalerConfig&) const = default;
  template <class = void>
  static constexpr auto fields() {
    using C = GradScalerConfig;
    return std::tuple{
        field("init_scale", &C::init_scale, "loss scale at the start", between(1e-9, 1e12)),
        field("growth_factor", &C::growth_factor, "factor on the scale after growth_interval steps without an overflow",
              between(1.0001, 1e4)),
        field("backoff_factor", &C::backoff_factor, "factor on the scale after a step whose gradients overflow",
              between(1e-4, 0.9999)),
        field("growth_interval", &C::growth_interval, "steps in a row without an overflow after which the scale grows",
              between(1, 1e9))};
  }
};

// What the last layer's outputs are compared with.
enum class LossKind { kCrossEntropy, kBce, kMse, kHuber };
constexpr auto names(LossKind) {
  using L = LossKind;
  return std::array{std::pair{L::kCrossEntropy, "cross_entropy"}, std::pair{L::kBce, "bce"}, std::pair{L::kMse, "mse"},
                    std::pair{L::kHuber, "huber"}};
}

// A figure of a validation pass. Of loss, mae and perplexity less is better.
enum class Metric { kLoss, kAccuracy, kTop5, kPrecision, kRecall, kF1, kMae, kR2, kPerplexity };
constexpr auto names(Metric) {
  using M = Metric;
  return std::array{std::pair{M::kLoss, "loss"},
                    std::pair{M::kAccuracy, "accuracy"},
                    std::pair{M::kTop5, "top5"},
                    std::pair{M::kPrecision, "precision"},
                    std::pair{M::kRecall, "recall"},
                    std::pair{M::kF1, "f1"},
                    std::pair{M::kMae, "mae"},
                    std::pair{M::kR2, "r2"},
                    std::pair{M::kPerplexity, "perplexity"}};
}

struct TrainingConfig {
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  std::vector<Entry<GroupRule>> groups;
  bool decay_norms_and_biases = true;
  LossKind loss = LossKind::kCrossEntropy;
  double label_smoothing = 0.0;
  std::vector<double> class_weights;
  double huber_delta = 1.0;
  Metric metric = Metric::kAccuracy;
  GradScalerConfig grad_scaler;
  double clip_norm = 0.0;
  double ema_decay = 0.0;
  Metric early_stop_metric = Metric::kLoss;
  int early_stop_epochs = 0;
  double early_stop_min_delta = 0.0;

  template <class = void>
  static constexpr auto fields() {
    using C = TrainingConfig;
    return std::tuple{
        field("optimizer", &C::optimizer, "how parameters are updated"),
        field("schedule", &C::schedule, "learning rate schedule, a pure function of the step"),
        field("groups", &C::groups,
              "learning rate and weight decay of some of the host's parameters: PATTERN:lr=FACTOR,weight_decay=VALUE "
              "with either or both, like \"features.*:lr=0.1\"; the first pattern that matches a name counts"),
        field("decay_norms_and_biases", &C::decay_norms_and_biases,
              "weight decay also applies to parameters with one dimension: biases and norms"),
        field("loss", &C::loss,
              "cross_entropy, bce (with logits), mse or huber; default: by task, bce for multilabel and mse for "
              "regression"),
        field("label_smoothing", &C::label_smoothing, "probability mass spread over all classes", between(0, 0.99)),
        field("class_weights", &C::class_weights,
              "cross_entropy and bce: factor of each class's loss, in the order of the classes; empty: 1 for all",
              between(0, 1e6)),
        field("huber_delta", &C::huber_delta, "huber: error from which the loss is linear", between(1e-9, 1e9)),
        field("metric", &C::metric,
              "the run's primary metric, by which gates and contributions judge: accuracy, top5, precision, recall, f1 "
              "or r2; default: by task, f1 for multilabel and r2 for regression"),
        field("grad_scaler", &C::grad_scaler, "loss scaling, for device.precision fp16 only"),
        field("clip_norm", &C::clip_norm, "maximum global L2 norm of the gradient; 0 turns clipping off",
              between(0, 1e6)),
        field("ema_decay", &C::ema_decay,
              "decay of the averaged parameters (EMA) that validation uses; 0 turns averaging off; default: 0.97 for "
              "gates.evidence control",
              between(0, 0.999999)),
        field("early_stop_metric", &C::early_stop_metric, "the validation metric that has to improve"),
        field("early_stop_epochs", &C::early_stop_epochs,
              "stop after this many epochs without a better early_stop_metric; 0 turns it off", between(0, 1e6)),
        field("early_stop_min_delta", &C::early_stop_min_delta,
              "a metric counts as improved if it improves by more than this", between(0, 1e6))};
  }
  void validate(Findings& out) const;
};

}  // namespace esper::config
