#include "simic/imitation/agreement.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "simic/imitation/imitation_loss.h"
#include "tamiyo/network/unfolded_network.h"

namespace esper::simic {

using tamiyo::Action;
using tamiyo::NodeType;

namespace {

constexpr std::size_t kBatch = 256;

// Of a run: the first epochs with a germination of the teacher's and with one of the network's, and the last decision.
struct FirstEpochs {
  std::optional<std::uint32_t> taught, chosen;
  std::uint32_t last = 0;
};

bool could_germinate(const Lesson& lesson) {
  return std::ranges::find(lesson.target.possible, Action::kGerminate) != lesson.target.possible.end();
}

class Tally {
 public:
  void count(const Lesson& lesson, Action chosen) {
    if (chosen == Action::kCull) ++culls_;
    auto& run = runs_[lesson.run];
    run.last = lesson.epoch;
    if (!could_germinate(lesson)) return;
    const bool taught = lesson.target.action == Action::kGerminate, own = chosen == Action::kGerminate;
    ++decided_[taught][own];
    if (taught && !run.taught) run.taught = lesson.epoch;
    if (own && !run.chosen) run.chosen = lesson.epoch;
  }

  void count_germination(const Target& target, bool same_slot, bool same_blueprint) {
    same_slots_ += same_slot;
    drawn_slots_ += 1.0 / static_cast<double>(target.slots.size());
    same_blueprints_ += same_blueprint;
    ++blueprints_[target.blueprint];
  }

  std::map<std::string, double> figures() const {
    const auto& [waits, germinations] = decided_;
    const double waited = waits[0] + waits[1], germinated = germinations[0] + germinations[1];
    const double all = waited + germinated;
    std::map<std::string, double> shown = {{"decisions", all}, {"germinations", germinated}, {"culls", culls_}};
    if (all == 0) return shown;
    shown["accuracy"] = (waits[0] + germinations[1]) / all;
    shown["baseline_accuracy"] = std::max(waited, germinated) / all;
    if (waited > 0) shown["waits_met"] = waits[0] / waited;
    if (germinated == 0) return shown;
    shown["germinations_met"] = germinations[1] / germinated;
    if (waited > 0) shown["balanced_accuracy"] = (shown["waits_met"] + shown["germinations_met"]) / 2;
    shown["slot_agreement"] = same_slots_ / germinated;
    shown["slot_baseline"] = drawn_slots_ / germinated;
    shown["blueprint_agreement"] = same_blueprints_ / germinated;
    shown["blueprint_baseline"] = most_frequent_blueprint() / germinated;
    shown["first_epochs_apart"] = first_epochs_apart();
    return shown;
  }

 private:
  double most_frequent_blueprint() const {
    double most = 0;
    for (const auto& [blueprint, count] : blueprints_) most = std::max(most, count);
    return most;
  }

  double first_epochs_apart() const {
    double sum = 0, runs = 0;
    for (const auto& [number, run] : runs_) {
      if (!run.taught) continue;
      sum += std::abs(static_cast<double>(run.chosen.value_or(run.last)) - static_cast<double>(*run.taught));
      ++runs;
    }
    return sum / runs;
  }

  std::array<std::array<double, 2>, 2> decided_{};  // by what the teacher did, and the network would: 1 germinates
  double culls_ = 0, same_slots_ = 0, drawn_slots_ = 0, same_blueprints_ = 0;
  std::map<int, double> blueprints_;  // by node
  std::map<std::size_t, FirstEpochs> runs_;
};

bool is_highest(const at::Tensor& scores, const at::Tensor& rows, const std::vector<int>& of, int row) {
  const auto best = scores.index_select(0, rows).argmax().item<std::int64_t>();
  return of[static_cast<std::size_t>(best)] == row;
}

void count_batch(const tamiyo::HeadTensors& heads, const LessonBatch& batch, Tally& tally) {
  const at::Tensor chosen = (heads.policy_logits + action_mask(batch)).argmax(1);
  for (std::size_t i = 0; i < batch.lessons.size(); ++i) {
    const Lesson& lesson = *batch.lessons[i];
    const auto& target = lesson.target;
    tally.count(lesson, static_cast<Action>(chosen[static_cast<std::int64_t>(i)].item<std::int64_t>()));
    if (target.action != Action::kGerminate) continue;
    tally.count_germination(
        target,
        is_highest(heads.seed_scores, rows_in(batch, i, NodeType::kSeed, target.slots), target.slots, target.slot),
        is_highest(heads.blueprint_scores, rows_in(batch, i, NodeType::kBlueprint, target.blueprints),
                   target.blueprints, target.blueprint));
  }
}

}  // namespace

std::map<std::string, double> agreement(const tamiyo::Weights& weights, std::span<const Lesson* const> lessons) {
  const at::NoGradGuard no_grad;
  const ActionWeights balanced = balanced_weights(lessons);
  Tally tally;
  LossOfBatches loss;
  for (std::size_t begin = 0; begin < lessons.size(); begin += kBatch) {
    const auto batch = join_lessons(lessons.subspan(begin, std::min(kBatch, lessons.size() - begin)));
    const auto heads = tamiyo::run_side_by_side(weights, batch.graphs);
    count_batch(heads, batch, tally);
    loss.add(heads, batch, balanced);
  }
  auto figures = tally.figures();
  if (!lessons.empty()) figures["loss"] = loss.value();
  return figures;
}

}  // namespace esper::simic
