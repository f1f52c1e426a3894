#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "unit/config/problem_case.h"

namespace esper::test::validate_tasks_test {

using Case = esper::test::ProblemCase;
using esper::test::check_problem;

TEST_CASE("loss, metrics, data and host fit the task") {
  const std::string npy = "data: {kind: npy, path: x}\n", text = "data: {kind: text, path: x}\n";
  const std::string process = "data: {kind: process, command: [x]}\n";
  const Case c = GENERATE_COPY(
      Case{process + "task: language", ""}, Case{process + "task: language\nhost: {kind: transformer}", ""},
      Case{process + "task: language\nhost: {kind: linear}",
           "f:3:14: host.kind: data of kind process with task language needs a transformer or an exported host"},
      Case{process + "host: {kind: transformer}", "f:2:14: host.kind: a transformer needs data of kind text or tokens"},
      Case{npy + "task: regression", ""}, Case{npy + "task: multilabel", ""}, Case{text + "task: language", ""},
      Case{npy + "task: regression\ntraining: {loss: huber, early_stop_metric: mae}\ncheckpoint: {best_metric: r2}",
           ""},
      Case{npy + "task: regression\ntraining: {loss: bce}",
           "f:3:18: training.loss: bce does not fit task regression; use one of mse, huber"},
      Case{npy + "training: {loss: mse}",
           "f:2:18: training.loss: mse does not fit task classification; use one of "
           "cross_entropy"},
      Case{npy + "task: multilabel\ntraining: {metric: top5}",
           "f:3:20: training.metric: top5 does not fit task multilabel; use one of f1, accuracy, precision, recall"},
      Case{npy + "task: regression\ntraining: {metric: mae}", "f:3:20: training.metric: mae does not fit"},
      Case{npy + "training: {metric: loss}", "f:2:20: training.metric: loss does not fit task classification"},
      Case{"training: {early_stop_metric: perplexity}", "f:1:31: training.early_stop_metric: perplexity does not fit"},
      Case{"checkpoint: {best_metric: mae}", "f:1:27: checkpoint.best_metric: mae does not fit task classification"},
      Case{text + "training: {early_stop_metric: perplexity}\ncheckpoint: {best_metric: accuracy}", ""},
      Case{npy + "task: regression\ntraining: {label_smoothing: 0.1}",
           "f:3:29: training.label_smoothing: applies to cross_entropy, not to mse"},
      Case{npy + "task: regression\ntraining: {class_weights: [1, 2]}",
           "f:3:27: training.class_weights: apply to cross_entropy and bce, not to mse"},
      Case{npy + "task: multilabel\ntraining: {class_weights: [1, 2]}", ""},
      Case{"training: {class_weights: [1, 2]}",
           "f:1:27: training.class_weights: has 2 weights, but the data have 10 classes"},
      Case{"training: {class_weights: [1, 2, 0, 1, 1, 1, 1, 1, 1, 1]}", ""},
      Case{npy + "training: {class_weights: [0, 0]}", "f:2:27: training.class_weights: are all 0"},
      Case{"task: language",
           "f:1:7: task: language needs data of kind text, tokens or process, but data.kind is digits"},
      Case{text + "task: classification", "f:2:7: task: data of kind text have no targets but their next tokens"},
      Case{"data: {kind: tokens, path: x}\nhost: {kind: linear}",
           "f:2:14: host.kind: data of kind tokens needs a transformer or an exported host"},
      Case{"data: {kind: npy, path: x, standardize_targets: true}\ntask: regression", ""},
      Case{"data: {standardize_targets: true}",
           "f:1:29: data.standardize_targets: applies to task regression, not to classification; leave it out"},
      Case{"data: {kind: process, command: [x], standardize_targets: true}\ntask: regression",
           "f:1:58: data.standardize_targets: samples of kind process are used as they are"},
      Case{npy + "host: {kind: transformer}", "f:2:14: host.kind: a transformer needs data of kind text or tokens"});
  check_problem(c);
}

}  // namespace esper::test::validate_tasks_test
