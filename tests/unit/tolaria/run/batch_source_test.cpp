// Looking ahead changes no batch, whatever the epoch's end looks like.

#include "tolaria/run/batch_source.h"

#include <catch2/catch_test_macros.hpp>

#include "base/error.h"
#include "base/fault.h"
#include "support/run_fixture.h"

namespace esper::test::batch_source_test {

using step::Microbatch;
using tolaria::BatchSource;
using tolaria::look_ahead_for;
using tolaria::LookAhead;

namespace {

using Steps = std::vector<std::vector<Microbatch>>;

config::RunConfig config_of(int batch_size, int accumulation) {
  auto config = small_config();
  config.data.batch_size = batch_size;
  config.step.accumulation = accumulation;
  return config;
}

// Of the run's training data.
BatchSource source_of(SmallRun& it, LookAhead look_ahead) {
  return {*it.train_data, torch::kCPU, it.facts.config.step.accumulation, look_ahead, it.ledger};
}

// The rest of one epoch from a cursor, in copies.
Steps steps_from(BatchSource& batches, std::int64_t epoch, std::int64_t batch) {
  batches.begin_epoch(epoch, batch);
  Steps steps;
  std::vector<Microbatch> step;
  for (batches.next(step); !step.empty(); batches.next(step)) {
    for (auto& microbatch : step) microbatch.inputs = microbatch.inputs.clone();
    steps.push_back(step);
    REQUIRE(steps.size() < 1000);
    batches.look_ahead();
  }
  return steps;
}

bool same(const Steps& a, const Steps& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return false;
    for (std::size_t k = 0; k < a[i].size(); ++k) {
      if (!torch::equal(a[i][k].inputs, b[i][k].inputs)) return false;
      if (!torch::equal(a[i][k].targets, b[i][k].targets)) return false;
    }
  }
  return true;
}

TEST_CASE("an epoch's steps are the same whether they are fetched ahead or not") {
  for (const auto& [batch_size, accumulation] :
       {std::pair{8, 1}, {8, 4}, {7, 1}, {7, 3}, {5, 4}, {48, 1}, {16, 3}, {64, 2}}) {
    CAPTURE(batch_size, accumulation);
    SmallRun it(config_of(batch_size, accumulation));
    auto plain = source_of(it, LookAhead::kNone), ahead = source_of(it, LookAhead::kOneStep);
    const std::int64_t batches = it.train_data->num_batches();
    for (const std::int64_t epoch : {0, 1, 2}) {
      const auto expected = steps_from(plain, epoch, 0);
      CHECK(static_cast<std::int64_t>(expected.size()) == it.facts.steps_per_epoch());
      CHECK(same(steps_from(ahead, epoch, 0), expected));
      const std::int64_t middle = batches / 2;
      CHECK(same(steps_from(ahead, epoch, middle), steps_from(plain, epoch, middle)));
      CHECK(steps_from(ahead, epoch, batches).empty());
    }
  }
}

TEST_CASE("a prefetched step is dropped when the epoch is restarted") {
  SmallRun it(config_of(8, 1));
  auto plain = source_of(it, LookAhead::kNone), ahead = source_of(it, LookAhead::kOneStep);
  ahead.begin_epoch(0, 0);
  std::vector<Microbatch> step;
  ahead.next(step);
  CHECK(same(steps_from(ahead, 1, 2), steps_from(plain, 1, 2)));
}

TEST_CASE("a step is there to be queued before the next one's batches are waited for") {
  SmallRun it(config_of(8, 2));
  auto ahead = source_of(it, LookAhead::kOneStep);
  ahead.begin_epoch(0, 0);
  base::fault::arm("data.batch", 3);
  std::vector<Microbatch> step;
  CHECK_NOTHROW(ahead.next(step));
  CHECK(step.size() == 2);
  CHECK_THROWS_AS(ahead.look_ahead(), base::Error);
  base::fault::disarm_all();
}

TEST_CASE("on the CPU nothing is copied or prefetched") {
  SmallRun it;
  CHECK(look_ahead_for(it.facts.config.data, torch::kCPU, *it.train_data) == LookAhead::kNone);
  auto batches = source_of(it, LookAhead::kOneStep);
  steps_from(batches, 0, 0);
  CHECK(batches.take_times().copy_ms == 0);
  CHECK(batches.take_times().wait_ms == 0);
  it.go();
  CHECK(it.values("tolaria.h2d_copy_ms").empty());
}

TEST_CASE("the epoch's wait for batches is what the ledger gave to it") {
  SmallRun it;
  it.go();
  it.ledger.settle();
  double reported = 0;
  for (const double ms : it.values("tolaria.loader.wait_ms")) reported += ms;
  const auto owned = it.ledger.settled().totals()[index_of(base::Owner::kLoaderWait)];
  const double ms = std::chrono::duration<double, std::milli>(owned).count();
  CHECK(ms > 0);
  CHECK(std::abs(reported - ms) < 0.02 * ms + 0.01);
}

}  // namespace
}  // namespace esper::test::batch_source_test
