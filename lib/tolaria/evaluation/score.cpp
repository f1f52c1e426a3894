#include "tolaria/evaluation/score.h"

#include <algorithm>

namespace esper::tolaria {

using config::Metric;
using config::Task;
using step::Prediction;

namespace {

// Metrics that are known of each target by itself.
bool marks_targets(Metric metric) { return metric == Metric::kAccuracy || metric == Metric::kTop5; }

torch::Tensor marks_of(const Scoring& scoring, const Prediction& prediction) {
  if (scoring.metric == Metric::kTop5) return in_top_five(prediction);
  return scoring.task == Task::kMultilabel ? step::hits(prediction).all(1) : step::hits(prediction);
}

// What the network says of each target: its class as int32 [N], its labels as bool [N, K], or numbers [N, K].
torch::Tensor verdicts_of(Task task, const Prediction& prediction) {
  if (task == Task::kRegression) return prediction.logits;
  if (task == Task::kMultilabel) return prediction.logits.gt(0);
  return prediction.logits.argmax(1).to(torch::kInt32);
}

// By class: hits * (true positives) / (predictions * (those of the class) + targets * (those that are)).
struct Ratio {
  double hits = 1, predictions = 0, targets = 0;
};

Ratio ratio_of(Metric metric) {
  if (metric == Metric::kPrecision) return {1, 1, 0};
  if (metric == Metric::kRecall) return {1, 0, 1};
  return {2, 1, 1};
}

// How often each class occurs, float64.
struct ClassCounts {
  torch::Tensor hits, predictions, targets;
};

// A class's figure, 0 where it divides by nothing, and the mean over the classes that occur.
struct ClassRatios {
  torch::Tensor figure, inverse;  // float64 [classes]; of the divisor, 0 where that is 0
  double mean = 0, classes = 0;
};

ClassRatios ratios_of(const Ratio& ratio, const ClassCounts& counts) {
  const torch::Tensor divisor = counts.predictions.mul(ratio.predictions).add(counts.targets, ratio.targets);
  const torch::Tensor inverse = at::where(divisor.gt(0), divisor.reciprocal(), 0);
  const torch::Tensor figure = counts.hits.mul(ratio.hits).mul_(inverse);
  const torch::Tensor occurs = counts.predictions.add(counts.targets).gt(0);
  const double classes = occurs.sum().item<double>();
  return {figure, inverse, figure.sum().item<double>() / std::max(classes, 1.0), classes};
}

torch::Tensor around_mean(const ClassRatios& ratios, const torch::Tensor& influence) {
  return influence.mul(static_cast<double>(influence.size(0)) / std::max(ratios.classes, 1.0)).add_(ratios.mean);
}

Score score_by_classes(const Ratio& ratio, const torch::Tensor& verdicts, const torch::Tensor& truth) {
  const torch::Tensor said = verdicts.to(torch::kInt64), hit = said.eq(truth);
  const std::int64_t classes = std::max(said.max().item<std::int64_t>(), truth.max().item<std::int64_t>()) + 1;
  const auto count = [&](const torch::Tensor& of) { return at::bincount(of, {}, classes).to(torch::kFloat64); };
  const ClassRatios ratios = ratios_of(ratio, {count(truth.masked_select(hit)), count(said), count(truth)});
  const torch::Tensor weighted = ratios.figure.mul(ratios.inverse);
  torch::Tensor influence = ratios.inverse.index_select(0, truth).mul_(hit).mul_(ratio.hits);
  influence.sub_(weighted.index_select(0, truth), ratio.targets);
  influence.sub_(weighted.index_select(0, said), ratio.predictions);
  return {ratios.mean, around_mean(ratios, influence)};
}

Score score_by_labels(const Ratio& ratio, const torch::Tensor& verdicts, const torch::Tensor& truth) {
  const torch::Tensor said = verdicts.to(torch::kFloat64), is = truth.gt(kLikely).to(torch::kFloat64);
  const torch::Tensor hit = said.mul(is);
  const ClassRatios ratios = ratios_of(ratio, {hit.sum(0), said.sum(0), is.sum(0)});
  const torch::Tensor divided = said.mul(ratio.predictions).add(is, ratio.targets);
  const torch::Tensor influence = hit.mul(ratio.hits).sub_(ratios.figure.mul(divided)).mul_(ratios.inverse).sum(1);
  return {ratios.mean, around_mean(ratios, influence)};
}

// Of an output whose targets are all equal, the share that is met exactly.
Score score_by_error(const torch::Tensor& outputs, const torch::Tensor& truth) {
  const torch::Tensor targets = truth.to(torch::kFloat64);
  const torch::Tensor squares = outputs.to(torch::kFloat64).sub_(targets).square_();
  const torch::Tensor variance = targets.var(0, false);
  const torch::Tensor varies = variance.gt(targets.square().mean(0).mul_(kNoVariance));
  const torch::Tensor of_outputs =
      at::where(varies, squares.div(variance).neg_().add_(1), squares.eq(0).to(torch::kFloat64));
  const torch::Tensor by_sample = of_outputs.mean(1);
  return {std::max(by_sample.mean().item<double>(), 0.0), by_sample};
}

Score score_of(const Scoring& scoring, const torch::Tensor& verdicts, const torch::Tensor& truth) {
  if (scoring.task == Task::kRegression) return score_by_error(verdicts, truth);
  const Ratio ratio = ratio_of(scoring.metric);
  if (scoring.task == Task::kMultilabel) return score_by_labels(ratio, verdicts, truth);
  return score_by_classes(ratio, verdicts, truth);
}

}  // namespace

torch::Tensor in_top_five(const Prediction& prediction) {
  const auto& [logits, targets] = prediction;
  return logits.gt(logits.gather(1, targets.unsqueeze(1))).sum(1).lt(kTopRanks);
}

ScoreSums::ScoreSums(const Scoring& scoring, std::int64_t groups, PerSample per_sample, torch::Device device)
    : scoring_(scoring), groups_(groups), per_sample_(per_sample) {
  if (marks_targets(scoring.metric)) met_ = at::zeros({groups}, torch::dtype(torch::kInt64).device(device));
}

void ScoreSums::add_marks(const torch::Tensor& marks, std::int64_t rows) {
  const torch::Tensor by_target = marks.view({groups_, rows, -1});
  met_.add_(by_target.sum({1, 2}));
  targets_ += marks.numel() / groups_;
  if (per_sample_ == PerSample::kKept) by_row_.push_back(by_target.to(torch::kFloat32).mean(2));
}

void ScoreSums::add(const Prediction& prediction, std::int64_t rows) {
  rows_ += rows;
  if (met_.defined()) return add_marks(marks_of(scoring_, prediction), rows);
  const auto part = [this](const torch::Tensor& all) { return all.unflatten(0, {groups_, -1}); };
  verdicts_.push_back(part(verdicts_of(scoring_.task, prediction)));
  truth_.push_back(part(prediction.targets).select(0, 0));
}

std::vector<Score> ScoreSums::read_marks() const {
  const torch::Tensor met = met_.cpu();
  const torch::Tensor by_row = by_row_.empty() ? torch::Tensor() : at::cat(by_row_, 1).cpu();
  std::vector<Score> scores;
  for (std::int64_t i = 0; i < groups_; ++i) {
    const auto count = static_cast<double>(met.const_data_ptr<std::int64_t>()[i]);
    scores.push_back({count / static_cast<double>(targets_), by_row.defined() ? by_row[i] : torch::Tensor()});
  }
  return scores;
}

std::vector<Score> ScoreSums::read() const {
  if (met_.defined()) return read_marks();
  const torch::Tensor verdicts = at::cat(verdicts_, 1).cpu(), truth = at::cat(truth_, 0).cpu();
  std::vector<Score> scores;
  for (std::int64_t i = 0; i < groups_; ++i) {
    scores.push_back(score_of(scoring_, verdicts[i], truth));
    torch::Tensor& by_sample = scores.back().by_sample;
    by_sample =
        per_sample_ == PerSample::kKept ? by_sample.view({rows_, -1}).mean(1).to(torch::kFloat32) : torch::Tensor();
  }
  return scores;
}

}  // namespace esper::tolaria
