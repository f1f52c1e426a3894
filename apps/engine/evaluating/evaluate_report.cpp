#include "engine/evaluating/evaluate_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/printable.h"
#include "tolaria/summary.h"

namespace esper::engine {
namespace {

using config::Metric;
using nlohmann::ordered_json;
using tolaria::ClassFigures;
using tolaria::TaskFigures;

// More would not be read on a terminal; --json has them all.
constexpr std::size_t kMostClasses = 100, kMostColumns = 20;

ordered_json class_json(const ClassFigures& figures) {
  return {{"precision", figures.precision},
          {"recall", figures.recall},
          {"f1", figures.f1},
          {"targets", figures.targets},
          {"predictions", figures.predictions}};
}

ordered_json classes_json(const EvaluatedData& evaluated) {
  ordered_json classes = ordered_json::array();
  const auto& figures = evaluated.result.figures.classes;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    ordered_json one = {{"class", i}};
    if (i < evaluated.class_names.size()) one["name"] = base::utf8_text(evaluated.class_names[i]);
    one.update(class_json(figures[i]));
    classes.push_back(std::move(one));
  }
  return classes;
}

ordered_json confusion_json(const TaskFigures& figures) {
  ordered_json rows = ordered_json::array();
  const std::size_t classes = figures.classes.size();
  for (std::size_t i = 0; i < classes; ++i) {
    const auto begin = figures.confusion.begin() + static_cast<std::ptrdiff_t>(i * classes);
    rows.push_back(std::vector<std::int64_t>(begin, begin + static_cast<std::ptrdiff_t>(classes)));
  }
  return rows;
}

std::string metrics_line(const EvaluatedData& evaluated) {
  const TaskFigures& figures = evaluated.result.figures;
  std::string text = fmt::format("{} loss {:.6f}", evaluated.part, evaluated.result.loss);
  for (const auto& [metric, figure] : figures.by_metric) {
    if (metric != Metric::kLoss) text += fmt::format(", {} {:.4f}", base::name_of(metric), figure);
  }
  if (figures.rmse) text += fmt::format(", rmse {:.4f}", *figures.rmse);
  return text + fmt::format(", {} samples", evaluated.result.samples);
}

std::string class_title(const EvaluatedData& evaluated, std::size_t i) {
  if (i >= evaluated.class_names.size()) return std::to_string(i);
  return fmt::format("{} {}", i, base::printable_line(evaluated.class_names[i]));
}

std::string class_line(const std::string& title, const ClassFigures& figures) {
  return fmt::format("\n{:24} {:>8} {:>11} {:>9.4f} {:>9.4f} {:>9.4f}", title, figures.targets, figures.predictions,
                     figures.precision, figures.recall, figures.f1);
}

std::string class_table(const EvaluatedData& evaluated) {
  const TaskFigures& figures = evaluated.result.figures;
  std::string text = fmt::format("\n{:24} {:>8} {:>11} {:>9} {:>9} {:>9}", "class", "targets", "predictions",
                                 "precision", "recall", "f1");
  const std::size_t shown = std::min(figures.classes.size(), kMostClasses);
  for (std::size_t i = 0; i < shown; ++i) text += class_line(class_title(evaluated, i), figures.classes[i]);
  if (figures.micro) text += class_line("all together", *figures.micro);
  if (shown < figures.classes.size()) {
    text += fmt::format("\n({} more classes; --json has them)", figures.classes.size() - shown);
  }
  return text;
}

std::string confusion_table(const TaskFigures& figures) {
  const std::size_t classes = figures.classes.size();
  std::string text = "\nconfusion: a row for each target's class, a column for the predicted class";
  for (std::size_t i = 0; i < classes; ++i) {
    text += fmt::format("\n{:>4}:", i);
    for (std::size_t j = 0; j < classes; ++j) text += fmt::format(" {:>6}", figures.confusion[i * classes + j]);
  }
  return text;
}

}  // namespace

void add_figures(ordered_json& report, const EvaluatedData& evaluated) {
  const TaskFigures& figures = evaluated.result.figures;
  report[evaluated.part] = tolaria::figures_json(tolaria::figures_of(evaluated.result));
  report[evaluated.part]["samples"] = evaluated.result.samples;
  if (!figures.classes.empty()) report["classes"] = classes_json(evaluated);
  if (!figures.confusion.empty()) report["confusion"] = confusion_json(figures);
  if (figures.micro) report["micro"] = class_json(*figures.micro);
  if (figures.rmse) report["rmse"] = *figures.rmse;
}

std::string figures_text(const EvaluatedData& evaluated) {
  const TaskFigures& figures = evaluated.result.figures;
  std::string text = metrics_line(evaluated);
  if (!figures.classes.empty()) text += class_table(evaluated);
  if (!figures.confusion.empty() && figures.classes.size() <= kMostColumns) text += confusion_table(figures);
  return text + "\n";
}

}  // namespace esper::engine
