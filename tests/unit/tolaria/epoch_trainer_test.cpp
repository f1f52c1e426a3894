#include "tolaria/epoch_trainer.h"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "support/run_fixture.h"

namespace esper::test::epoch_trainer_test {

namespace {

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
  tolaria::Emergency emergency(it.facts.config.safety.emergency, it.facts.clock, it.outbox);
  tolaria::GoodState good_state(it.evaluation, it.progress, it.outbox, emergency,
                                tolaria::GoodState::TakesSnapshots::kAlways);
  tolaria::EpochTrainer trainer(it.run, good_state);
  REQUIRE(trainer.train_up_to(kStep));
  CHECK(it.progress.step == kStep);
  CHECK(lane_records(it).empty());
  REQUIRE(trainer.train());
  const auto records = lane_records(it);
  REQUIRE(records.size() == 1);
  CHECK(records.front().find(R"("step":3,)") != std::string::npos);
}

}  // namespace esper::test::epoch_trainer_test
