#include "sweep/summary.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/statistics.h"
#include "sweep/expand.h"
#include "sweep/halving.h"

namespace esper::sweep {
namespace {

using FigureState = SeedFigure::State;

SeedFigure figure_of(std::uint64_t seed, const SeedProgress& progress, std::size_t rung) {
  if (rung < progress.results.size()) {
    const double value = progress.results[rung];
    if (std::isfinite(value)) return {seed, FigureState::kDone, value};
    return {seed, FigureState::kFailed, std::nullopt};
  }
  const bool has_failed = progress.state == SeedProgress::State::kFailed;
  return {seed, has_failed ? FigureState::kFailed : FigureState::kPending, std::nullopt};
}

std::size_t rung_shown(const ConfigurationProgress& progress) {
  std::size_t rung = progress.rung;
  while (rung > 0 && !rung_result(progress, rung)) --rung;
  return rung;
}

void add_figures(SummaryRow& row) {
  std::vector<double> values;
  for (const SeedFigure& figure : row.seeds) {
    if (figure.value) values.push_back(*figure.value);
    row.failed += figure.state == FigureState::kFailed ? 1 : 0;
  }
  row.done = values.size();
  if (values.empty()) return;
  double sum = 0;
  for (const double value : values) sum += value;
  row.mean = sum / static_cast<double>(values.size());
  if (const auto error = base::error_of_mean(values)) row.half_width = base::half_width_95(*error);
}

SummaryRow row_of(const Sweep& sweep, const Configuration& configuration, const ConfigurationProgress& progress) {
  ESPER_CHECK(progress.seeds.empty() || progress.seeds.size() == sweep.seeds.size(), "a configuration lacks seeds");
  SummaryRow row;
  for (std::size_t i = 0; i < configuration.size(); ++i) row.parameters[sweep.parameters[i].key] = configuration[i];
  const std::size_t rung = rung_shown(progress);
  if (sweep.settings.method == Method::kHalving) row.epochs = halving_rules(sweep).rungs.at(rung);
  for (std::size_t i = 0; i < sweep.seeds.size(); ++i) {
    row.seeds.push_back(figure_of(sweep.seeds[i], progress.seeds.empty() ? SeedProgress() : progress.seeds[i], rung));
  }
  add_figures(row);
  return row;
}

bool is_complete(const SummaryRow& row) { return row.done == row.seeds.size(); }

// Of the order that Summary::rows has.
int group_of(const SummaryRow& row) {
  if (is_complete(row)) return 0;
  if (row.done == 0) return 3;
  return row.failed == 0 ? 1 : 2;
}

void sort_rows(std::vector<SummaryRow>& rows, Goal goal) {
  std::ranges::stable_sort(rows, [&](const SummaryRow& a, const SummaryRow& b) {
    if (group_of(a) != group_of(b)) return group_of(a) < group_of(b);
    if (a.epochs != b.epochs) return a.epochs > b.epochs;
    return a.mean && b.mean && is_better(*a.mean, *b.mean, goal);
  });
}

// Of two complete rows.
Comparison comparison_of(const SummaryRow& best, const SummaryRow& second, Goal goal) {
  std::vector<double> leads;
  for (std::size_t i = 0; i < best.seeds.size(); ++i) {
    const double difference = best.seeds[i].value.value() - second.seeds[i].value.value();
    leads.push_back(goal == Goal::kMaximize ? difference : -difference);
  }
  Comparison comparison{best.configuration, second.configuration, leads.size(), 0, {}, {}, false};
  for (const double lead : leads) comparison.lead += lead / static_cast<double>(leads.size());
  if (const auto error = base::error_of_mean(leads)) {
    const double half = base::half_width_95(*error);
    comparison.low = comparison.lead - half;
    comparison.high = comparison.lead + half;
    comparison.excludes_zero = *comparison.low > 0;
  }
  return comparison;
}

}  // namespace

Summary summarize(const Sweep& sweep, std::span<const ConfigurationProgress> progress) {
  const auto all = configurations(sweep);
  ESPER_CHECK(all.size() == progress.size(), "progress of other configurations");
  Summary summary{sweep.settings.name, sweep.settings.metric, sweep.settings.goal, 0, {}, {}, {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    summary.rows.push_back(row_of(sweep, all[i], progress[i]));
    summary.rows.back().configuration = i;
  }
  sort_rows(summary.rows, summary.goal);
  const auto& rows = summary.rows;
  summary.complete = static_cast<std::size_t>(std::ranges::count_if(rows, is_complete));
  if (summary.complete > 0) summary.best = rows[0].configuration;
  if (summary.complete > 1 && rows[1].epochs == rows[0].epochs) {
    summary.comparison = comparison_of(rows[0], rows[1], summary.goal);
  }
  return summary;
}

}  // namespace esper::sweep
