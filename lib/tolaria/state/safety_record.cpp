#include "tolaria/state/safety_record.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tuple>

#include "base/text/json_struct.h"

namespace esper::tolaria {

constexpr auto json_members(const FromStep*) {
  using base::json_member;
  return std::tuple{json_member("step", &FromStep::step), json_member("value", &FromStep::value)};
}

constexpr auto json_members(const SafetyRecord*) {
  using base::json_member;
  using R = SafetyRecord;
  return std::tuple{json_member("reactions", &R::reactions),
                    json_member("skipped_steps", &R::skipped_steps),
                    json_member("compared_steps", &R::compared_steps),
                    json_member("rate_cuts", &R::rate_cuts),
                    json_member("splits", &R::splits),
                    json_member("rate", &R::rate),
                    json_member("parts", &R::parts),
                    json_member("full_precision", &R::full_precision),
                    json_member("searches", &R::searches),
                    json_member("search_until", &R::search_until),
                    json_member("failed_epochs", &R::failed_epochs),
                    json_member("failed_steps", &R::failed_steps),
                    json_member("losses", &R::losses),
                    json_member("losses_before_removal", &R::losses_before_removal),
                    json_member("suspect_epochs", &R::suspect_epochs),
                    json_member("good_step", &R::good_step)};
}

namespace {

using nlohmann::json;

constexpr std::size_t kMostEntries = 10'000;

std::int64_t count_before(const std::vector<FromStep>& entries, std::int64_t step) {
  return std::ranges::count_if(entries, [&](const FromStep& entry) { return entry.step < step; });
}

bool are_sound(const std::vector<FromStep>& entries, bool (&is_value)(double)) {
  return entries.size() <= kMostEntries &&
         std::ranges::all_of(entries, [&](const FromStep& entry) { return entry.step >= 0 && is_value(entry.value); });
}

// Epochs that ended well between two searches are in no journal: the record says how many were in a row.
std::int32_t searches_after(const ReactionRecord& reaction, std::int32_t before) {
  if (reaction.reaction != Reaction::kSearch) return 0;
  return reaction.in_a_row > 0 ? reaction.in_a_row : before + 1;
}

void insert_step(std::vector<std::int64_t>& steps, std::int64_t step) {
  steps.insert(std::ranges::upper_bound(steps, step), step);
}

std::int64_t count_before(const std::vector<std::int64_t>& steps, std::int64_t step) {
  return std::ranges::lower_bound(steps, step) - steps.begin();
}

bool are_sound(const std::vector<std::int64_t>& steps) {
  return steps.size() <= kMostEntries && std::ranges::is_sorted(steps) && (steps.empty() || steps.front() >= 0);
}

// One that some run may have.
bool is_sound(const SafetyRecord& record) {
  return record.reactions >= 0 && record.reactions <= kMostCount && record.searches >= 0 && record.search_until >= 0 &&
         record.failed_epochs >= 0 && record.suspect_epochs >= 0 && record.good_step >= 0 &&
         are_sound(record.skipped_steps) && are_sound(record.compared_steps) && are_sound(record.failed_steps) &&
         are_sound(record.rate_cuts, is_rate) && are_sound(record.splits, is_parts) && is_rate(record.rate) &&
         is_parts(record.parts) && record.losses.size() <= kMostEntries && record.losses_before_removal >= 0 &&
         record.losses_before_removal <= std::ssize(record.losses) &&
         std::ranges::all_of(record.losses, [](double loss) { return std::isfinite(loss); });
}

}  // namespace

bool SafetyRecord::skips_step(std::int64_t step) const {
  return !skipped_steps.empty() && std::ranges::binary_search(skipped_steps, step);
}

bool SafetyRecord::compares_step(std::int64_t step) const {
  return !compared_steps.empty() && std::ranges::binary_search(compared_steps, step);
}

double SafetyRecord::rate_factor(std::int64_t step) const {
  double factor = rate;
  for (const FromStep& cut : rate_cuts) {
    if (cut.step <= step) factor *= cut.value;
  }
  return factor;
}

std::int64_t SafetyRecord::parts_at(std::int64_t step) const {
  double most = parts;
  for (const FromStep& split : splits) {
    if (split.step <= step) most = std::max(most, split.value);
  }
  return static_cast<std::int64_t>(most);
}

std::int64_t SafetyRecord::skips_before(std::int64_t step) const { return count_before(skipped_steps, step); }

std::int64_t SafetyRecord::comparisons_before(std::int64_t step) const { return count_before(compared_steps, step); }

std::int64_t SafetyRecord::cuts_before(std::int64_t step) const { return count_before(rate_cuts, step); }

std::int64_t SafetyRecord::failures_before(std::int64_t step) const {
  return failed_epochs + count_before(failed_steps, step);
}

void SafetyRecord::apply(const ReactionRecord& reaction) {
  if (reaction.number <= reactions) return;
  reactions = reaction.number;
  searches = searches_after(reaction, searches);
  if (fails_epoch(reaction.reaction)) insert_step(failed_steps, reaction.step);
  switch (reaction.reaction) {
    case Reaction::kSearch:
      search_until = static_cast<std::int64_t>(reaction.value);
      break;
    case Reaction::kCompareStep:
      insert_step(compared_steps, reaction.step);
      break;
    case Reaction::kSkipStep:
      insert_step(skipped_steps, reaction.step);
      std::erase(compared_steps, reaction.step);
      break;
    case Reaction::kSplitBatches:
      splits.push_back({reaction.step, reaction.value});
      break;
    case Reaction::kLowerRate:
      rate_cuts.push_back({reaction.step, reaction.value});
      break;
    case Reaction::kFullPrecision:
      full_precision = true;
      break;
    case Reaction::kStop:
      break;
  }
}

void SafetyRecord::end_epoch(std::int64_t step) {
  const auto past = [&](const FromStep& entry) { return entry.step < step; };
  const auto is_past = [&](std::int64_t entry) { return entry < step; };
  std::erase_if(skipped_steps, is_past);
  std::erase_if(compared_steps, is_past);
  std::erase_if(failed_steps, is_past);
  rate = std::max(kLeastRate, rate_factor(step - 1));
  parts = static_cast<double>(parts_at(step - 1));
  std::erase_if(rate_cuts, past);
  std::erase_if(splits, past);
  if (search_until <= step) {
    searches = 0;
    search_until = 0;
  }
  failed_epochs = 0;
}

json to_json(const SafetyRecord& record) { return base::to_json(record); }

SafetyRecord safety_record_from_json(const json& saved) {
  if (saved.is_null()) return {};
  const auto record = base::from_json<SafetyRecord>(saved);
  if (!record) throw std::out_of_range(record.error());
  if (!is_sound(*record)) throw std::out_of_range("safety: values out of range");
  return *record;
}

}  // namespace esper::tolaria
