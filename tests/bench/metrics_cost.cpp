// What all figures of a validation pass cost, as a share of an epoch: training on four batches for each that is
// validated, then the pass with all figures or with the score alone, in one process and one thread, taking turns.
// Checks that loss and score are the same, prints one JSON line per case, and fails where the median of the paired
// ratios is above what is allowed.

#include <ATen/Parallel.h>

#include <cstdio>
#include <ctime>

#include "base/statistics.h"
#include "kasmina/host/host.h"
#include "step/model.h"
#include "tolaria/evaluation/validate.h"

namespace {

using namespace esper;
using config::HostKind;
using config::Task;
using tolaria::Figures;

constexpr double kAllowed = 1.01;
constexpr int kRounds = 60, kValidated = 6, kTrained = 4 * kValidated;

struct Case {
  const char* name;
  config::RunConfig config;
  leyline::SampleShape sample;
  std::int64_t batch;
};

std::vector<Case> cases() {
  std::vector<Case> all(4);
  all[0] = {"mlp_digits", {}, leyline::features_shape(64, 10), 64};
  all[1] = {"mlp_regression", {}, leyline::features_shape(64, 3), 64};
  all[1].config.task = Task::kRegression;
  all[1].config.training.loss = config::LossKind::kMse;
  all[1].config.training.metric = config::Metric::kR2;
  all[2] = {"cnn_3x32x32_100_classes", {}, leyline::image_shape(3, 32, 32, 100), 64};
  all[2].config.host.kind = HostKind::kCnn;
  all[3] = {"transformer_64x64", {}, leyline::tokens_shape(64, 65), 16};
  all[3].config.task = Task::kLanguage;
  config::HostConfig& host = all[3].config.host;
  host.kind = HostKind::kTransformer;
  host.layers = host.segments = 3;
  host.embedding = 64;
  host.heads = 4;
  return all;
}

std::vector<std::int64_t> sizes_of(const leyline::SampleShape& sample, std::int64_t batch) {
  switch (sample.kind) {
    case leyline::SampleKind::kImage:
      return {batch, sample.channels, sample.height, sample.width};
    case leyline::SampleKind::kTokens:
      return {batch, sample.context};
    case leyline::SampleKind::kFeatures:
      break;
  }
  return {batch, sample.features};
}

step::Microbatch batch_of(const Case& c) {
  const auto sizes = sizes_of(c.sample, c.batch);
  const bool tokens = c.sample.kind == leyline::SampleKind::kTokens;
  const torch::Tensor inputs = tokens ? at::randint(c.sample.num_classes, sizes, torch::kInt64) : at::randn(sizes);
  if (c.config.task == Task::kRegression) return {inputs, at::randn({c.batch, c.sample.num_classes})};
  return {inputs, tokens ? inputs.roll(-1, 1) : at::randint(c.sample.num_classes, {c.batch}, torch::kInt64)};
}

double thread_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

class Epoch {
 public:
  explicit Epoch(const Case& c)
      : settings_(step::step_settings(c.config, torch::kFloat32)),
        model_(step::build_model(c.config, c.sample, settings_, torch::kCPU)),
        forward_(step::training_forward(model_->network)) {
    for (int i = 0; i < kTrained; ++i) batches_.push_back(batch_of(c));
  }

  void train() {
    for (const auto& batch : batches_) step::train_step(model_->state, settings_, std::span(&batch, 1), forward_);
  }
  tolaria::ValidationResult validate(Figures figures) const {
    tolaria::Validation validation;
    validation.scoring = tolaria::scoring_of(settings_);
    validation.figures = figures;
    const auto next = [this, at = std::size_t{0}]() mutable -> std::optional<step::Microbatch> {
      if (at == static_cast<std::size_t>(kValidated)) return std::nullopt;
      return batches_[at++];
    };
    return tolaria::validate(
        next, [this](const torch::Tensor& x) { return model_->network.forward(x, kasmina::Mode::kEvaluate); },
        validation);
  }

 private:
  step::StepSettings settings_;
  std::unique_ptr<step::Model> model_;
  step::TrainingForward forward_;
  std::vector<step::Microbatch> batches_;
};

struct Times {
  std::vector<double> train, score, all;
};

Times measure(Epoch& epoch) {
  Times times;
  for (int round = 0; round < kRounds; ++round) {
    const bool all_first = round % 2 == 1;
    const double begin = thread_milliseconds();
    epoch.train();
    const double trained = thread_milliseconds();
    epoch.validate(all_first ? Figures::kAll : Figures::kScore);
    const double middle = thread_milliseconds();
    epoch.validate(all_first ? Figures::kScore : Figures::kAll);
    const double first = middle - trained, second = thread_milliseconds() - middle;
    times.train.push_back(trained - begin);
    times.score.push_back(all_first ? second : first);
    times.all.push_back(all_first ? first : second);
  }
  return times;
}

bool run(const Case& c) {
  Epoch epoch(c);
  epoch.train();
  const auto all = epoch.validate(Figures::kAll), score = epoch.validate(Figures::kScore);
  if (all.loss != score.loss || all.score != score.score) {
    std::fprintf(stderr, "%s: the figures change loss or score\n", c.name);
    return false;
  }
  const Times times = measure(epoch);
  std::vector<double> on, off;
  for (std::size_t i = 0; i < times.train.size(); ++i) {
    on.push_back(times.train[i] + times.all[i]);
    off.push_back(times.train[i] + times.score[i]);
  }
  const auto ratio = base::paired_ratio(on, off);
  std::printf(
      "{\"case\": \"%s\", \"epoch_ms\": %.3f, \"pass_ms\": %.3f, \"pass_with_figures_ms\": %.3f, \"ratio\": %.4f, "
      "\"interval\": [%.4f, %.4f]}\n",
      c.name, base::median(off), base::median(times.score), base::median(times.all), ratio.median, ratio.interval.low,
      ratio.interval.high);
  std::fflush(stdout);
  return ratio.median <= kAllowed;
}

}  // namespace

int main() {
  at::set_num_threads(1);
  at::manual_seed(1);
  bool all_within = true;
  for (const auto& c : cases()) all_within = run(c) && all_within;
  return all_within ? 0 : 1;
}
