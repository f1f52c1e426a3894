#include "tolaria/state/control_record.h"

#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "tolaria/state/run_progress.h"

namespace esper::tolaria::control_record_test {
namespace {

ControlRecord some_record() {
  ControlRecord record;
  record.steps = 12;
  record.took_ms = 1.5;
  auto& control = record.seeds["seed-0007"];
  control.compared = 1;
  control.others = "seed-0002 FOSSILIZED 1";
  control.learning_rates = {0.1, 0.1, 0.05};
  control.loss = torch::rand({3, 5});
  control.correct = torch::ones({3, 5});
  return record;
}

TEST_CASE("a control record comes back from JSON and tensors, to the bit") {
  const auto record = some_record();
  const auto tensors = control_tensors(record);
  REQUIRE(tensors.size() == 2);
  CHECK(tensors[0].id == "control.seed-0007.loss");
  CHECK(tensors[1].id == "control.seed-0007.correct");

  auto again = control_record_from_json(nlohmann::json::parse(to_json(record).dump()));
  REQUIRE(restore_tensors(again, tensors));
  CHECK(again.steps == 12);
  CHECK(again.took_ms == 1.5);
  const auto& control = again.seeds.at("seed-0007");
  CHECK(control.compared == 1);
  CHECK(control.others == "seed-0002 FOSSILIZED 1");
  CHECK(control.learning_rates == record.seeds.at("seed-0007").learning_rates);
  CHECK(control.epochs() == 3);
  CHECK(control.loss.equal(record.seeds.at("seed-0007").loss));
}

TEST_CASE("a control of an earlier version has no learning rates, and one that lacks some cannot be restored") {
  const auto tensors = control_tensors(some_record());
  auto saved = to_json(some_record());
  saved["seeds"]["seed-0007"].erase("learning_rates");
  auto earlier = control_record_from_json(saved);
  CHECK(restore_tensors(earlier, tensors));
  CHECK(earlier.seeds.at("seed-0007").learning_rates.empty());
  saved["seeds"]["seed-0007"]["learning_rates"] = {0.1, 0.1};
  auto short_of = control_record_from_json(saved);
  CHECK_FALSE(restore_tensors(short_of, tensors));
}

TEST_CASE("progress of before there were controls has none") {
  auto saved = to_json(RunProgress());
  saved.erase("control");
  const auto progress = run_progress_from_json(saved);
  CHECK(progress.control.steps == 0);
  CHECK(progress.control.seeds.empty());
}

TEST_CASE("a control that took a time that no run can have taken is an error") {
  auto saved = to_json(some_record());
  saved["took_ms"] = 1e300;
  CHECK_THROWS_AS(control_record_from_json(saved), std::out_of_range);
  saved.erase("took_ms");
  CHECK(control_record_from_json(saved).took_ms == 0);
}

TEST_CASE("a control without its tensors, or with others, cannot be restored") {
  auto record = some_record();
  auto tensors = control_tensors(record);
  tensors.pop_back();
  CHECK(restore_tensors(record, tensors).error().find("seed-0007") != std::string::npos);
  tensors.push_back({"control.seed-0007.correct", torch::ones({2, 5})});
  CHECK_FALSE(restore_tensors(record, tensors));
  record.seeds["seed-0007"].compared = 3;
  CHECK_FALSE(restore_tensors(record, control_tensors(some_record())));
}

}  // namespace
}  // namespace esper::tolaria::control_record_test
