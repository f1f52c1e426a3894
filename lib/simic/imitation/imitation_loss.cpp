#include "simic/imitation/imitation_loss.h"

#include <ATen/Functions.h>

#include <algorithm>

namespace esper::simic {

using tamiyo::Action;
using tamiyo::NodeType;
using torch::Tensor;

namespace {

constexpr float kImpossible = -1e9F;
constexpr float kHindsightWeight = 0.1F;  // value and risk are known only afterwards, and are no part of the decision

std::int64_t place_of(Action action) { return static_cast<std::int64_t>(action); }

// scores: [candidates].
Tensor choice_loss(const Tensor& scores, std::size_t chosen) {
  return -at::log_softmax(scores, 0)[static_cast<std::int64_t>(chosen)];
}

std::size_t place_in(const std::vector<int>& rows, int row) {
  return static_cast<std::size_t>(std::ranges::find(rows, row) - rows.begin());
}

Tensor action_loss(const tamiyo::HeadTensors& heads, const LessonBatch& batch, const ActionWeights& weights) {
  std::vector<std::int64_t> actions;
  std::vector<float> of_lesson;
  for (const Lesson* lesson : batch.lessons) {
    actions.push_back(place_of(lesson->target.action));
    of_lesson.push_back(weights[static_cast<std::size_t>(lesson->target.action)]);
  }
  const Tensor shares = at::log_softmax(heads.policy_logits + action_mask(batch), 1);
  const Tensor chosen = shares.gather(1, at::tensor(actions, at::kLong).unsqueeze(1)).squeeze(1);
  return -(chosen * at::tensor(of_lesson, at::kFloat)).mean();
}

Tensor germination_loss(const tamiyo::HeadTensors& heads, const LessonBatch& batch, std::size_t i) {
  const auto row = static_cast<std::int64_t>(i);
  const Target& target = batch.lessons[i]->target;
  const Tensor slots = heads.seed_scores.index_select(0, rows_in(batch, i, NodeType::kSeed, target.slots));
  const Tensor blueprints =
      heads.blueprint_scores.index_select(0, rows_in(batch, i, NodeType::kBlueprint, target.blueprints));
  const Tensor length = heads.schedule[row][1] - heads.schedule[row][0];
  return choice_loss(slots, place_in(target.slots, target.slot)) +
         choice_loss(blueprints, place_in(target.blueprints, target.blueprint)) +
         choice_loss(heads.blending_logits[row], static_cast<std::size_t>(target.blend.curve)) +
         (length - target.blend.length).square() + (heads.policy_params[row][0] - target.blend.param).square();
}

// A mean over the decisions of a batch that have it; 0 of none.
struct Term {
  Tensor mean;
  std::size_t count = 0;
};

struct Terms {
  Term action, germinated, risk, value;
};

Term term_of(const std::vector<Tensor>& losses) {
  return {losses.empty() ? at::full({}, 0.0, at::kFloat) : at::stack(losses).mean(), losses.size()};
}

Terms terms_of(const tamiyo::HeadTensors& heads, const LessonBatch& batch, const ActionWeights& weights) {
  std::vector<Tensor> germinations, risks, values;
  for (std::size_t i = 0; i < batch.lessons.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    const Target& target = batch.lessons[i]->target;
    if (target.action == Action::kGerminate) germinations.push_back(germination_loss(heads, batch, i));
    values.push_back((heads.value[row][0] - target.value).square());
    if (target.risk) risks.push_back(choice_loss(heads.risk_logits[row], static_cast<std::size_t>(*target.risk)));
  }
  return {{action_loss(heads, batch, weights), batch.lessons.size()},
          term_of(germinations),
          term_of(risks),
          term_of(values)};
}

template <class T>
T total_of(const T& action, const T& germinated, const T& risk, const T& value) {
  return action + germinated + kHindsightWeight * (risk + value);
}

}  // namespace

ActionWeights balanced_weights(std::span<const Lesson* const> lessons) {
  std::array<double, tamiyo::kActions> counts{};
  double all = 0;
  for (const Lesson* lesson : lessons) {
    if (std::ranges::find(lesson->target.possible, Action::kGerminate) == lesson->target.possible.end()) continue;
    ++counts[static_cast<std::size_t>(lesson->target.action)];
    ++all;
  }
  const auto kinds = static_cast<double>(std::ranges::count_if(counts, [](double count) { return count > 0; }));
  ActionWeights weights;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = counts[i] > 0 ? static_cast<float>(all / (kinds * counts[i])) : 1;
  }
  return weights;
}

Tensor action_mask(const LessonBatch& batch) {
  const auto rows = static_cast<std::int64_t>(batch.lessons.size());
  Tensor mask = at::full({rows, tamiyo::kPolicyActions}, kImpossible, at::kFloat);
  float* values = mask.mutable_data_ptr<float>();
  for (const Lesson* lesson : batch.lessons) {
    for (const Action action : lesson->target.possible) values[place_of(action)] = 0;
    values += tamiyo::kPolicyActions;
  }
  return mask;
}

Tensor rows_in(const LessonBatch& batch, std::size_t i, NodeType type, const std::vector<int>& rows) {
  std::vector<std::int64_t> all;
  for (const int row : rows) all.push_back(batch.first[i][static_cast<std::size_t>(type)] + row);
  return at::tensor(all, at::kLong);
}

Tensor imitation_loss(const tamiyo::HeadTensors& heads, const LessonBatch& batch, const ActionWeights& weights) {
  const auto terms = terms_of(heads, batch, weights);
  return total_of(terms.action.mean, terms.germinated.mean, terms.risk.mean, terms.value.mean);
}

void LossOfBatches::add(const tamiyo::HeadTensors& heads, const LessonBatch& batch, const ActionWeights& weights) {
  const auto terms = terms_of(heads, batch, weights);
  const auto add_term = [](Sum& sum, const Term& term) {
    const auto count = static_cast<double>(term.count);
    sum.losses += count * term.mean.item<double>();
    sum.count += count;
  };
  add_term(action_, terms.action);
  add_term(germinated_, terms.germinated);
  add_term(risk_, terms.risk);
  add_term(value_, terms.value);
}

double LossOfBatches::value() const {
  const auto mean = [](const Sum& sum) { return sum.count > 0 ? sum.losses / sum.count : 0; };
  return total_of(mean(action_), mean(germinated_), mean(risk_), mean(value_));
}

}  // namespace esper::simic
