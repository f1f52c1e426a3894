#include "tamiyo/decision/details.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text/json_struct.h"

namespace esper::tamiyo {

using base::json_member;

namespace {

// The heads as lists: their lengths are checked when they are read.
struct HeadLists {
  std::vector<float> policy_logits, policy_params, blending_logits, schedule, risk_logits, breaker_logits;
  std::vector<float> seed_scores, blueprint_scores;
  float value = 0;
};

struct DetailsText {
  ChoiceDetails choice;
  std::vector<ActionDetails> actions;
  HeadLists outputs;
};

constexpr std::size_t kMostDetails = 1 << 20;  // bytes

template <std::size_t N>
std::vector<float> list_of(const std::array<float, N>& values) {
  return {values.begin(), values.end()};
}

template <std::size_t N>
bool fill(const std::vector<float>& list, std::array<float, N>& values) {
  if (list.size() != N) return false;
  std::ranges::copy(list, values.begin());
  return true;
}

}  // namespace

// Found by their arguments, so not in the anonymous namespace.
constexpr auto json_members(const ActionDetails*) {
  using S = ActionDetails;
  return std::tuple{json_member("name", &S::name), json_member("score", &S::score),
                    json_member("is_possible", &S::is_possible), json_member("targets", &S::targets)};
}

constexpr auto json_members(const ChoiceDetails*) {
  using S = ChoiceDetails;
  return std::tuple{json_member("action", &S::action), json_member("probability", &S::probability),
                    json_member("seed", &S::seed), json_member("blueprint", &S::blueprint)};
}

namespace {

constexpr auto json_members(const HeadLists*) {
  using S = HeadLists;
  return std::tuple{
      json_member("policy_logits", &S::policy_logits),      json_member("policy_params", &S::policy_params),
      json_member("blending_logits", &S::blending_logits),  json_member("schedule", &S::schedule),
      json_member("risk_logits", &S::risk_logits),          json_member("value", &S::value),
      json_member("breaker_logits", &S::breaker_logits),    json_member("seed_scores", &S::seed_scores),
      json_member("blueprint_scores", &S::blueprint_scores)};
}

constexpr auto json_members(const DetailsText*) {
  using S = DetailsText;
  return std::tuple{json_member("choice", &S::choice), json_member("actions", &S::actions),
                    json_member("outputs", &S::outputs)};
}

HeadLists lists_of(const PolicyOutputs& outputs) {
  HeadLists lists;
  lists.policy_logits = list_of(outputs.policy_logits);
  lists.policy_params = list_of(outputs.policy_params);
  lists.blending_logits = list_of(outputs.blending_logits);
  lists.schedule = list_of(outputs.schedule);
  lists.risk_logits = list_of(outputs.risk_logits);
  lists.breaker_logits = list_of(outputs.breaker_logits);
  lists.seed_scores = outputs.seed_scores;
  lists.blueprint_scores = outputs.blueprint_scores;
  lists.value = outputs.value;
  return lists;
}

bool read_lists(HeadLists lists, PolicyOutputs& outputs) {
  outputs.seed_scores = std::move(lists.seed_scores);
  outputs.blueprint_scores = std::move(lists.blueprint_scores);
  outputs.value = lists.value;
  return fill(lists.policy_logits, outputs.policy_logits) && fill(lists.policy_params, outputs.policy_params) &&
         fill(lists.blending_logits, outputs.blending_logits) && fill(lists.schedule, outputs.schedule) &&
         fill(lists.risk_logits, outputs.risk_logits) && fill(lists.breaker_logits, outputs.breaker_logits);
}

}  // namespace

DecisionDetails details_of(const PolicyOutputs& outputs, const Choice& choice, const Candidates& candidates,
                           const leyline::Observation& observation, const ChoiceSettings& settings) {
  DecisionDetails details;
  details.choice = {std::string(row_of(choice.action).name), choice.probability, choice.seed, choice.blueprint};
  details.outputs = outputs;
  const Masks masks = possible_masks(candidates, observation, settings);
  for (const auto& row : kActionTable) {
    details.actions.push_back({std::string(row.name), outputs.policy_logits[static_cast<std::size_t>(row.action)],
                               masks.allows(row.action), masks.targets_of(row.action)});
  }
  return details;
}

std::string details_text(const DecisionDetails& details) {
  return base::json_line(base::to_json(DetailsText{details.choice, details.actions, lists_of(details.outputs)}));
}

base::Expected<DecisionDetails> read_details(const std::string& text) {
  const auto document = base::parse_json(text, kMostDetails);
  if (!document) return base::failure(document.error());
  auto read = base::from_json<DetailsText>(*document);
  if (!read) return base::failure(read.error());
  DecisionDetails details{std::move(read->choice), std::move(read->actions), {}};
  if (!read_lists(std::move(read->outputs), details.outputs)) {
    return base::failure("a head of another length than this version's");
  }
  return details;
}

}  // namespace esper::tamiyo
