#include "tolaria/safety/step_recorder.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fstream>

#include "base/fault.h"
#include "history/black_box/black_box.h"
#include "support/run_fixture.h"
#include "support/temporary_folder.h"
#include "tolaria/checkpoint/step_bundle.h"
#include "tolaria/safety/step_bundles.h"

namespace esper::test::step_recorder_test {

using history::BlackBoxKind;
using history::BlackBoxRecord;

namespace {

// A small run with a black box and bundles; 6 steps an epoch, 3 epochs.
struct RecordedRun {
  TemporaryFolder folder;
  SmallRun small;
  history::BlackBoxWriter black_box{folder.path()};
  tolaria::StepBundles bundles{
      small.files, "/run", {small.facts, *small.model, small.progress, small.policy}, small.outbox};

  RecordedRun() : small(plain()) {
    std::ofstream(folder / "config.yaml") << "name: a\n";
    small.run.records.black_box = &black_box;
    small.run.records.bundles = &bundles;
  }
  static config::RunConfig plain() {
    config::RunConfig config = small_config();
    config.growth.enabled = false;
    return config;
  }
  std::vector<BlackBoxRecord> records(BlackBoxKind kind) const {
    std::vector<BlackBoxRecord> found;
    for (const auto& record : history::read_black_box(folder.path()).records) {
      if (record.kind == kind) found.push_back(record);
    }
    return found;
  }
};

}  // namespace

TEST_CASE("each step is recorded with its own figures, whose mean is the epoch's") {
  RecordedRun it;
  REQUIRE(it.small.go().kind == tolaria::RunOutcome::Kind::kDone);
  const auto steps = it.records(BlackBoxKind::kStep), ends = it.records(BlackBoxKind::kEpochEnd);
  REQUIRE(steps.size() == 18);
  REQUIRE(ends.size() == 3);
  const auto losses = it.small.values("tolaria.training.loss"),
             norms = it.small.values("tolaria.training.gradient_norm");
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    double loss = 0, norm = 0;
    std::int64_t samples = 0;
    for (std::size_t i = 6 * epoch; i < 6 * epoch + 6; ++i) {
      CHECK(steps[i].step == static_cast<std::int64_t>(i));
      CHECK(steps[i].epoch == epoch + 1);
      CHECK(steps[i].of_step.first_batch == static_cast<std::int64_t>(i % 6));
      CHECK(steps[i].has(history::kHasFigures));
      CHECK(steps[i].of_step.learning_rate == it.small.facts.learning_rate(steps[i].step));
      loss += steps[i].of_step.loss * static_cast<double>(steps[i].of_step.samples);
      norm += steps[i].of_step.gradient_norm;
      samples += steps[i].of_step.samples;
    }
    CHECK(samples == 48);
    CHECK(std::abs(loss / 48 - losses[epoch]) < 1e-9);
    CHECK(std::abs(norm / 6 - norms[epoch]) < 1e-9);
    CHECK(ends[epoch].of_step.loss == losses[epoch]);
  }
}

TEST_CASE("a bad step leaves a bundle with its batch and the state from before it") {
  RecordedRun it;
  base::fault::arm("tolaria.nan_input", 9);
  const auto outcome = it.small.go();
  base::fault::disarm_all();
  REQUIRE(outcome.kind == tolaria::RunOutcome::Kind::kDone);
  CHECK(it.small.events("tolaria.bundle_cut").size() == 1);
  const auto bundle = tolaria::read_step_bundle(it.small.files, "/run/bundles/step-000000008");
  REQUIRE(bundle);
  CHECK(bundle->state.info.step == 8);
  CHECK(first_not_finite(bundle->state).empty());
  CHECK(bundle->facts.reason == "batch.0.inputs is not finite");
  const auto inputs = std::ranges::find(bundle->batch, "batch.0.inputs", &kasmina::NamedTensor::id);
  REQUIRE(inputs != bundle->batch.end());
  CHECK(inputs->tensor.isnan().all().item<bool>());
  std::vector<std::int64_t> bad, passed_over;
  for (const auto& record : it.records(BlackBoxKind::kStep)) {
    if (record.has(history::kPassedOver)) passed_over.push_back(record.step);
    if (record.has(history::kHasFigures) && std::isnan(record.of_step.loss)) bad.push_back(record.step);
  }
  CHECK(bad == std::vector<std::int64_t>{8});
  CHECK(passed_over == std::vector<std::int64_t>{8});
}

TEST_CASE("a bundle that cannot be written is reported, and the run goes on") {
  RecordedRun it;
  base::fault::arm("tolaria.nan_input", 9);
  base::fault::arm("storage.publish", 1, base::fault::kEveryHit);
  it.small.go();
  base::fault::disarm_all();
  CHECK(it.small.events("tolaria.bundle_failed").size() == 1);
  CHECK(it.small.events("tolaria.bundle_cut").empty());
  CHECK(it.small.progress.epoch == 3);
}

TEST_CASE("events are in the black box before their packet leaves") {
  RecordedRun it;
  REQUIRE(it.small.go().kind == tolaria::RunOutcome::Kind::kDone);
  tolaria::Outbox outbox("small-run", base::Clock(), it.small.progress, it.small.ledger, it.small.sink, &it.black_box);
  outbox.emit({{}, "tolaria.early_stop", leyline::Level::kInfo, {{"epoch", "3"}, {"reason", "a"}}});
  outbox.emit({{}, "tolaria.step_skipped", leyline::Level::kInfo, {{"epoch", "2"}, {"step", "7"}, {"reason", "b"}}});
  const auto events = it.records(BlackBoxKind::kEvent);
  REQUIRE(events.size() == 2);
  CHECK(events[0].text() == "tolaria.early_stop reason=a");
  CHECK(events[0].step == 18);
  CHECK(events[1].text() == "tolaria.step_skipped reason=b");
  CHECK(events[1].step == 7);
}

}  // namespace esper::test::step_recorder_test
