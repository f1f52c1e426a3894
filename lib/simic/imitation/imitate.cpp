#include "simic/imitation/imitate.h"

#include <ATen/Functions.h>
#include <fmt/core.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "base/error.h"
#include "simic/imitation/agreement.h"
#include "simic/imitation/imitation_loss.h"
#include "step/gradients/clip.h"
#include "step/group_scalars.h"
#include "step/optimizer.h"
#include "step/step_state.h"
#include "tamiyo/network/initial_weights.h"
#include "tamiyo/network/unfolded_network.h"

namespace esper::simic {

using tamiyo::Weights;
using torch::Tensor;

namespace {

using LessonList = std::vector<const Lesson*>;

// Without decay: what no lesson reaches keeps the bits that it was drawn with.
step::StepSettings step_settings(const ImitationSettings& settings) {
  step::StepSettings of_step;
  of_step.optimizer.kind = config::OptimizerKind::kAdamw;
  of_step.optimizer.lr = settings.learning_rate;
  of_step.optimizer.weight_decay = 0;
  of_step.clip_norm = settings.clip_norm;
  return of_step;
}

class Pupil {
 public:
  explicit Pupil(const ImitationSettings& settings)
      : settings_(step_settings(settings)),
        weights_(tamiyo::initial_weights(settings.seed)),
        state_(step::make_step_state(settings_, torch::kCPU)) {
    kasmina::ParameterGroup group{"policy", "policy", {}};
    for (auto& [name, tensor] : weights_) {
      if (!is_learned(name)) continue;
      tensor.requires_grad_(true);
      group.parameters.push_back({name, tensor});
    }
    step::sync_groups(state_, settings_, std::span(&group, 1));
  }

  // Returns the loss before.
  double learn(const LessonBatch& batch, const ActionWeights& weights, double learning_rate) {
    const auto heads = tamiyo::run_side_by_side(weights_, batch.graphs);
    const Tensor loss = imitation_loss(heads, batch, weights);
    const auto gradients = torch::autograd::grad({loss}, state_.parameters, {}, false, false, true);
    const at::NoGradGuard no_grad;
    auto& group = state_.groups.front();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      gradients[i].defined() ? group.gradients.views[i].copy_(gradients[i]) : group.gradients.views[i].zero_();
    }
    group.gradients.flat.mul_(step::clip_factor(at::linalg_vector_norm(group.gradients.flat), settings_.clip_norm));
    step::set_learning_rate(state_, learning_rate);
    step::update_scalars(state_.scalars, state_.lr, settings_.optimizer);
    step::update_parameters(group, settings_.optimizer);
    return loss.item<double>();
  }

  const Weights& weights() const { return weights_; }

  Weights copy() const {
    Weights copied;
    for (const auto& [name, tensor] : weights_) {
      copied[name] = is_learned(name) ? tensor.detach().clone(at::MemoryFormat::Contiguous) : tensor;
    }
    return copied;
  }

 private:
  step::StepSettings settings_;
  Weights weights_;
  step::StepState state_;
};

// Fisher and Yates; std::shuffle differs from library to library.
void shuffle(LessonList& lessons, std::mt19937_64& random) {
  for (std::size_t i = lessons.size(); i > 1; --i) std::swap(lessons[i - 1], lessons[random() % i]);
}

double cosine_rate(const ImitationSettings& settings, double done) {
  return settings.learning_rate * (1 + std::cos(std::numbers::pi * done)) / 2;
}

// Returns the mean loss.
double run_epoch(Pupil& pupil, const LessonList& lessons, const ImitationSettings& settings, int epoch,
                 const ActionWeights& weights) {
  const auto size = static_cast<std::size_t>(settings.batch);
  const std::size_t batches = (lessons.size() + size - 1) / size;
  double sum = 0;
  for (std::size_t i = 0; i < batches; ++i) {
    const auto begin = i * size;
    const auto batch = join_lessons(std::span(lessons).subspan(begin, std::min(size, lessons.size() - begin)));
    const double done = (epoch + static_cast<double>(i) / static_cast<double>(batches)) / settings.epochs;
    sum += pupil.learn(batch, weights, cosine_rate(settings, done));
  }
  return sum / static_cast<double>(batches);
}

}  // namespace

bool is_learned(const std::string& name) {
  constexpr std::array kDrawn{".lin_l.weight", ".lin_r.weight", ".lin_src.weight", ".lin_dst.weight"};
  return std::ranges::none_of(kDrawn, [&](const char* end) { return name.ends_with(end); });
}

Imitated imitate(std::span<const Lesson* const> training, std::span<const Lesson* const> held_out,
                 const ImitationSettings& settings, const std::function<void(const ImitationProgress&)>& report) {
  ESPER_CHECK(!training.empty() && settings.epochs > 0 && settings.batch > 0, "nothing to learn from");
  Pupil pupil(settings);
  const ActionWeights weights = balanced_weights(training);
  LessonList lessons(training.begin(), training.end());
  std::mt19937_64 random(settings.seed);
  Imitated best;
  double least = std::numeric_limits<double>::infinity();
  for (int epoch = 0; epoch < settings.epochs; ++epoch) {
    shuffle(lessons, random);
    ImitationProgress progress{epoch + 1, run_epoch(pupil, lessons, settings, epoch, weights), {}};
    if (!std::isfinite(progress.loss)) {
      throw base::Error(base::ExitCode::kDiverged,
                        fmt::format("the loss was not finite in epoch {}: lower the learning rate", epoch + 1));
    }
    if (!held_out.empty()) progress.held_out = agreement(pupil.weights(), held_out);
    const double loss = held_out.empty() ? -epoch : progress.held_out.at("loss");
    if (loss < least || epoch == 0) {
      least = loss;
      best = {pupil.copy(), epoch + 1};
    }
    report(progress);
  }
  return best;
}

}  // namespace esper::simic
