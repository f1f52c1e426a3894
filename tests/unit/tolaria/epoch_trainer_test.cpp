#include "tolaria/epoch_trainer.h"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "support/run_fixture.h"

namespace esper::test::epoch_trainer_test {

namespace {

struct SmallTrainer {
  tolaria::Emergency emergency;
  tolaria::GoodState good_state;
  tolaria::EpochTrainer trainer;

  explicit SmallTrainer(SmallRun& it)
      : emergency(it.facts.config.safety.emergency, it.facts.clock, it.outbox),
        good_state(it.evaluation, it.progress, it.outbox, emergency, tolaria::GoodState::TakesSnapshots::kAlways),
        trainer(it.run, good_state) {}
};

std::vector<std::string> lane_records(SmallRun& it) {
  REQUIRE(it.saver.finish());
  auto records = it.journal();
  std::erase_if(records,
                [](const std::string& record) { return record.find(R"("what":"lane")") == std::string::npos; });
  return records;
}

}  // namespace

TEST_CASE("steps that are trained up to a bundle are in no record of lanes; those that follow are") {
  constexpr std::int64_t kStep = 3;
  SmallRun it;
  SmallTrainer small(it);
  REQUIRE(small.trainer.train_up_to(kStep));
  CHECK(it.progress.step == kStep);
  CHECK(lane_records(it).empty());
  REQUIRE(small.trainer.train());
  const auto records = lane_records(it);
  REQUIRE(records.size() == 1);
  CHECK(records.front().find(R"("step":3,)") != std::string::npos);
}

TEST_CASE("no step is saved after an epoch whose loss is suspect") {
  auto config = small_config();
  config.checkpoint.every = {1, base::Length::Unit::kSteps};
  for (const int suspect_epochs : {0, 1}) {
    CAPTURE(suspect_epochs);
    SmallRun it(config);
    it.progress.safety.suspect_epochs = suspect_epochs;
    REQUIRE(SmallTrainer(it).trainer.train());
    REQUIRE(it.saver.finish());
    CHECK(tolaria::list_checkpoints(it.files, kCheckpoints).empty() == (suspect_epochs > 0));
  }
}

}  // namespace esper::test::epoch_trainer_test
