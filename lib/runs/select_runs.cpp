#include "runs/select_runs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "base/names.h"
#include "base/text/pattern.h"

namespace esper::runs {
namespace {

// Less is first; nothing is last.
using Rank = std::tuple<bool, std::string, double>;

Rank rank_of(std::optional<double> value) {
  return {!value || std::isnan(*value), "", value && !std::isnan(*value) ? *value : 0};
}

Rank larger_first(std::optional<double> value) { return rank_of(value ? std::optional(-*value) : value); }

Rank better_first(const RunRecord& record, const Validation& validation) {
  const auto figure = figure_of(validation, record.metric);
  Rank rank = record.goal == Goal::kMinimize ? rank_of(figure) : larger_first(figure);
  std::get<1>(rank) = record.metric;
  return rank;
}

Rank rank_by(const RunRecord& record, SortKey key) {
  switch (key) {
    case SortKey::kStarted:
      return larger_first(record.started_ms);
    case SortKey::kName:
      return {false, record.name, 0};
    case SortKey::kState:
      return {false, std::string(base::name_of(record.state)), 0};
    case SortKey::kEpochs:
      return larger_first(static_cast<double>(record.epochs));
    case SortKey::kBest:
      return better_first(record, record.best);
    case SortKey::kLast:
      return better_first(record, record.last);
    case SortKey::kDuration:
      return larger_first(record.duration_s);
    case SortKey::kBytes:
      break;
  }
  return larger_first(static_cast<double>(record.bytes));
}

}  // namespace

bool fits(const RunRecord& record, const Selection& selection) {
  const auto& states = selection.states;
  const bool has_state = states.empty() || std::ranges::find(states, record.state) != states.end();
  const bool has_name = selection.name_pattern.empty() || base::fits_pattern(record.name, selection.name_pattern);
  return has_state && has_name && (!selection.written_ms || record.written_ms >= *selection.written_ms);
}

std::vector<RunRecord> select_runs(std::vector<RunRecord> records, const Selection& selection) {
  std::erase_if(records, [&](const RunRecord& record) { return !fits(record, selection); });
  std::vector<std::pair<Rank, std::size_t>> order;
  for (std::size_t i = 0; i < records.size(); ++i) order.emplace_back(rank_by(records[i], selection.sort), i);
  std::ranges::sort(order);
  if (selection.limit > 0 && order.size() > selection.limit) order.resize(selection.limit);
  std::vector<RunRecord> sorted;
  sorted.reserve(order.size());
  for (const auto& [rank, index] : order) sorted.push_back(std::move(records[index]));
  return sorted;
}

}  // namespace esper::runs
