#include "tolaria/state/run_progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/names.h"
#include "base/text/json_fields.h"
#include "config/facts/metric_facts.h"
#include "kasmina/tensor/ownership.h"

namespace esper::tolaria {
namespace {

using nlohmann::json;

// JSON has no infinity, which a perplexity may be.
json figures(const EpochFigures& value) {
  json saved = {{"loss", value.loss}, {"accuracy", value.score}};
  for (const auto& [metric, figure] : value.by_metric) {
    if (std::isfinite(figure)) saved["by_metric"][std::string(base::name_of(metric))] = figure;
  }
  return saved;
}

// A figure that is not known here is left out.
EpochFigures figures_from(const json& saved) {
  EpochFigures value{saved.at("loss"), saved.at("accuracy"), {}};
  const json by_metric = saved.value("by_metric", json::object());
  for (const auto& [metric, name] : names(config::Metric{})) {
    if (const auto found = by_metric.find(name); found != by_metric.end()) value.by_metric[metric] = *found;
  }
  return value;
}

// Checkpoints of earlier versions have the loss alone.
std::optional<EpochFigures> patience_from(const json& saved) {
  if (!saved.contains("patience")) {
    const auto loss = base::optional_of<double>(saved.at("patience_loss"));
    return loss ? std::optional(EpochFigures{*loss, 0}) : std::nullopt;
  }
  const json& known = saved.at("patience");
  return known.is_null() ? std::nullopt : std::optional(figures_from(known));
}

// NaN where it was not measured: that epoch is beaten by any.
double value_of(const EpochFigures& figures, config::Metric metric) {
  if (metric == config::Metric::kLoss) return figures.loss;
  const auto found = figures.by_metric.find(metric);
  return found == figures.by_metric.end() ? std::nan("") : found->second;
}

bool beats(const EpochFigures& figures, const EpochFigures& other, config::Metric metric, double delta = 0) {
  return config::is_better(metric, value_of(figures, metric), value_of(other, metric), delta);
}

bool take_if_best(RunProgress& progress, const BestEpoch& epoch, config::Metric goal) {
  const bool best = !progress.best || beats(epoch.figures, progress.best->figures, goal);
  if (best) progress.best = epoch;
  return best;
}

json ewma(const Ewma& value) {
  return {{"mean", value.mean ? json(*value.mean) : json()}, {"variance", value.variance}};
}
Ewma ewma_from(const json& saved) { return {base::optional_of<double>(saved.at("mean")), saved.at("variance")}; }

// Checkpoints of earlier versions have none.
history::SettingChanges changes_from(const json& saved) {
  auto changes = history::setting_changes_from(saved.value("changes", json::array()));
  if (!changes) throw json::other_error::create(501, "changes: " + changes.error(), &saved);
  return std::move(*changes);
}

GradientShares gradient_shares(const step::StepMetrics& metrics, const GradientShares& before) {
  double sum = 0;
  for (const auto& [id, norm] : metrics.group_gradient_norms) sum += norm;
  GradientShares shares;
  for (const auto& [id, norm] : metrics.group_gradient_norms) {
    if (id == kasmina::kHostOwner || sum <= 0) continue;
    const auto known = before.find(id);
    const double share = norm / sum;
    shares[id] = {share, known == before.end() ? 0 : share - known->second.share};
  }
  return shares;
}

}  // namespace

void Ewma::add(double value) {
  constexpr double kAlpha = 0.2;
  const double before = mean.value_or(value), now = kAlpha * value + (1 - kAlpha) * before;
  variance = kAlpha * (value - before) * (value - now) + (1 - kAlpha) * variance;
  mean = now;
}

bool record_epoch(RunProgress& progress, const step::StepMetrics& metrics, const EpochFigures& validation,
                  const Goals& goals) {
  progress.train = {metrics.loss, metrics.accuracy, {}};
  progress.validation = validation;
  progress.loss.add(metrics.loss);
  progress.gradient_norm.add(metrics.gradient_norm);
  progress.gradient_shares = gradient_shares(metrics, progress.gradient_shares);
  const bool clearly_better =
      !progress.patience || beats(validation, *progress.patience, goals.early_stop, goals.min_delta);
  progress.epochs_without_better = clearly_better ? 0 : progress.epochs_without_better + 1;
  if (clearly_better) progress.patience = validation;
  return take_if_best(progress, {progress.epoch + 1, validation}, goals.best);
}

void follow_seeds(RunProgress& progress, const std::vector<std::string>& validated,
                  const std::vector<std::string>& left) {
  if (progress.epochs_without_better == 0) progress.patience_seeds = validated;
  const auto is_gone = [&](const std::string& seed) { return std::ranges::find(left, seed) == left.end(); };
  if (std::ranges::none_of(progress.patience_seeds, is_gone)) return;
  progress.patience.reset();
  progress.patience_seeds.clear();
  progress.epochs_without_better = 0;
}

bool replace_validation(RunProgress& progress, const EpochFigures& validation,
                        const std::optional<BestEpoch>& best_before, config::Metric goal) {
  progress.validation = validation;
  progress.best = best_before;
  return take_if_best(progress, {progress.epoch, validation}, goal);
}

std::vector<kasmina::NamedTensor> progress_tensors(const RunProgress& progress) {
  auto tensors = control_tensors(progress.control);
  std::ranges::move(window_tensors(progress.window), std::back_inserter(tensors));
  return tensors;
}

base::Expected<void> restore_tensors(RunProgress& progress, const std::vector<kasmina::NamedTensor>& saved) {
  if (auto controls = restore_tensors(progress.control, saved); !controls) return controls;
  return restore_tensors(progress.window, saved);
}

json to_json(const RunProgress& progress) {
  json saved = {
      {"epoch", progress.epoch},
      {"batch", progress.batch},
      {"step", progress.step},
      {"wall_s", progress.wall_s},
      {"train", figures(progress.train)},
      {"validation", progress.validation ? figures(*progress.validation) : json()},
      {"best", nullptr},
      {"patience", progress.patience ? figures(*progress.patience) : json()},
      {"epochs_without_better", progress.epochs_without_better},
      {"loss", ewma(progress.loss)},
      {"gradient_norm", ewma(progress.gradient_norm)},
      {"gradient_shares", json::object()},
      {"conservative_epochs", progress.conservative_epochs},
      {"control", to_json(progress.control)},
      {"changes", history::setting_changes_json(history::changes_until(progress.changes, progress.trained_epoch()))}};
  for (const auto& [id, share] : progress.gradient_shares) {
    saved["gradient_shares"][id] = {{"share", share.share}, {"delta", share.delta}};
  }
  if (progress.best) {
    saved["best"] = figures(progress.best->figures);
    saved["best"]["epoch"] = progress.best->epoch;
  }
  if (!progress.patience_seeds.empty()) saved["patience_seeds"] = progress.patience_seeds;
  if (progress.scaler_skips > 0) saved["scaler_skips"] = progress.scaler_skips;
  if (progress.safety != SafetyRecord()) saved["safety"] = to_json(progress.safety);
  return saved;
}

RunProgress run_progress_from_json(const json& saved) {
  RunProgress progress;
  progress.epoch = base::count_at<std::uint32_t>(saved, "epoch");
  progress.batch = base::count_at<std::int64_t>(saved, "batch");
  progress.step = base::count_at<std::int64_t>(saved, "step");
  progress.wall_s = base::time_at(saved, "wall_s", std::chrono::seconds(1));
  progress.train = figures_from(saved.at("train"));
  if (const json& validation = saved.at("validation"); !validation.is_null()) {
    progress.validation = figures_from(validation);
  }
  if (const json& best = saved.at("best"); !best.is_null()) {
    progress.best = BestEpoch{base::count_at<std::uint32_t>(best, "epoch"), figures_from(best)};
  }
  progress.patience = patience_from(saved);
  progress.patience_seeds = saved.value("patience_seeds", std::vector<std::string>());
  progress.epochs_without_better = base::count_at<std::uint32_t>(saved, "epochs_without_better");
  progress.loss = ewma_from(saved.at("loss"));
  progress.gradient_norm = ewma_from(saved.at("gradient_norm"));
  for (const auto& [id, share] : saved.at("gradient_shares").items()) {
    progress.gradient_shares[id] = {share.at("share"), share.at("delta")};
  }
  progress.conservative_epochs = base::whole_at<std::uint64_t>(saved, "conservative_epochs");
  if (saved.contains("scaler_skips")) progress.scaler_skips = base::count_at<std::int64_t>(saved, "scaler_skips");
  progress.control = control_record_from_json(saved.value("control", json()));
  progress.safety = safety_record_from_json(saved.value("safety", json()));
  progress.changes = changes_from(saved);
  return progress;
}

// Steps that are skipped, compared or searched may lie ahead: a run that went back comes to them again.
base::Expected<void> check_counts(const RunProgress& progress) {
  constexpr std::int64_t kMostRunSteps = 1'000'000'000'000'000;
  const SafetyRecord& safety = progress.safety;
  base::Expected<void> sound;
  const auto check = [&](std::string_view name, auto count, std::string_view of, auto most) {
    if (!sound || std::cmp_less_equal(count, most)) return;
    sound = base::failure(fmt::format("{} is {}, beyond {} {}", name, count, of, most));
  };
  const auto check_steps = [&](std::string_view name, auto count) { check(name, count, "step", progress.step); };
  const auto check_epochs = [&](std::string_view name, auto count) { check(name, count, "epoch", progress.epoch); };
  check("step", progress.step, "any run's", kMostRunSteps);
  check_steps("epoch", progress.epoch);
  check_steps("scaler_skips", progress.scaler_skips);
  check_steps("safety.good_step", safety.good_step);
  check_epochs("best.epoch", progress.best.value_or(BestEpoch()).epoch);
  check_epochs("epochs_without_better", progress.epochs_without_better);
  check_epochs("conservative_epochs", progress.conservative_epochs);
  check_epochs("safety.suspect_epochs", safety.suspect_epochs);
  check_epochs("safety.failed_epochs", safety.failed_epochs);
  check_epochs("length of safety.losses", safety.losses.size());
  check("safety.searches", safety.searches, "reaction", safety.reactions);
  return sound;
}

}  // namespace esper::tolaria
