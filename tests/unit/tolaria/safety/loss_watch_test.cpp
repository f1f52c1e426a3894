#include "tolaria/safety/loss_watch.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

namespace esper::test::loss_watch_test {

using namespace esper::tolaria;
using Kind = LossVerdict::Kind;

namespace {

// Good epochs with losses around `mean`.
SafetyRecord record_around(double mean, int epochs) {
  SafetyRecord record;
  for (int i = 0; i < epochs; ++i) record_verdict(record, {}, mean * (i % 2 == 0 ? 0.9 : 1.1), i + 1);
  return record;
}

Kind judge(SafetyRecord& record, double loss, std::int64_t step, std::int64_t num_classes = 0) {
  const auto verdict = judge_loss({loss, 0, num_classes}, record);
  if (verdict.kind != Kind::kBad) record_verdict(record, verdict, loss, step);
  return verdict.kind;
}

}  // namespace

TEST_CASE("three suspect losses in a row are a divergence, a good one in between resets the count") {
  auto record = record_around(2, 12);
  CHECK(judge(record, 30, 13) == Kind::kSuspect);
  CHECK(judge(record, 30, 14) == Kind::kSuspect);
  CHECK(record.good_step == 12);
  CHECK(judge(record, 2, 15) == Kind::kGood);
  CHECK(record.suspect_epochs == 0);
  CHECK(record.good_step == 15);
  CHECK(judge(record, 30, 16) == Kind::kSuspect);
  CHECK(judge(record, 31, 17) == Kind::kSuspect);
  CHECK(judge(record, 32, 18) == Kind::kBad);
  CHECK(record.good_step == 15);
  CHECK(record.losses.size() == 13);
}

TEST_CASE("a loss is suspect only above all three limits, and with ten epochs to compare with") {
  auto few = record_around(2, 9);
  CHECK(judge(few, 1000, 10) == Kind::kGood);
  auto low = record_around(2, 12);
  CHECK(judge(low, 11.9, 13) == Kind::kGood);  // the bound
  auto high = record_around(9, 12);
  CHECK(judge(high, 26.9, 13) == Kind::kGood);  // three times the mean
  SafetyRecord noisy;
  for (int i = 0; i < 12; ++i) record_verdict(noisy, {}, i % 2 == 0 ? 0.1 : 11, i + 1);
  CHECK(judge_loss({38}, noisy).kind == Kind::kGood);  // six deviations
  CHECK(judge_loss({40}, noisy).kind == Kind::kSuspect);
}

TEST_CASE("a classifier that falls back to guessing has collapsed, at once; one that never left it has not") {
  const double guessing = std::log(10.0);
  auto good = record_around(0.5, 12);
  CHECK(judge_loss({guessing, 0.11, 10}, good).kind == Kind::kBad);
  CHECK(judge_loss({guessing, 0.6, 10}, good).kind == Kind::kGood);  // it overfits
  CHECK(judge_loss({guessing}, good).kind == Kind::kGood);
  CHECK(judge_loss({guessing * 1.07, 0.11, 10}, good).kind == Kind::kGood);
  CHECK(judge_loss({guessing * 0.93, 0.11, 10}, good).kind == Kind::kGood);
  auto poor = record_around(guessing * 0.95, 12);
  CHECK(judge_loss({guessing, 0.11, 10}, poor).kind == Kind::kGood);
}

TEST_CASE("after a seed's removal a collapse is judged by the losses since, an explosion by all") {
  const double guessing = std::log(10.0);
  auto record = record_around(0.5, 12);
  CHECK(judge_loss({guessing, 0.11, 10, true}, record).kind == Kind::kGood);
  CHECK(judge_loss({30, 0.11, 10, true}, record).kind == Kind::kSuspect);
  record.remove_active_seed();
  for (int i = 0; i < 9; ++i) CHECK(judge(record, 0.5, 13 + i) == Kind::kGood);
  CHECK(judge_loss({guessing, 0.11, 10}, record).kind == Kind::kGood);
  CHECK(judge_loss({30, 0.11, 10}, record).kind == Kind::kSuspect);
  CHECK(record.losses_before_removal == 11);  // the window has 20
  CHECK(judge(record, 0.5, 22) == Kind::kGood);
  CHECK(judge_loss({guessing, 0.11, 10}, record).kind == Kind::kBad);
}

TEST_CASE("the window holds the last twenty good epochs") {
  auto record = record_around(2, 40);
  CHECK(record.losses.size() == 20);
}

}  // namespace esper::test::loss_watch_test
