#include "tolaria/safety/epoch_failure.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::epoch_failure_test {

using namespace esper::tolaria;
using Seeds = EpochFailure::Seeds;

namespace {

struct Epoch {
  RunFacts facts{.config = {}, .run_id = "run", .training_hash = "hash", .device = torch::kCPU, .batches_per_epoch = 6};
  RunProgress progress;
  EpochFailure failure{facts, progress};
};

const TrainingFailure kNonfinite{FailureKind::kNonfiniteStep, 2, "host.weight is not finite"};

}  // namespace

TEST_CASE("where no seed grows, a step that goes wrong is undone alone") {
  Epoch epoch;
  epoch.failure.begin_epoch(Seeds::kNone);
  CHECK(epoch.failure.rolls_back_steps());
  epoch.failure.record(std::nullopt);
  CHECK_FALSE(epoch.failure.of_step());
  epoch.failure.record(kNonfinite);
  REQUIRE(epoch.failure.of_step());
  CHECK(epoch.failure.of_step()->step == 2);
  CHECK(epoch.failure.of_epoch().empty());
}

TEST_CASE("where seeds grow, a step that goes wrong undoes the epoch, and the next epoch begins without it") {
  Epoch epoch;
  epoch.failure.begin_epoch(Seeds::kGrow);
  CHECK_FALSE(epoch.failure.rolls_back_steps());
  epoch.failure.record(kNonfinite);
  CHECK_FALSE(epoch.failure.of_step());
  CHECK(epoch.failure.of_epoch() == "host.weight is not finite");
  epoch.failure.record(std::nullopt);
  CHECK(epoch.failure.of_epoch() == "host.weight is not finite");
  epoch.failure.begin_epoch(Seeds::kGrow);
  CHECK(epoch.failure.of_epoch().empty());
}

TEST_CASE("where seeds grow, a lack of memory is of the step, and so is what a compiled program may have done") {
  Epoch epoch;
  TrainingFailure failure = kNonfinite;
  SECTION("memory") { failure.kind = FailureKind::kOutOfMemory; }
  SECTION("a compiled program") { failure.ran_compiled = true; }
  epoch.failure.begin_epoch(Seeds::kGrow);
  epoch.failure.record(failure);
  CHECK(epoch.failure.of_step());
  CHECK(epoch.failure.of_epoch().empty());
  epoch.failure.begin_epoch(Seeds::kGrow);
  CHECK_FALSE(epoch.failure.of_step());
}

TEST_CASE("a seed is suspected where a compiled program was compared with eager often enough in the epoch") {
  Epoch epoch;
  epoch.progress.safety.compared_steps = {0, 1, 3};
  TrainingFailure failure = kNonfinite;
  failure.ran_compiled = true;
  epoch.failure.begin_epoch(Seeds::kGrow);
  epoch.failure.record(failure);
  CHECK_FALSE(epoch.failure.of_step());
  CHECK(epoch.failure.of_epoch() == "host.weight is not finite");
}

}  // namespace esper::test::epoch_failure_test
