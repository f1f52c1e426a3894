#include "data/loading/source_choice.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>

#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <memory>
#include <string>

namespace esper::data::source_choice_test {
namespace {

constexpr SourceFacts kLongRun{.resident_bytes = 184 << 20, .free_bytes = std::int64_t{80} << 30, .batches = 100'000};

std::optional<SourceTimes> not_asked(Beside) {
  FAIL("nothing is to be measured");
  return {};
}

SourceChoice choice_for(SourceTimes alone, SourceTimes beside_forward) {
  return choose_source(kLongRun, [&](Beside beside) { return beside == Beside::kNothing ? alone : beside_forward; });
}

// A timer that gives these values, one a call, and takes so long for each.
BatchTimer timer(std::deque<double> values, std::shared_ptr<base::ManualTime> time, base::Duration each) {
  return [values = std::move(values), time = std::move(time), each]() mutable {
    REQUIRE_FALSE(values.empty());
    const double value = values.front();
    values.pop_front();
    time->advance(each);
    return std::optional(value);
  };
}

}  // namespace

TEST_CASE("copies are taken where they are faster alone and beside the forward, and the figures are the reason") {
  const auto copied = choice_for({200, 90.4}, {700, 510});
  CHECK(copied.source == Source::kThreads);
  CHECK(copied.reason ==
        "a batch from the data on the device takes 200 us, a copied one 90 us; during a forward 700 us, "
        "copied 510 us; the data set takes 184 MiB of 80.0 GiB that are free");
  const auto resident = choice_for({200, 90.4}, {700, 710});
  CHECK(resident.source == Source::kResident);
  CHECK(resident.reason.find("copied 710 us, which does not save a tenth; the data set takes") != std::string::npos);
}

TEST_CASE("copies that only a slow forward hides are not taken, and nothing is measured beside it") {
  const auto choice = choose_source(kLongRun, [](Beside beside) {
    CHECK(beside == Beside::kNothing);
    return SourceTimes{108, 348};
  });
  CHECK(choice.source == Source::kResident);
  CHECK(choice.reason ==
        "a batch from the data on the device takes 108 us, a copied one 348 us, which does not save a tenth; the data "
        "set takes 184 MiB of 80.0 GiB that are free");
}

TEST_CASE("where both are alike within the measurement's noise the data set is on the device") {
  CHECK(choice_for({50, 50}, {500, 100}).source == Source::kResident);
  CHECK(choice_for({50, 46}, {500, 100}).source == Source::kResident);
  CHECK(choice_for({50, 20}, {500, 455}).source == Source::kResident);
  CHECK(choice_for({50, 44}, {500, 445}).source == Source::kThreads);
}

TEST_CASE("a data set that takes a quarter of the free memory is not measured, and is copied") {
  auto facts = kLongRun;
  facts.resident_bytes = facts.free_bytes / 4;
  const auto choice = choose_source(facts, not_asked);
  CHECK(choice.source == Source::kThreads);
  CHECK(choice.reason == "the data set takes 20.0 GiB of 80.0 GiB that are free, and may take a quarter");
  CHECK_FALSE(fits(facts));
  --facts.resident_bytes;
  CHECK(fits(facts));
}

TEST_CASE("a run of few batches measures nothing") {
  auto facts = kLongRun;
  facts.batches = 9'999;
  const auto choice = choose_source(facts, not_asked);
  CHECK(choice.source == Source::kResident);
  CHECK(choice.reason.starts_with("9999 batches are too few"));
}

TEST_CASE("a measurement that had to stop leaves the data set on the device") {
  for (const Beside stops : {Beside::kNothing, Beside::kForward}) {
    const auto choice = choose_source(
        kLongRun, [&](Beside beside) { return beside == stops ? std::nullopt : std::optional(SourceTimes{200, 90}); });
    CHECK(choice.source == Source::kResident);
    CHECK(choice.reason.starts_with("the measurement of the ways was stopped"));
  }
}

TEST_CASE("the figures are medians of the rounds after the first") {
  const auto time = std::make_shared<base::ManualTime>();
  const auto each = std::chrono::milliseconds(1);
  const auto times =
      time_sources(timer({900, 40, 70, 41}, time, each), timer({9, 300, 180, 170}, time, each), base::Clock(time));
  REQUIRE(times);
  CHECK(times->resident_us == 41);
  CHECK(times->copied_us == 180);
}

TEST_CASE("however long the first forward takes, each source has a round after it; none begins when the time is over") {
  const auto time = std::make_shared<base::ManualTime>();
  const auto times = time_sources(timer({600'000, 100}, time, kMostMeasured), timer({7000, 300}, time, kMostMeasured),
                                  base::Clock(time));
  REQUIRE(times);
  CHECK(times->resident_us == 100);
  CHECK(times->copied_us == 300);
}

TEST_CASE("a source that has to stop ends the measurement") {
  const BatchTimer stops = [] { return std::optional<double>(); }, works = [] { return std::optional(1.0); };
  CHECK_FALSE(time_sources(stops, works, base::Clock()));
  CHECK_FALSE(time_sources(works, stops, base::Clock()));
}

}  // namespace esper::data::source_choice_test
