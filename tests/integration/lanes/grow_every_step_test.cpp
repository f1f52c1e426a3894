// Growth between any two steps, in each lane that this machine has. The graph lane's test is with the other tests for a
// GPU.
#include "support/models/grow_every_step.h"

#include "integration/lanes/lane_room.h"

namespace esper::test::grow_every_step_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;

namespace {

LaneCase shadow_case() {
  LaneCase c = growing_case();
  c.config.growth.training = config::SeedTraining::kShadow;
  return c;
}

}  // namespace

TEST_CASE("a seed may grow, blend and be pruned at every step of an epoch: eager and replay") {
  at::set_num_threads(1);
  for (const LaneCase& c : {growing_case(), shadow_case()}) {
    GrowEveryStep(Lane::kEager, torch::kCPU, nullptr, c).run();
    GrowEveryStep(Lane::kReplay, torch::kCPU, nullptr, c).run();
  }
}

TEST_CASE("a seed may grow, blend and be pruned at every step of an epoch: compiled") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  for (const LaneCase& c : {growing_case(), shadow_case()}) {
    GrowEveryStep(Lane::kCompiled, torch::kCPU, &persistent_compile_service(), c).run();
  }
}

}  // namespace esper::test::grow_every_step_test
