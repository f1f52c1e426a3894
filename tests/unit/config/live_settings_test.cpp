#include "config/loading/live_settings.h"

#include <catch2/catch_test_macros.hpp>

#include "config/loading/load.h"

namespace esper::test::live_settings_test {

using namespace esper::config;

namespace {

std::vector<std::string> problems_of(const RunConfig& own, const std::vector<std::string>& assignments) {
  std::vector<std::string> texts;
  for (const auto& problem : with_live_settings(own, assignments).problems) texts.push_back(to_string(problem));
  return texts;
}

}  // namespace

TEST_CASE("later assignments of a live field hold, and nothing else changes") {
  RunConfig own;
  own.training.optimizer.lr = 0.1;
  own.checkpoint.keep_last = 7;
  const auto live =
      with_live_settings(own, {"training.optimizer.lr=0.3", "training.optimizer.lr=0.01", "checkpoint.every=7 steps"});
  CHECK(live.problems.empty());
  CHECK(live.config.training.optimizer.lr == 0.01);
  CHECK(live.config.checkpoint.every == esper::base::Length{7, esper::base::Length::Unit::kSteps});
  CHECK(live.config.checkpoint.keep_last == 7);
  CHECK(live_value(live.config, "training.optimizer.lr") == "0.01");
  CHECK(live_value(live.config, "checkpoint.every") == "7 steps");
}

TEST_CASE("the value of a live field is kept to the last bit") {
  RunConfig own;
  own.training.optimizer.lr = 0.1 + 0.2;
  const auto text = live_value(own, "training.optimizer.lr");
  CHECK(with_live_settings({}, {"training.optimizer.lr=" + text}).config.training.optimizer.lr == 0.1 + 0.2);
}

TEST_CASE("a field that is part of the step is refused with those that are not, beside all other problems") {
  const auto problems = problems_of({}, {"training.optimizer.momentum=0.5", "training.optimizer.lr=-1",
                                         "training.optimizer.speed=1", "training.clip_norm=1"});
  REQUIRE(problems.size() == 4);
  std::string all;
  for (const auto& problem : problems) all += problem + "\n";
  CHECK(all.find("training.optimizer.momentum: cannot be changed while a run trains; these can: "
                 "training.optimizer.lr, ") != std::string::npos);
  CHECK(all.find("training.clip_norm: cannot be changed while") != std::string::npos);
  CHECK(all.find("training.optimizer.speed") != std::string::npos);
  CHECK(all.find("training.optimizer.lr: must be ") != std::string::npos);
}

TEST_CASE("a field that this version no longer has is refused once, with whatever value") {
  for (const char* assignment : {"policy.reports.retention=24h", "policy.reports.retention=6h",
                                 "step.compile.cache_dir=", "step.compile.cache_dir=/tmp/programs"}) {
    INFO(assignment);
    const auto problems = problems_of({}, {assignment});
    REQUIRE(problems.size() == 1);
    CHECK(problems.front().find(assignment) != std::string::npos);
  }
}

TEST_CASE("epochs change where nothing is planned with them") {
  RunConfig own;
  own.growth.enabled = false;
  CHECK(problems_of(own, {"epochs=30"}).empty());
  CHECK(with_live_settings(own, {"epochs=30"}).config.epochs == 30);
  own.training.schedule.kind = ScheduleKind::kCosine;
  CHECK(problems_of(own, {"epochs=30"}).size() == 1);
  own.training.schedule.total_steps = 100;
  CHECK(problems_of(own, {"epochs=30"}).empty());
  own.growth.enabled = true;
  own.policy.kind = PolicyKind::kHeuristic;
  CHECK(problems_of(own, {"epochs=30"}).size() == 1);
  own.policy.kind = PolicyKind::kNone;
  CHECK(problems_of(own, {"epochs=30"}).empty());
}

}  // namespace esper::test::live_settings_test
