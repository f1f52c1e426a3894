#include "simic/seed_reward.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text/joined.h"
#include "simic/contribution_reward.h"

namespace esper::simic {
namespace {

using history::Receipt;
using history::SeedReward;

// Epochs with a contribution, but without an accuracy to hold it against.
std::string without_accuracy(const Receipt& receipt) {
  const auto lacks_accuracy = [](const auto& measured) { return !measured.accuracy_points; };
  const auto epochs = base::joined(receipt.measured | std::views::filter(lacks_accuracy), ", ",
                                   [](const auto& measured) { return measured.epoch; });
  if (epochs.empty()) return "";
  return fmt::format("without epoch {}: the validation accuracy of it is not recorded", epochs);
}

// Its alpha may be above 0, in TRAINING by growth.training, which the receipt does not have; a fossil has been there.
bool may_be_blended(leyline::Stage stage) {
  using leyline::Stage;
  return stage == Stage::kTraining || stage == Stage::kBlending || stage == Stage::kShadowing ||
         stage == Stage::kProbationary || stage == Stage::kFossilized;
}

std::string why_not_measured(const Receipt& receipt) {
  if (receipt.origin == Receipt::Origin::kHost) return "none: a module of the host gets no reward";
  if (receipt.origin == Receipt::Origin::kParent) {
    return "unknown: no contribution is recorded here, and the parent run cannot be read";
  }
  if (receipt.telemetry_missing) {
    return "unknown: no contribution is recorded in the journal, and telemetry.jsonl is missing";
  }
  if (!receipt.stages.empty() && std::ranges::none_of(receipt.stages, may_be_blended, &history::StageTime::stage)) {
    return "unknown: no contribution could be measured because alpha has always been 0";
  }
  return "unknown: no contribution was measured while alpha > 0 (every growth.counterfactual.every_epochs epochs; in "
         "PROBATIONARY after every epoch)";
}

std::string missing_in(const Receipt& receipt) {
  if (receipt.measured.empty()) return why_not_measured(receipt);
  std::string text = without_accuracy(receipt);
  const auto add = [&](const char* part) { text += std::string(text.empty() ? "" : "; ") + part; };
  if (!receipt.accuracy_at_birth_points) {
    add("without the accuracy at germination, half of each contribution counts");
  }
  if (!receipt.accuracy_after_first_epoch_points) {
    add("without the accuracy after its first epoch, discount and ratio penalty are omitted");
  }
  return text;
}

}  // namespace

SeedReward reward_of(const Receipt& receipt) {
  SeedReward result;
  result.missing = missing_in(receipt);
  for (const auto& measured : receipt.measured) {
    if (!measured.accuracy_points) continue;
    const auto earned =
        contribution_reward({measured.contribution_points, *measured.accuracy_points, receipt.accuracy_at_birth_points,
                             receipt.accuracy_after_first_epoch_points});
    result.epochs.push_back(
        {measured.epoch, earned.attribution, earned.discount, earned.ratio_penalty, earned.reward()});
    result.total = result.total.value_or(0) + earned.reward();
  }
  return result;
}

}  // namespace esper::simic
