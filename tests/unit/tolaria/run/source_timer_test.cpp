#include "tolaria/run/source_timer.h"

#include <catch2/catch_test_macros.hpp>

#include "support/run_fixture.h"

namespace esper::test::source_timer_test {

using data::Beside;
using tolaria::SourceTimer;

TEST_CASE("a round draws ten batches and those that lie ready, in their order, over the ends of epochs") {
  SmallRun it, other;
  const auto batches_per_epoch = it.train_data->num_batches();
  std::vector<torch::Tensor> seen;
  SourceTimer timer(
      *it.train_data, torch::kCPU, it.facts.config.data, it.ledger,
      [&](const torch::Tensor& inputs) { seen.push_back(inputs.clone()); }, 2);
  const auto us = timer.round(Beside::kForward);
  REQUIRE(us);
  CHECK(*us > 0);
  REQUIRE(seen.size() >= 3);  // fewer than 12 on a machine that is very slow
  CHECK(seen.size() <= 12);
  CHECK(static_cast<std::size_t>(batches_per_epoch) < 12);
  other.train_data->seek(0, 0);
  for (const torch::Tensor& inputs : seen) {
    auto batch = other.train_data->next();
    if (!batch) batch = other.train_data->next();  // that was an epoch's end
    REQUIRE(batch);
    CHECK(at::equal(batch->inputs, inputs));
  }
}

TEST_CASE("a round's time is that of the forwards, too") {
  SmallRun it;
  const base::Clock clock;
  constexpr auto kForward = std::chrono::milliseconds(5);
  SourceTimer timer(
      *it.train_data, torch::kCPU, it.facts.config.data, it.ledger,
      [&](const torch::Tensor&) { clock.sleep(kForward); }, 0);
  CHECK(timer.round(Beside::kForward).value() >= 5000);
}

TEST_CASE("a round of batches alone computes no forward") {
  SmallRun it;
  int forwards = 0;
  SourceTimer timer(
      *it.train_data, torch::kCPU, it.facts.config.data, it.ledger, [&](const torch::Tensor&) { ++forwards; }, 2);
  CHECK(timer.round(Beside::kNothing).value() > 0);
  CHECK(forwards == 0);
  CHECK(timer.round(Beside::kForward).value() > 0);
  CHECK(forwards >= 2);
}

}  // namespace esper::test::source_timer_test
