// Steps in which seeds' gradients are held against each other, in the lanes.

#include <catch2/catch_test_macros.hpp>

#include "base/names.h"
#include "lanes/prepared_lane.h"
#include "step/probe.h"
#include "support/call_counter.h"
#include "support/models/grown_model.h"

namespace esper::tests::prepared_lane_grown_test {
namespace {

using config::Attribution;
using config::Lane;
using test::CallCounter;

constexpr int kSeeds = 3, kMicrobatches = 4;

LaneCase operated(Attribution attribution) {
  LaneCase c = grown_case();
  c.batch = 2;
  c.config.step.accumulation = kMicrobatches;
  c.config.growth.aggregation.attribution = attribution;
  c.config.growth.aggregation.layers_shown = 3;
  if (attribution == Attribution::kDataloader) c.config.growth.aggregation.classes = {"r0c0=0,1", "r0c1=2"};
  return c;
}

std::vector<step::Microbatch> batches_of(const LaneCase& c, int step) {
  return make_batches(c, kMicrobatches, static_cast<std::uint64_t>(step) + 10);
}

struct Prepared {
  Prepared(const LaneCase& c, Lane kind) : model(grown_model(c, kSeeds)) {
    const auto example = batches_of(c, 0);
    step::probe_attribution(*model, example);
    lane = lanes::prepare_lane(*model, kind, example, nullptr);
    REQUIRE(lane.refusal.empty());
  }
  std::unique_ptr<step::Model> model;
  lanes::PreparedLane lane;
};

}  // namespace

TEST_CASE("gradient surgery in replay has eager's bits, whatever the attribution, and reads nothing") {
  at::set_num_threads(1);
  for (const auto attribution : {Attribution::kApprox, Attribution::kProbe, Attribution::kDataloader}) {
    CAPTURE(base::name_of(attribution));
    const LaneCase c = operated(attribution);
    const Prepared eager(c, Lane::kEager), replay(c, Lane::kReplay);
    for (int step = 0; step < 20; ++step) {
      const auto batches = batches_of(c, step);
      for (const auto* it : {&eager, &replay}) {
        const CallCounter counter;
        step::probe_attribution(*it->model, batches);
        it->lane.step(batches);
        CHECK(CallCounter::host_reads() == 0);
      }
    }
    const auto expected = step::named_tensors(eager.model->state), actual = step::named_tensors(replay.model->state);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      INFO(expected[i].id);
      CHECK(at::equal(expected[i].tensor, actual[i].tensor));
    }
    double conflicts = 0;
    for (const auto& [id, seed] : step::read_metrics(replay.model->state).seeds) conflicts += seed.conflicts;
    CHECK(conflicts > 0);
  }
}

}  // namespace esper::tests::prepared_lane_grown_test
