#include "base/ledger/ledger.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <limits>
#include <random>
#include <vector>

#include "base/ledger/chrome_trace.h"
#include "base/names.h"
#include "support/owner_times.h"

namespace esper::base::ledger_test {
namespace {

using esper::test::sum_of;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// A ledger on time that stands still until a test moves it.
struct Manual {
  std::shared_ptr<ManualTime> time = std::make_shared<ManualTime>();
  Ledger ledger{Clock(time)};
  void pass(int ns) { time->advance(nanoseconds(ns)); }
};

nanoseconds of(const OwnerTimes& times, Owner owner) { return times[index_of(owner)]; }

// Who has the time and how long, for `depth` more levels of random scopes.
void wander(Manual& manual, std::mt19937& random, int depth, OwnerTimes& expected) {
  const auto owner = static_cast<Owner>(random() % kNumOwners);
  const LedgerScope scope(manual.ledger, owner);
  for (unsigned i = random() % 4; i > 0; --i) {
    const auto ns = static_cast<int>(random() % 1000);
    manual.pass(ns);
    expected[index_of(owner)] += nanoseconds(ns);
    if (depth > 0) wander(manual, random, depth - 1, expected);
  }
}

}  // namespace

TEST_CASE("each nanosecond belongs to the innermost scope, and the outer one resumes") {
  Manual m;
  m.pass(5);
  m.ledger.start_up_is_over();
  m.pass(7);
  {
    const LedgerScope computing(m.ledger, Owner::kCompute);
    m.pass(10);
    {
      const LedgerScope waiting(m.ledger, Owner::kLoaderWait);
      m.pass(100);
      const LedgerScope copying(m.ledger, Owner::kTransfer);
      m.pass(1000);
    }
    m.pass(20);
  }
  m.pass(3);
  const OwnerTimes times = m.ledger.settle();
  CHECK(of(times, Owner::kStartUp) == nanoseconds(5));
  CHECK(of(times, Owner::kIdle) == nanoseconds(10));
  CHECK(of(times, Owner::kCompute) == nanoseconds(30));
  CHECK(of(times, Owner::kLoaderWait) == nanoseconds(100));
  CHECK(of(times, Owner::kTransfer) == nanoseconds(1000));
  CHECK(sum_of(times) == nanoseconds(1145));
  CHECK(m.ledger.settled().wall() == nanoseconds(1145));
}

TEST_CASE("a scope since the last read has what lies between") {
  Manual m;
  m.ledger.start_up_is_over();
  const LedgerScope computing(m.ledger, Owner::kCompute);
  LedgerStep step(m.ledger);
  m.pass(10);
  step.end(1);
  m.pass(1);
  {
    const LedgerScope waiting(m.ledger, Owner::kLoaderWait, SinceLast{});
    m.pass(100);
  }
  m.pass(20);
  const OwnerTimes times = m.ledger.settle();
  CHECK(of(times, Owner::kCompute) == nanoseconds(30));
  CHECK(of(times, Owner::kLoaderWait) == nanoseconds(101));
}

TEST_CASE("an exception closes its scopes") {
  Manual m;
  m.ledger.start_up_is_over();
  try {
    const LedgerScope computing(m.ledger, Owner::kCompute);
    const LedgerScope waiting(m.ledger, Owner::kLoaderWait);
    m.pass(4);
    throw std::runtime_error("no batch");
  } catch (const std::runtime_error&) {
  }
  CHECK(m.ledger.owner() == Owner::kIdle);
  m.pass(2);
  const OwnerTimes times = m.ledger.settle();
  CHECK(of(times, Owner::kLoaderWait) == nanoseconds(4));
  CHECK(of(times, Owner::kIdle) == nanoseconds(2));
}

TEST_CASE("whatever the scopes, every nanosecond has one owner") {
  std::mt19937 random(7);
  Manual m;
  m.ledger.start_up_is_over();
  OwnerTimes all{};
  for (int round = 0; round < 200; ++round) {
    OwnerTimes expected{};
    wander(m, random, 4, expected);
    const OwnerTimes times = m.ledger.settle();
    REQUIRE(times == expected);
    for (std::size_t i = 0; i < kNumOwners; ++i) all[i] += times[i];
  }
  CHECK(m.ledger.settled().totals() == all);
  CHECK(sum_of(m.ledger.settled().totals()) == m.ledger.settled().wall());
  CHECK(m.ledger.settled().wall() == m.time->now());
}

TEST_CASE("time before the ledger was made is start-up") {
  const auto time = std::make_shared<ManualTime>();
  time->advance(milliseconds(50));
  Ledger ledger(Clock(time), milliseconds(20));
  time->advance(milliseconds(5));
  ledger.start_up_is_over();
  time->advance(milliseconds(1));
  const OwnerTimes times = ledger.settle();
  CHECK(of(times, Owner::kStartUp) == milliseconds(35));
  CHECK(of(times, Owner::kIdle) == milliseconds(1));
  CHECK(ledger.start_up() == milliseconds(35));
  CHECK(ledger.settled().wall() == milliseconds(36));
  CHECK(sum_of(ledger.settle()) == nanoseconds(0));
}

TEST_CASE("a beginning in the future is now, and a clock that stands still gives nobody anything") {
  Ledger ledger(Clock(std::make_shared<ManualTime>()), milliseconds(20));
  {
    const LedgerScope computing(ledger, Owner::kCompute);
  }
  CHECK(sum_of(ledger.settle()) == nanoseconds(0));
  CHECK(ledger.settled().wall() == nanoseconds(0));
}

namespace {

// As long as `clock` says, which is at least what it is asked for.
Duration spin(const Clock& clock, Duration length) {
  const Duration begin = clock.now();
  Duration now = begin;
  while (now < begin + length) now = clock.now();
  return now - begin;
}

}  // namespace

TEST_CASE("on the machine's own time the owners sum to what the clock measures") {
  const Clock clock;
  const auto begin = clock.now();
  Ledger ledger(clock, begin);
  ledger.start_up_is_over();
  Duration computed(0), validated(0);
  const auto spend = [&](Owner owner, milliseconds length) {
    const LedgerScope scope(ledger, owner);
    return spin(clock, length);
  };
  for (int i = 0; i < 5; ++i) {
    computed += spend(Owner::kCompute, milliseconds(6));
    validated += spend(Owner::kValidation, milliseconds(2));
    ledger.settle();
  }
  const auto outside = clock.now() - begin;
  CHECK(sum_of(ledger.settled().totals()) == ledger.settled().wall());
  CHECK(ledger.settled().wall() <= outside);
  // A scope holds what was spent in it, and what the counter and the clock differ by.
  const auto nearly = [](Duration length) { return length * 97 / 100; };
  CHECK(of(ledger.settled().totals(), Owner::kCompute) >= nearly(computed));
  CHECK(of(ledger.settled().totals(), Owner::kValidation) >= nearly(validated));
  CHECK(of(ledger.settled().totals(), Owner::kCompute) <= ledger.settled().wall() - nearly(validated));
}

TEST_CASE("a step's length begins where the last scope ended") {
  Manual m;
  m.ledger.start_up_is_over();
  for (int i = 1; i <= 100; ++i) {
    {
      const LedgerScope waiting(m.ledger, Owner::kLoaderWait);
      m.pass(1'000'000);
    }
    LedgerStep step(m.ledger);
    m.pass(i * 1000);
    step.end(i);
  }
  m.ledger.settle();
  const StepQuantiles steps = m.ledger.take_step_quantiles();
  CHECK(steps.steps == 100);
  CHECK(steps.p50_us == Catch::Approx(50).epsilon(0.04));
  CHECK(steps.p95_us == Catch::Approx(95).epsilon(0.04));
  CHECK(m.ledger.take_step_quantiles().steps == 0);
}

TEST_CASE("quantiles of a histogram are within three percent, from nothing to hours") {
  StepTimes times;
  CHECK(times.quantile(0.5) == 0);
  for (const std::uint64_t length : {std::uint64_t{1}, std::uint64_t{31}, std::uint64_t{32}, std::uint64_t{33},
                                     std::uint64_t{1000}, std::uint64_t{123'456'789}, std::uint64_t{1} << 43}) {
    times.clear();
    times.add(length);
    CHECK(times.quantile(1) == Catch::Approx(static_cast<double>(length)).epsilon(0.035).margin(1));
  }
  times.add(std::numeric_limits<std::uint64_t>::max());  // in the last bucket, no overrun
  CHECK(times.count() == 2);
  CHECK(times.quantile(1) >= times.quantile(0));
}

TEST_CASE("what an owner has had so far needs no settling, and loses nothing to it") {
  Ledger ledger;
  const Duration before = ledger.so_far(Owner::kLoaderWait);
  CHECK(before.count() == 0);
  const auto wait = [&](milliseconds length) {
    const LedgerScope waiting(ledger, Owner::kLoaderWait);
    return spin(Clock(), length);
  };
  const auto ms_of = [](Duration time) { return std::chrono::duration<double, std::milli>(time).count(); };
  const double first = ms_of(wait(milliseconds(20)));
  const double unsettled = ms_of(ledger.so_far(Owner::kLoaderWait));
  CHECK(unsettled >= first * 0.97);
  ledger.settle();
  CHECK(ms_of(ledger.so_far(Owner::kLoaderWait)) == Catch::Approx(unsettled).epsilon(0.01));
  const double second = ms_of(wait(milliseconds(10)));
  CHECK(ms_of(ledger.so_far(Owner::kLoaderWait)) >= (first + second) * 0.97);
}

namespace {
std::vector<Owner> entered, left;
}

TEST_CASE("hooks are told of every scope, in pairs") {
  Manual m;
  entered.clear();
  left.clear();
  m.ledger.watch().set_hooks(
      {[](Owner owner) { entered.push_back(owner); }, [](Owner owner) { left.push_back(owner); }});
  {
    const LedgerScope computing(m.ledger, Owner::kCompute);
    const LedgerScope waiting(m.ledger, Owner::kLoaderWait);
  }
  CHECK(entered == std::vector{Owner::kCompute, Owner::kLoaderWait});
  CHECK(left == std::vector{Owner::kLoaderWait, Owner::kCompute});
  m.ledger.watch().set_hooks({});
  {
    const LedgerScope computing(m.ledger, Owner::kCompute);
  }
  CHECK(entered.size() == 2);
}

}  // namespace esper::base::ledger_test
