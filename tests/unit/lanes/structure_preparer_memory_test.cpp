// Steps of structures that may come, where there is no memory for them.

#include <catch2/catch_test_macros.hpp>

#include "support/faults/failing_allocator.h"
#include "support/models/eager_reference.h"

namespace esper::test::structure_preparer_memory_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;

namespace {

std::string reason_of(const GrowingPrepared& ahead, std::string_view name) {
  const auto found = std::ranges::find(ahead.events, name, &leyline::TelemetryEvent::description);
  return found == ahead.events.end() ? std::string() : found->attributes.at("reason");
}

// Where a loop over every allocation would take too long: all of the first ones, ever fewer of the later ones.
constexpr std::int64_t next_allocation(std::int64_t n) { return n + 1 + n / 15; }

// What all of these runs do, without anything prepared.
auto grown_in_eager() {
  GrowingModel eager;
  eager.steps(6);
  eager.apply(eager.germination("r0c1", "mlp"));
  eager.steps(4);
  return copies_of(*eager.model);
}

}  // namespace

TEST_CASE(
    "wherever memory runs out while a structure is prepared, that is given up and reported, and the run has its bits") {
  at::set_num_threads(1);
  auto& memory = test::FailingAllocator::instance();
  const auto expected = grown_in_eager();
  int given_up = 0;
  for (std::int64_t n = 1;; n = next_allocation(n)) {
    CAPTURE(n);
    GrowingPrepared ahead(Lane::kReplay);
    ahead.steps(6);
    memory.fail_at(n);
    ahead.prepare({germinates("r0c1", "mlp")});
    if (!memory.fired()) break;
    const bool ready =
        ahead.count_events("tolaria.growth_prepared") > 0;  // later calls only look whether there is more to do
    given_up += ready ? 0 : 1;
    ahead.prepare({germinates("r0c1", "mlp")});  // not tried again
    CHECK(ahead.count_events("tolaria.growth_unprepared") == 1);
    CHECK(reason_of(ahead, "tolaria.growth_unprepared").find("out of memory") == 0);
    CHECK(ahead.count_events("tolaria.growth_prepared") == (ready ? 1 : 0));
    ahead.change(ahead.germination("r0c1", "mlp"));
    ahead.steps(4);
    CHECK(first_difference(expected, copies_of(*ahead.model)) == "");
    CHECK(ahead.steps_in(Lane::kReplay) == 3 + (ready ? 4 : 1));  // without warm-up, recording and check
  }
  CHECK(given_up > 50);  // the scratch model, its steps, the replay, the comparison
}

TEST_CASE("wherever memory runs out when a prepared structure is installed, it starts unprepared") {
  at::set_num_threads(1);
  auto& memory = test::FailingAllocator::instance();
  const auto expected = grown_in_eager();
  int failed = 0;
  for (std::int64_t n = 1;; n = next_allocation(n)) {
    CAPTURE(n);
    GrowingPrepared ahead(Lane::kReplay);
    ahead.steps(6);
    ahead.prepare({germinates("r0c1", "mlp")});
    ahead.apply(ahead.germination("r0c1", "mlp"));
    memory.fail_at(n);
    ahead.runner->structure_changes().take_structure(ahead.number);
    if (!memory.fired()) break;
    ++failed;
    CHECK(reason_of(ahead, "tolaria.growth_unprepared").find("out of memory") == 0);
    ahead.steps(4);
    CHECK(first_difference(expected, copies_of(*ahead.model)) == "");
    CHECK(ahead.steps_in(Lane::kReplay) == 3 + 1);
  }
  CHECK(failed > 0);
}

TEST_CASE("without memory to keep a batch for dry runs, nothing is prepared and the step is unchanged") {
  at::set_num_threads(1);
  auto& memory = test::FailingAllocator::instance();
  for (const int n : {1, 2}) {  // inputs, targets
    CAPTURE(n);
    EagerReference reference;
    GrowingPrepared ahead(Lane::kReplay);
    const auto batch = make_batches(ahead.c, 1);
    reference.eager.runner->step(batch, {0, 1000});
    memory.fail_at(n);
    ahead.runner->step(batch, {0, 1000});
    CHECK(memory.fired());
    CHECK(reason_of(ahead, "tolaria.growth_unprepared").find("out of memory") == 0);
    reference.eager.number = ahead.number = 1;
    step_both(reference, ahead, 5);
    ahead.prepare({germinates("r0c1", "mlp")});
    CHECK(ahead.count_events("tolaria.growth_prepared") == 0);
    CHECK(ahead.count_events("tolaria.growth_unprepared") == 1);
    grow_both(reference, ahead, "r0c1", "mlp");
    step_both(reference, ahead, 4);
  }
}

TEST_CASE(
    "a second network has room where more is free than the run has ever used, what its allocator keeps included") {
  constexpr std::uint64_t kUsed = 6 << 20, kPeak = 10 << 20;
  const auto figures = [](std::uint64_t reserved, std::uint64_t free) {
    return device::MemoryFigures{
        .used_bytes = kUsed, .peak_bytes = kPeak, .reserved_bytes = reserved, .free_bytes = free};
  };
  CHECK(lanes::room_for_scratch_model(figures(kUsed, kPeak)) == kPeak);
  CHECK(lanes::room_for_scratch_model(figures(kUsed + 100, kPeak)) == kPeak + 100);
  CHECK(lanes::has_room_for_scratch_model(figures(kUsed, kPeak + 1)));
  CHECK_FALSE(lanes::has_room_for_scratch_model(figures(kUsed, kPeak)));
  CHECK_FALSE(lanes::has_room_for_scratch_model(figures(kUsed, 0)));
  CHECK(lanes::has_room_for_scratch_model(figures(kUsed + 1, kPeak)));
  CHECK_FALSE(lanes::has_room_for_scratch_model(figures(kUsed + 100, kPeak - 100)));
}

TEST_CASE(
    "where a second network may not fit beside the run, none is made: that is reported once, and the run has its "
    "bits") {
  at::set_num_threads(1);
  EagerReference reference;
  GrowingPrepared ahead(Lane::kReplay);
  step_both(reference, ahead, 6);
  ahead.memory = device::MemoryFigures{.peak_bytes = 10 << 20, .free_bytes = 10 << 20};
  ahead.prepare({germinates("r0c1", "mlp")});
  ahead.memory.reset();  // there is room again, and the run does not come back to it
  ahead.prepare({germinates("r0c0", "mlp")});
  CHECK(ahead.scratch_models_made == 0);
  CHECK(ahead.count_events("tolaria.growth_prepared") == 0);
  CHECK(ahead.count_events("tolaria.growth_unprepared") == 1);
  CHECK(reason_of(ahead, "tolaria.growth_unprepared") == "a second network may not fit into memory: 10 MB are free");
  grow_both(reference, ahead, "r0c1", "mlp");
  step_both(reference, ahead, 4);
}

}  // namespace esper::test::structure_preparer_memory_test
