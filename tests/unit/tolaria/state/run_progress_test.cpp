#include "tolaria/state/run_progress.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace esper::test::run_progress_test {

using config::Metric;
using tolaria::BestEpoch;
using tolaria::check_counts;
using tolaria::EpochFigures;
using tolaria::Ewma;
using tolaria::follow_seeds;
using tolaria::Goals;
using tolaria::MetricValues;
using tolaria::record_epoch;
using tolaria::replace_validation;
using tolaria::run_progress_from_json;
using tolaria::RunProgress;
using tolaria::to_json;

namespace {

RunProgress odd_numbers() {
  RunProgress progress;
  progress.epoch = 4294967295u;
  progress.batch = (std::int64_t{1} << 60) + 1;
  progress.step = (std::int64_t{1} << 62) + 3;
  progress.wall_s = 0.1 + 0.2;
  progress.train = {1.0 / 3, 5e-324};
  progress.validation = {std::nextafter(1.0, 2.0), 0.1, {{Metric::kLoss, 1}, {Metric::kF1, 0.1}}};
  progress.best = BestEpoch{7, {1e-300, 2.0 / 3}};
  progress.patience = {0.25, 0.5, {{Metric::kPerplexity, std::exp(1000.0)}, {Metric::kTop5, 0.75}}};
  progress.epochs_without_better = 9;
  progress.loss = {M_PI, M_E};
  progress.gradient_norm = {1e308, -0.0};
  progress.conservative_epochs = UINT64_MAX;
  return progress;
}

}  // namespace

TEST_CASE("a run's progress comes back from text to the last bit") {
  const auto progress = odd_numbers();
  const auto back = run_progress_from_json(nlohmann::json::parse(to_json(progress).dump()));
  CHECK(back.epoch == progress.epoch);
  CHECK(back.batch == progress.batch);
  CHECK(back.step == progress.step);
  CHECK(back.wall_s == progress.wall_s);
  CHECK((back.train.loss == progress.train.loss && back.train.score == progress.train.score));
  CHECK((back.validation->loss == progress.validation->loss && back.validation->score == 0.1));
  CHECK((back.validation->by_metric == progress.validation->by_metric));
  REQUIRE(back.patience);
  CHECK((back.patience->by_metric == MetricValues{{Metric::kTop5, 0.75}}));  // JSON has no infinity
  REQUIRE(back.best);
  CHECK((back.best->epoch == 7 && back.best->figures.loss == 1e-300 && back.best->figures.score == 2.0 / 3));
  CHECK(back.epochs_without_better == 9);
  CHECK((back.loss.mean == M_PI && back.loss.variance == M_E));
  CHECK((back.gradient_norm.mean == 1e308 && std::signbit(back.gradient_norm.variance)));
  CHECK(back.conservative_epochs == UINT64_MAX);
  const auto empty = run_progress_from_json(to_json(RunProgress{}));
  CHECK((!empty.best && !empty.loss.mean && !empty.gradient_norm.mean));
}

TEST_CASE("steps that the loss scaling skipped are counted on; progress of an earlier version has none") {
  RunProgress progress;
  CHECK_FALSE(to_json(progress).contains("scaler_skips"));
  CHECK(run_progress_from_json(to_json(progress)).scaler_skips == 0);
  progress.scaler_skips = progress.step = 7;
  auto saved = to_json(progress);
  CHECK(run_progress_from_json(saved).scaler_skips == 7);
  saved["scaler_skips"] = -1;
  CHECK_THROWS_AS(run_progress_from_json(saved), std::out_of_range);
}

TEST_CASE("counts up to where the run stands are its own, each one beyond is named") {
  const auto at_most = [] {
    RunProgress progress;
    progress.epoch = 2;
    progress.step = progress.scaler_skips = progress.safety.good_step = 12;
    progress.best = BestEpoch{2, {}};
    progress.epochs_without_better = 2;
    progress.conservative_epochs = 2;
    progress.safety.suspect_epochs = progress.safety.failed_epochs = 2;
    progress.safety.losses = {0.5, 0.25};
    progress.safety.reactions = progress.safety.searches = 3;
    // The run went back, and comes to these again.
    progress.safety.skipped_steps = {40};
    progress.safety.compared_steps = {41};
    progress.safety.failed_steps = {42};
    progress.safety.rate_cuts = {{42, 0.5}};
    progress.safety.search_until = 50;
    return progress;
  };
  CHECK(check_counts(RunProgress{}));
  CHECK(check_counts(at_most()));
  const auto refusal = [&](const std::function<void(RunProgress&)>& forge) {
    RunProgress progress = at_most();
    forge(progress);
    return check_counts(progress).error_or("");
  };
  CHECK(refusal([](auto& it) { it.step = INT64_MAX; }) ==
        "step is 9223372036854775807, beyond any run's 1000000000000000");
  CHECK(refusal([](auto& it) { it.epoch = 13; }) == "epoch is 13, beyond step 12");
  CHECK(refusal([](auto& it) { it.scaler_skips = 13; }) == "scaler_skips is 13, beyond step 12");
  CHECK(refusal([](auto& it) { it.safety.good_step = 13; }) == "safety.good_step is 13, beyond step 12");
  CHECK(refusal([](auto& it) { it.best->epoch = 3; }) == "best.epoch is 3, beyond epoch 2");
  CHECK(refusal([](auto& it) { it.epochs_without_better = 3; }) == "epochs_without_better is 3, beyond epoch 2");
  CHECK(refusal([](auto& it) { it.conservative_epochs = UINT64_MAX; }) ==
        "conservative_epochs is 18446744073709551615, beyond epoch 2");
  CHECK(refusal([](auto& it) { it.safety.suspect_epochs = 3; }) == "safety.suspect_epochs is 3, beyond epoch 2");
  CHECK(refusal([](auto& it) { it.safety.failed_epochs = INT32_MAX; }) ==
        "safety.failed_epochs is 2147483647, beyond epoch 2");
  CHECK(refusal([](auto& it) { it.safety.losses.push_back(1); }) == "length of safety.losses is 3, beyond epoch 2");
  CHECK(refusal([](auto& it) { it.safety.searches = 4; }) == "safety.searches is 4, beyond reaction 3");
}

TEST_CASE("saved progress with a time that no run can have taken is an error") {
  for (const double seconds : {-1.0, 1e300}) {
    auto saved = to_json(RunProgress{});
    saved["wall_s"] = seconds;
    CHECK_THROWS_AS(run_progress_from_json(saved), std::out_of_range);
  }
}

TEST_CASE("saved progress that lacks a field or has another type is an error") {
  const auto saved = to_json(odd_numbers());
  for (const auto& [key, value] : saved.items()) {
    INFO(key);
    auto without = saved;
    without.erase(key);
    // Checkpoints of versions without controls or changes of settings lack theirs.
    if (key == "control" || key == "changes") {
      const auto progress = run_progress_from_json(without);
      CHECK((key == "control" ? progress.control.steps == 0 : progress.changes.empty()));
    } else {
      CHECK_THROWS_AS(run_progress_from_json(without), nlohmann::json::exception);
    }
    auto other = saved;
    other[key] = "text";
    CHECK_THROWS_AS(run_progress_from_json(other), nlohmann::json::exception);
  }
}

TEST_CASE("the weighted mean and variance follow their formula, from the first value on") {
  Ewma ewma;
  ewma.add(2);
  CHECK((ewma.mean == 2 && ewma.variance == 0));
  double mean = 2, variance = 0;
  for (const double x : {1.5, 1.75, -3.0, 0.1}) {
    const double next = 0.2 * x + 0.8 * mean;
    variance = 0.2 * (x - mean) * (x - next) + 0.8 * variance;
    mean = next;
    ewma.add(x);
    CHECK(std::abs(*ewma.mean - mean) < 1e-15);
    CHECK(std::abs(ewma.variance - variance) < 1e-15);
  }
  // By hand: 0.2 * 1 + 0.8 * 2 = 1.8, 0.2 * -1 * -0.8 = 0.16.
  Ewma second;
  second.add(2);
  second.add(1);
  CHECK(std::abs(*second.mean - 1.8) < 1e-15);
  CHECK(std::abs(second.variance - 0.16) < 1e-15);
}

TEST_CASE("an epoch's figures are recorded, and the best one is that with the lowest validation loss") {
  RunProgress progress;
  step::StepMetrics metrics;
  metrics.loss = 1;
  metrics.accuracy = 0.5;
  metrics.group_gradient_norms = {{"host", 3}, {"seed-0001", 1}};
  CHECK(record_epoch(progress, metrics, {2, 0.4}, {}));
  CHECK(progress.train.loss == 1);
  CHECK(progress.validation->loss == 2);
  CHECK(progress.best->epoch == 1);
  CHECK(progress.best->figures.score == 0.4);
  CHECK(progress.gradient_shares.size() == 1);
  CHECK(progress.gradient_shares.at("seed-0001").share == 0.25);
  CHECK(progress.gradient_shares.at("seed-0001").delta == 0);
  progress.epoch = 1;
  metrics.group_gradient_norms["seed-0001"] = 3;
  CHECK_FALSE(record_epoch(progress, metrics, {3, 0.6}, {}));
  CHECK(progress.validation->loss == 3);
  CHECK(progress.best->figures.loss == 2);
  CHECK(progress.gradient_shares.at("seed-0001").delta == 0.25);
}

TEST_CASE("patience runs out by epochs that gain less than the least gain, though they may be the best ones") {
  RunProgress progress;
  const step::StepMetrics metrics;
  const Goals goals{.min_delta = 0.1};
  CHECK(record_epoch(progress, metrics, {1.0, 0}, goals));
  CHECK(progress.epochs_without_better == 0);
  CHECK(record_epoch(progress, metrics, {0.95, 0}, goals));
  CHECK(progress.epochs_without_better == 1);
  CHECK(progress.patience->loss == 1.0);
  CHECK(record_epoch(progress, metrics, {0.85, 0}, goals));
  CHECK(progress.epochs_without_better == 0);
  CHECK(progress.patience->loss == 0.85);
}

TEST_CASE("patience starts again where a seed is gone that had a part in its figures, and not where another one is") {
  RunProgress progress;
  const step::StepMetrics metrics;
  const std::vector<std::string> none, fossil{"seed-0001"}, both{"seed-0001", "seed-0002"};
  const auto end_epoch = [&](double loss, const auto& validated, const auto& left) {
    record_epoch(progress, metrics, {loss, 0}, {});
    ++progress.epoch;
    follow_seeds(progress, validated, left);
    progress = run_progress_from_json(to_json(progress));  // a run may be resumed here
  };
  end_epoch(0.5, fossil, fossil);
  end_epoch(0.6, both, fossil);  // the second seed brought nothing
  CHECK(progress.epochs_without_better == 1);
  CHECK(progress.patience->loss == 0.5);
  end_epoch(0.4, both, both);
  end_epoch(0.45, both, both);
  CHECK(progress.epochs_without_better == 1);
  end_epoch(0.45, both, fossil);
  CHECK(progress.epochs_without_better == 0);
  CHECK_FALSE(progress.patience);
  CHECK(progress.best->figures.loss == 0.4);
  end_epoch(0.7, fossil, fossil);
  CHECK(progress.epochs_without_better == 0);
  CHECK(progress.patience->loss == 0.7);
  end_epoch(0.3, both, fossil);  // culled by the end of the epoch that it made the best
  CHECK_FALSE(progress.patience);
  CHECK_FALSE(to_json(RunProgress{}).contains("patience_seeds"));
}

TEST_CASE("the best epoch and patience each go by a figure of their own, in its direction, and a resumed run goes on") {
  RunProgress progress;
  const step::StepMetrics metrics;
  const Goals goals{Metric::kF1, Metric::kMae, 0.5};
  const auto epoch = [](double f1, double mae) { return EpochFigures{1, 0, {{Metric::kF1, f1}, {Metric::kMae, mae}}}; };
  CHECK(record_epoch(progress, metrics, epoch(0.4, 9), goals));
  progress.epoch = 1;
  CHECK(record_epoch(progress, metrics, epoch(0.6, 8.6), goals));
  CHECK(progress.epochs_without_better == 1);
  progress = run_progress_from_json(to_json(progress));
  progress.epoch = 2;
  CHECK_FALSE(record_epoch(progress, metrics, epoch(0.5, 8.4), goals));
  CHECK(progress.epochs_without_better == 0);
  CHECK(progress.best->epoch == 2);
  progress.epoch = 3;
  const auto best_before = progress.best;
  CHECK(replace_validation(progress, epoch(0.7, 1), best_before, Metric::kF1));
  CHECK_FALSE(replace_validation(progress, epoch(0.55, 1), best_before, Metric::kF1));
  CHECK(progress.best->epoch == 2);
}

TEST_CASE("progress of a checkpoint that knows the loss alone goes on, and any epoch beats an unknown figure") {
  auto saved = to_json(RunProgress{});
  saved.erase("patience");
  saved["patience_loss"] = 0.5;
  saved["best"] = {{"epoch", 3}, {"loss", 0.5}, {"accuracy", 0.9}};
  RunProgress progress = run_progress_from_json(saved);
  CHECK(progress.patience->loss == 0.5);
  CHECK_FALSE(record_epoch(progress, {}, {0.6, 0}, {}));
  CHECK(progress.epochs_without_better == 1);
  CHECK(record_epoch(progress, {}, {0.6, 0, {{Metric::kF1, 0.1}}}, {.best = Metric::kF1}));
}

}  // namespace esper::test::run_progress_test
