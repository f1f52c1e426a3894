#include "tolaria/run/epoch_end_transaction.h"

#include <catch2/catch_test_macros.hpp>
#include <stdexcept>

#include "leyline/telemetry/telemetry.h"
#include "support/run_fixture.h"

namespace esper::test::epoch_end_transaction_test {

using tolaria::EpochEnd;
using tolaria::EpochEndTransaction;
using namespace leyline::literals;

namespace {

// An end of an epoch: it counts the epoch and reports something.
struct EndedEpoch {
  SmallRun it;
  EpochEndTransaction transaction{it.progress, it.saver, it.outbox};

  EndedEpoch() {
    it.outbox.emit(leyline::event("tolaria.diverged"_event, leyline::Level::kError));
    transaction.begin(it.outbox.waiting().size());
  }
  EpochEnd end(EpochEnd how) {
    ++it.progress.epoch;
    it.outbox.emit(leyline::event("tolaria.diverged"_event, leyline::Level::kError));
    return how;
  }
};

}  // namespace

TEST_CASE("a complete end of an epoch stays, and what is saved from then on is the run after it") {
  EndedEpoch epoch;
  CHECK(epoch.it.saver.is_holding());
  CHECK(epoch.transaction.complete([&] { return epoch.end(EpochEnd::kComplete); }) == EpochEnd::kComplete);
  CHECK(epoch.it.progress.epoch == 1);
  CHECK(epoch.it.outbox.waiting().size() == 2);
  CHECK_FALSE(epoch.it.saver.is_holding());
}

TEST_CASE("after an end that was interrupted, or threw, progress, events and what is saved are those of before") {
  EndedEpoch epoch;
  SECTION("interrupted") {
    CHECK(epoch.transaction.complete([&] { return epoch.end(EpochEnd::kInterrupted); }) == EpochEnd::kInterrupted);
  }
  SECTION("it threw") {
    const auto throws = [&]() -> EpochEnd {
      epoch.end(EpochEnd::kComplete);
      throw std::runtime_error("the policy's answer");
    };
    CHECK_THROWS_AS(epoch.transaction.complete(throws), std::runtime_error);
  }
  CHECK(epoch.it.progress.epoch == 0);
  CHECK(epoch.it.outbox.waiting().size() == 1);
  CHECK(epoch.it.saver.is_holding());
}

}  // namespace esper::test::epoch_end_transaction_test
