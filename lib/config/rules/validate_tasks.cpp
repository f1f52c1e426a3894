// The rules between the task, its loss and figures, and the data and network that it needs.
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/names.h"
#include "base/text/joined.h"
#include "config/facts/data_facts.h"
#include "config/facts/metric_facts.h"
#include "config/rules/rules.h"

namespace esper::config {

using base::name_of;

namespace {

template <class E>
std::string names_of(std::span<const E> values) {
  return base::joined(values, ", ", [](E value) { return name_of(value); });
}

template <class E>
void check_one_of(const char* path, E value, std::span<const E> known, Task task, Findings& out) {
  if (std::ranges::find(known, value) != known.end()) return;
  out.push_back({path,
                 fmt::format("{} does not fit task {}; use one of {}", name_of(value), name_of(task), names_of(known)),
                 {"task"}});
}

void check_class_weights(const RunConfig& config, Findings& out) {
  const TrainingConfig& training = config.training;
  if (training.class_weights.empty()) return;
  if (!has_class_weights(training.loss)) {
    out.push_back({"training.class_weights",
                   fmt::format("apply to cross_entropy and bce, not to {}; leave them out", name_of(training.loss)),
                   {"training.loss", "task"}});
  }
  if (std::ranges::count(training.class_weights, 0.0) == std::ssize(training.class_weights)) {
    out.push_back(
        {"training.class_weights", "are all 0, so nothing would be learned; give a class a weight above 0", {}});
  }
  const auto num_classes = config.task == Task::kClassification ? known_classes(config.data) : std::nullopt;
  if (!num_classes || *num_classes == std::ssize(training.class_weights)) return;
  out.push_back({"training.class_weights",
                 fmt::format("has {} weights, but the data have {} classes; give one for each, in their order, or none",
                             training.class_weights.size(), *num_classes),
                 {"data.kind", "data.synthetic.classes"}});
}

void check_training(const RunConfig& config, Findings& out) {
  const TrainingConfig& training = config.training;
  check_one_of("training.loss", training.loss, losses_of(config.task), config.task, out);
  check_one_of("training.metric", training.metric, primary_metrics_of(config.task), config.task, out);
  check_one_of("training.early_stop_metric", training.early_stop_metric, metrics_of(config.task), config.task, out);
  check_one_of("checkpoint.best_metric", config.checkpoint.best_metric, metrics_of(config.task), config.task, out);
  if (training.label_smoothing > 0 && training.loss != LossKind::kCrossEntropy) {
    out.push_back({"training.label_smoothing",
                   fmt::format("applies to cross_entropy, not to {}; leave it out", name_of(training.loss)),
                   {"training.loss", "task"}});
  }
  check_class_weights(config, out);
}

void check_tokens(const RunConfig& config, Findings& out) {
  const bool tokens = has_tokens(config.data, config.task);
  const std::string kind(name_of(config.data.kind));
  if (tokens && config.task != Task::kLanguage) {
    out.push_back({"task",
                   fmt::format("data of kind {} have no targets but their next tokens; set task: language, or leave it "
                               "out",
                               kind),
                   {"data.kind"}});
  } else if (!tokens && config.task == Task::kLanguage) {
    out.push_back({"task",
                   "language needs data of kind text, tokens or process, but data.kind is " + kind +
                       "; name another task or kind",
                   {"data.kind"}});
  }
}

void check_standardized_targets(const RunConfig& config, Findings& out) {
  if (!config.data.standardize_targets) return;
  if (config.task != Task::kRegression) {
    out.push_back({"data.standardize_targets",
                   fmt::format("applies to task regression, not to {}; leave it out", name_of(config.task)),
                   {"task"}});
  } else if (config.data.kind == DataKind::kProcess) {
    out.push_back({"data.standardize_targets",
                   "samples of kind process are used as they are; scale the targets in the program",
                   {"data.kind"}});
  }
}

// Attribution by class goes by one class per sample.
void check_class_attribution(const RunConfig& config, Findings& out) {
  const bool numbers = config.task == Task::kMultilabel || config.task == Task::kRegression;
  if (!numbers || config.growth.aggregation.classes.empty()) return;
  out.push_back({"growth.aggregation.classes",
                 fmt::format("samples of task {} do not have a class each; leave it out", name_of(config.task)),
                 {"task"}});
}

}  // namespace

void check_task(const RunConfig& config, Findings& out) {
  check_training(config, out);
  check_tokens(config, out);
  check_standardized_targets(config, out);
  check_class_attribution(config, out);
}

}  // namespace esper::config
