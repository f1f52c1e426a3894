// Compiled programs of structures that may come.

#include <ATen/Parallel.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

#include "integration/lanes/lane_room.h"
#include "program/python_text.h"
#include "storage/journal.h"
#include "storage/real_file_system.h"
#include "unit/tolaria/growing_ahead.h"

using namespace esper;
using namespace esper::tests;
using leyline::Lane;
using leyline::SeedOperation;

namespace {

LaneCase small_growing() {
  LaneCase c = growing_case();
  c.config.host.hidden = {12, 12};
  c.config.training.optimizer = {};
  c.config.training.optimizer.lr = 0.01;
  c.config.training.optimizer.momentum = 0.9;
  c.config.training.ema_decay = 0;
  return c;
}

void grow(GrowingAhead& it) { REQUIRE_FALSE(GrowingModel::refused(it.change(it.germination("r0c0", "mlp")))); }

}  // namespace

TEST_CASE("in lane compiled a germination's first step is compiled, and the bits are the same whoever foresaw it") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  GrowingAhead foreseen(Lane::kCompiled, &lasting_desk(), small_growing());
  GrowingAhead surprised(Lane::kCompiled, &lasting_desk(), small_growing());
  for (GrowingAhead* each : {&foreseen, &surprised}) {
    each->steps(5);
    REQUIRE(each->steps_in(Lane::kCompiled) > 0);
  }
  foreseen.prepare({germinates("r0c0", "mlp")});
  for (GrowingAhead* each : {&foreseen, &surprised}) {
    const auto eager_steps = each->steps_in(Lane::kEager);
    grow(*each);
    each->steps(4);
    CHECK(each->steps_in(Lane::kEager) == eager_steps);
    each->change(each->command(SeedOperation::kCull, "seed-0001"));
    each->steps(4);
    CHECK(each->steps_in(Lane::kEager) == eager_steps);
  }
  CHECK(first_difference(copies_of(*foreseen.model), copies_of(*surprised.model)) == "");
}

TEST_CASE("a run resumed right after a germination in lane compiled has the bits it would have had") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  const std::string journal = room.path / "journal";
  GrowingAhead whole(Lane::kCompiled, &lasting_desk(), small_growing());
  whole.steps(5);
  grow(whole);
  {
    storage::JournalWriter writer(storage::real_file_system(), journal);
    for (const std::string& note : whole.notes) writer.append(note);
  }
  const auto checkpoint = copies_of(*whole.model);
  whole.steps(6);

  // Also where the cache does not have the program: the run was stopped while it waited for it.
  const auto empty = room.desk();
  for (program::CompileDesk* desk : {&lasting_desk(), empty.get()}) {
    GrowingAhead resumed(Lane::kCompiled, desk, small_growing());
    resumed.apply(resumed.germination("r0c0", "mlp"));
    const torch::NoGradGuard no_grad;
    for (const auto& [id, tensor] : tolaria::all_tensors(*resumed.model, torch::kCPU)) {
      tensor.detach().copy_(checkpoint.at(id));
    }
    resumed.number = 5;
    resumed.follow(tolaria::read_lane_log(storage::real_file_system(), journal));
    resumed.steps(6);
    CHECK(resumed.steps_in(Lane::kCompiled) == 6);
    CHECK(resumed.told("tolaria.lane_refused") == 0);
    CHECK(first_difference(copies_of(*whole.model), copies_of(*resumed.model)) == "");
  }
}

TEST_CASE("a package that was compiled ahead arrives after the rehearsal, passes, and runs the first step") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;  // nothing is in its cache
  const auto desk = room.desk();
  GrowingAhead ahead(Lane::kCompiled, desk.get(), small_growing());
  ahead.steps(5);
  REQUIRE(ahead.steps_in(Lane::kCompiled) > 0);
  const std::vector<tolaria::LikelyChange> likely = {germinates("r0c0", "mlp")};
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(4);
  while (ahead.told("tolaria.growth_prepared") < 2 && std::chrono::steady_clock::now() < end) {
    ahead.runner->prepare(likely, 100'000'000);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  CHECK(ahead.told("tolaria.growth_prepared") == 2);  // replay first, then the package
  CHECK(ahead.told("tolaria.growth_unprepared") == 0);
  CHECK(ahead.runner->figures().quarantined == 0);
  const auto started = ahead.told("tolaria.compile_started");
  const auto eager_steps = ahead.steps_in(Lane::kEager), compiled_steps = ahead.steps_in(Lane::kCompiled);
  grow(ahead);
  ahead.steps(4);
  CHECK(ahead.told("tolaria.compile_started") == started);
  CHECK(ahead.steps_in(Lane::kEager) == eager_steps);
  CHECK(ahead.steps_in(Lane::kCompiled) == compiled_steps + 4);
}

TEST_CASE("a wrong program of a likely structure is refused in the rehearsal, and never runs a step") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const LaneRoom room;
  const auto desk = room.desk();
  const LaneCase c = small_growing();
  GrowingModel grown(c);
  grown.apply(grown.germination("r0c0", "mlp"));
  const auto program = program_of(*grown.model, make_batches(c, 1));
  std::string text = program::python_text(program);
  const std::string momentum = "alpha=0.90000000000000002";
  const auto at = text.find(momentum);
  REQUIRE(at != std::string::npos);
  text.replace(at, momentum.size(), "alpha=0.8");
  const std::string recipe = desk->recipes(program).front(), key = desk->key(program, recipe);
  plant(room, key, compile_text(room, text, recipe));

  GrowingAhead ahead(Lane::kAuto, desk.get(), c);
  ahead.steps(3);
  ahead.prepare({germinates("r0c0", "mlp")});
  CHECK(ahead.told("tolaria.lane_refused") == 1);
  CHECK(ahead.runner->figures().quarantined == 1);
  CHECK(desk->found_wrong(key));
  grow(ahead);
  ahead.steps(6);
  CHECK(ahead.steps_in(Lane::kCompiled) == 0);
}
