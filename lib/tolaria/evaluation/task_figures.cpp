#include "tolaria/evaluation/task_figures.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"
#include "tolaria/evaluation/host_counts.h"

namespace esper::tolaria {

using config::Metric;
using config::Task;
using step::Prediction;

namespace {

constexpr std::int64_t kMostWaiting = std::int64_t{1} << 20;  // numbers, 4 MiB of them

using Numbers = std::span<const double>;

Prediction joined(const std::vector<Prediction>& parts) {
  if (parts.size() == 1) return parts.front();
  std::vector<torch::Tensor> logits, targets;
  for (const Prediction& part : parts) {
    logits.push_back(part.logits);
    targets.push_back(part.targets);
  }
  return {at::cat(logits), at::cat(targets)};
}

void count(torch::Tensor&& counts, const torch::Tensor& places) {
  counts.scatter_add_(0, places, at::ones({1}, counts.options()).expand(places.sizes()));
}

// In the top five, then the confusion matrix; with more classes their hits, targets and predictions.
std::int64_t size_of_classes(std::int64_t classes) {
  return 1 + (classes <= kMostConfused ? classes * classes : 3 * classes);
}

void count_classes(const Prediction& prediction, torch::Tensor& sums) {
  const std::int64_t classes = prediction.logits.size(1);
  const torch::Tensor said = prediction.logits.argmax(1), &is = prediction.targets;
  sums[0].add_(in_top_five(prediction).sum());
  if (classes <= kMostConfused) return count(sums.slice(0, 1), is.mul(classes).add_(said));
  count(sums.slice(0, 1, 1 + classes), is.masked_select(said.eq(is)));
  count(sums.slice(0, 1 + classes, 1 + 2 * classes), is);
  count(sums.slice(0, 1 + 2 * classes), said);
}

// In the top five, then what was met.
void count_tokens(const Prediction& prediction, torch::Tensor& sums) {
  sums[0].add_(in_top_five(prediction).sum());
  sums[1].add_(step::count_correct(prediction));
}

// Samples of which all labels are met, then by label hits, targets and predictions.
void count_labels(const Prediction& prediction, torch::Tensor& sums) {
  const torch::Tensor said = prediction.logits.gt(0), is = prediction.targets.gt(kLikely);
  sums[0].add_(said.eq(is).all(1).sum());
  sums.slice(0, 1).add_(at::cat({said.logical_and(is).sum(0), is.sum(0), said.sum(0)}));
}

// By output: the sums of absolute and squared errors, of the targets and their squares.
void add_errors(const Prediction& prediction, torch::Tensor& sums) {
  const torch::Tensor targets = prediction.targets.to(torch::kFloat64);
  const torch::Tensor errors = prediction.logits.to(torch::kFloat64).sub_(targets);
  sums.add_(at::cat({errors.abs().sum(0), errors.square().sum(0), targets.sum(0), targets.square().sum(0)}));
}

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

ClassFigures class_figures(double hits, double targets, double predictions) {
  return {share_of(hits, predictions), share_of(hits, targets), share_of(2 * hits, targets + predictions),
          static_cast<std::int64_t>(targets), static_cast<std::int64_t>(predictions)};
}

// Means over the classes that occur.
void add_means(TaskFigures& figures) {
  ClassFigures sum;
  double classes = 0;
  for (const ClassFigures& one : figures.classes) {
    if (one.targets + one.predictions == 0) continue;
    ++classes;
    sum.precision += one.precision;
    sum.recall += one.recall;
    sum.f1 += one.f1;
  }
  figures.by_metric[Metric::kPrecision] = share_of(sum.precision, classes);
  figures.by_metric[Metric::kRecall] = share_of(sum.recall, classes);
  figures.by_metric[Metric::kF1] = share_of(sum.f1, classes);
}

// counts: hits, targets and predictions by class.
void add_classes(TaskFigures& figures, Numbers counts) {
  const std::size_t classes = counts.size() / 3;
  for (std::size_t i = 0; i < classes; ++i) {
    figures.classes.push_back(class_figures(counts[i], counts[classes + i], counts[2 * classes + i]));
  }
  add_means(figures);
}

std::vector<double> counts_of(Numbers confusion, std::size_t classes) {
  std::vector<double> counts(3 * classes);
  for (std::size_t i = 0; i < classes; ++i) {
    counts[i] = confusion[i * classes + i];
    for (std::size_t j = 0; j < classes; ++j) {
      counts[classes + i] += confusion[i * classes + j];
      counts[2 * classes + j] += confusion[i * classes + j];
    }
  }
  return counts;
}

TaskFigures figures_of_classes(Numbers sums, std::size_t classes, double targets) {
  TaskFigures figures;
  const Numbers counts = sums.subspan(1);
  if (counts.size() == classes * classes) {
    for (const double one : counts) figures.confusion.push_back(static_cast<std::int64_t>(one));
    add_classes(figures, counts_of(counts, classes));
  } else {
    add_classes(figures, counts);
  }
  double hits = 0;
  for (std::size_t i = 0; i < classes; ++i) {
    hits += figures.confusion.empty() ? counts[i] : counts[i * classes + i];
  }
  figures.by_metric[Metric::kAccuracy] = hits / targets;
  figures.by_metric[Metric::kTop5] = sums[0] / targets;
  return figures;
}

TaskFigures figures_of_labels(Numbers sums, double samples) {
  TaskFigures figures;
  const Numbers counts = sums.subspan(1);
  add_classes(figures, counts);
  const std::size_t labels = counts.size() / 3;
  double all[3] = {};
  for (std::size_t i = 0; i < counts.size(); ++i) all[i / labels] += counts[i];
  figures.micro = class_figures(all[0], all[1], all[2]);
  figures.by_metric[Metric::kAccuracy] = sums[0] / samples;
  return figures;
}

// Of an output whose targets are all equal R2 is 1 where they are met, else 0.
TaskFigures figures_of_errors(Numbers sums, double samples, const std::vector<float>& target_deviation) {
  TaskFigures figures;
  const std::size_t outputs = sums.size() / 4;
  double absolute = 0, squares = 0, r2 = 0;
  for (std::size_t i = 0; i < outputs; ++i) {
    const double error = sums[outputs + i], mean = sums[2 * outputs + i] / samples;
    const double spread = sums[3 * outputs + i] - samples * mean * mean;
    const double unit = target_deviation.empty() ? 1 : target_deviation[i];
    absolute += unit * sums[i];
    squares += unit * unit * error;
    r2 += spread > kNoVariance * sums[3 * outputs + i] ? 1 - error / spread : (error == 0 ? 1 : 0);
  }
  const double all = samples * static_cast<double>(outputs);
  figures.by_metric[Metric::kMae] = absolute / all;
  figures.by_metric[Metric::kR2] = r2 / static_cast<double>(outputs);
  figures.rmse = std::sqrt(squares / all);
  return figures;
}

std::int64_t size_of(Task task, std::int64_t outputs) {
  switch (task) {
    case Task::kLanguage:
      return 2;
    case Task::kMultilabel:
      return 1 + 3 * outputs;
    case Task::kRegression:
      return 4 * outputs;
    case Task::kClassification:
      break;
  }
  return size_of_classes(outputs);
}

}  // namespace

void FigureSums::add(const Prediction& prediction) {
  targets_ += prediction.logits.size(0);
  outputs_ = prediction.logits.size(1);
  if (!sums_.defined()) {
    sums_ = at::zeros({size_of(scoring_.task, outputs_)}, torch::dtype(torch::kFloat64).device(device_));
  }
  if (counts_on_host(prediction)) {
    return count_on_host(scoring_.task, prediction,
                         {sums_.mutable_data_ptr<double>(), static_cast<std::size_t>(sums_.numel())});
  }
  waiting_.push_back(prediction);
  waiting_numbers_ += prediction.logits.numel();
  if (waiting_numbers_ >= kMostWaiting) count_waiting();
}

void FigureSums::count_waiting() {
  if (waiting_.empty()) return;
  const Prediction prediction = joined(waiting_);
  waiting_.clear();
  waiting_numbers_ = 0;
  switch (scoring_.task) {
    case Task::kClassification:
      return count_classes(prediction, sums_);
    case Task::kLanguage:
      return count_tokens(prediction, sums_);
    case Task::kMultilabel:
      return count_labels(prediction, sums_);
    case Task::kRegression:
      return add_errors(prediction, sums_);
  }
}

TaskFigures FigureSums::read(double loss) {
  ESPER_CHECK(targets_ > 0, "there are no figures of no predictions");
  const c10::InferenceMode inference;  // as the sums were made
  count_waiting();
  const torch::Tensor read = sums_.cpu();
  const Numbers sums(read.const_data_ptr<double>(), static_cast<std::size_t>(read.numel()));
  const auto targets = static_cast<double>(targets_);
  TaskFigures figures;
  switch (scoring_.task) {
    case Task::kClassification:
      figures = figures_of_classes(sums, static_cast<std::size_t>(outputs_), targets);
      break;
    case Task::kLanguage:
      figures.by_metric = {{Metric::kAccuracy, sums[1] / targets},
                           {Metric::kTop5, sums[0] / targets},
                           {Metric::kPerplexity, std::exp(loss)}};
      break;
    case Task::kMultilabel:
      figures = figures_of_labels(sums, targets);
      break;
    case Task::kRegression:
      figures = figures_of_errors(sums, targets, target_deviation_);
      break;
  }
  figures.by_metric[Metric::kLoss] = loss;
  return figures;
}

}  // namespace esper::tolaria
