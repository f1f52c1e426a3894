#include "config/facts/metric_facts.h"

#include <array>
#include <cmath>

namespace esper::config {

using enum Metric;

std::span<const LossKind> losses_of(Task task) {
  static constexpr std::array kOneClass{LossKind::kCrossEntropy};
  static constexpr std::array kLabels{LossKind::kBce};
  static constexpr std::array kNumbers{LossKind::kMse, LossKind::kHuber};
  switch (task) {
    case Task::kMultilabel:
      return kLabels;
    case Task::kRegression:
      return kNumbers;
    case Task::kClassification:
    case Task::kLanguage:
      break;
  }
  return kOneClass;
}

std::span<const Metric> metrics_of(Task task) {
  static constexpr std::array kClasses{kLoss, kAccuracy, kTop5, kPrecision, kRecall, kF1};
  static constexpr std::array kLabels{kLoss, kAccuracy, kPrecision, kRecall, kF1};
  static constexpr std::array kNumbers{kLoss, kMae, kR2};
  static constexpr std::array kTokens{kLoss, kAccuracy, kTop5, kPerplexity};
  switch (task) {
    case Task::kMultilabel:
      return kLabels;
    case Task::kRegression:
      return kNumbers;
    case Task::kLanguage:
      return kTokens;
    case Task::kClassification:
      break;
  }
  return kClasses;
}

std::span<const Metric> primary_metrics_of(Task task) {
  static constexpr std::array kClasses{kAccuracy, kTop5, kPrecision, kRecall, kF1};
  static constexpr std::array kLabels{kF1, kAccuracy, kPrecision, kRecall};
  static constexpr std::array kNumbers{kR2};
  static constexpr std::array kTokens{kAccuracy, kTop5};
  switch (task) {
    case Task::kMultilabel:
      return kLabels;
    case Task::kRegression:
      return kNumbers;
    case Task::kLanguage:
      return kTokens;
    case Task::kClassification:
      break;
  }
  return kClasses;
}

bool is_less_better(Metric metric) { return metric == kLoss || metric == kMae || metric == kPerplexity; }

Goal goal_of(Metric metric) { return is_less_better(metric) ? Goal::kMinimize : Goal::kMaximize; }

bool is_better(Metric metric, double value, double than, double delta) {
  if (std::isnan(than)) return !std::isnan(value);
  return is_less_better(metric) ? value < than - delta : value > than + delta;
}

bool has_class_weights(LossKind loss) { return loss == LossKind::kCrossEntropy || loss == LossKind::kBce; }

}  // namespace esper::config
