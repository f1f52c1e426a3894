// A summary for people and for programs.

#include <fmt/core.h>

#include <set>

#include "base/names.h"
#include "base/text/aligned.h"
#include "base/text/printable.h"
#include "sweep/summary_json.h"

namespace esper::sweep {

using base::aligned;

namespace {

using Cells = std::vector<std::string>;

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// "lr" of "training.optimizer.lr", where no other parameter ends so.
std::map<std::string, std::string> short_names(const SummaryRow& row) {
  std::multiset<std::string> ends;
  for (const auto& [key, value] : row.parameters) ends.insert(last_part(key));
  std::map<std::string, std::string> shown;
  for (const auto& [key, value] : row.parameters) shown[key] = ends.count(last_part(key)) == 1 ? last_part(key) : key;
  return shown;
}

std::string seeds_text(const SummaryRow& row) {
  std::string text = fmt::format("{}/{}", row.done, row.seeds.size());
  if (row.failed > 0) text += fmt::format(", {} without a result", row.failed);
  return text;
}

std::string figure_text(const SummaryRow& row) {
  if (!row.mean) return "-";
  std::string text = fmt::format("{:.5g}", *row.mean);
  if (row.half_width) text += fmt::format(" ± {:.2g}", *row.half_width);
  return text;
}

std::string table_text(const Summary& summary) {
  const auto shown = short_names(summary.rows.front());
  const bool has_epochs = summary.rows.front().epochs > 0;
  Cells head{"configuration"};
  for (const auto& [key, name] : shown) head.push_back(name);
  if (has_epochs) head.emplace_back("epochs");
  head.emplace_back("seeds");
  head.push_back(std::string(base::name_of(summary.metric)) + ", 95 % interval");
  std::vector<Cells> lines{head};
  for (const SummaryRow& row : summary.rows) {
    Cells cells{std::to_string(row.configuration)};
    for (const auto& [key, value] : row.parameters) cells.push_back(base::shortened(base::printable_line(value), 30));
    if (has_epochs) cells.push_back(std::to_string(row.epochs));
    cells.push_back(seeds_text(row));
    cells.push_back(figure_text(row));
    lines.push_back(std::move(cells));
  }
  return aligned(lines);
}

std::string comparison_text(const Comparison& comparison) {
  std::string text = fmt::format("{:.3g} better than configuration {}", comparison.lead, comparison.second);
  if (!comparison.low) return text + "; one seed cannot show whether that is chance\n";
  text += fmt::format(" on the same {} seeds, 95 % interval {:+.3g} to {:+.3g}: ", comparison.pairs, *comparison.low,
                      *comparison.high);
  return text + (comparison.excludes_zero ? "excludes zero\n"
                                          : "includes zero, so these seeds do not show which of the two is better\n");
}

std::string best_text(const Summary& summary) {
  if (!summary.best) return "best mean  none yet: no configuration has all of its seeds\n";
  const SummaryRow& best = summary.rows.front();
  std::string text = fmt::format("best mean  configuration {}, {} {:.5g}", *summary.best, base::name_of(summary.metric),
                                 best.mean.value());
  if (best.epochs > 0) text += fmt::format(" after {} epochs", best.epochs);
  text += "\n           ";
  text += summary.comparison ? comparison_text(*summary.comparison)
                             : "no second configuration to compare it with is complete\n";
  if (summary.complete > 2) {
    text += fmt::format("           the best of {} looks better than it is: other seeds would confirm it\n",
                        summary.complete);
  }
  return text;
}

}  // namespace

std::string summary_text(const Summary& summary) {
  const bool is_maximized = summary.goal == Goal::kMaximize;
  std::string text = fmt::format("sweep      {}\nmetric     {}, {} is better\ncomplete   {} of {} configurations\n\n",
                                 base::printable_line(summary.name), base::name_of(summary.metric),
                                 is_maximized ? "more" : "less", summary.complete, summary.rows.size());
  if (summary.rows.empty()) return text;
  return text + table_text(summary) + "\n" + best_text(summary);
}

nlohmann::json summary_json(const Summary& summary) { return base::to_json(summary); }

}  // namespace esper::sweep
