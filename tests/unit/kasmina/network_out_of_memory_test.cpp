// Memory may run out at any allocation of a command: then it is refused, and nothing is half applied.

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "support/faults/failing_allocator.h"
#include "unit/kasmina/growing.h"

namespace esper::kasmina::network_out_of_memory_test {
namespace {

std::map<std::string, torch::Tensor> copies_of(const Network& network) {
  std::map<std::string, torch::Tensor> copies;
  for (const auto& scalar : network.scalars()) copies[scalar.id] = scalar.tensor.clone();
  for (const auto& group : network.parameter_groups()) {
    for (const auto& parameter : group.parameters) copies[parameter.id] = parameter.tensor.detach().clone();
  }
  return copies;
}

bool same_tensors(const Network& network, const std::map<std::string, torch::Tensor>& before) {
  const auto now = copies_of(network);
  return std::equal(now.begin(), now.end(), before.begin(), before.end(),
                    [](const auto& a, const auto& b) { return a.first == b.first && same_bits(a.second, b.second); });
}

// Tries the command with the first allocation failing, then the second, until it has all it needs; how many failed.
int starve(Growing& run, const leyline::AdaptationCommand& command) {
  auto& memory = test::FailingAllocator::instance();
  for (int n = 1;; ++n) {
    CAPTURE(n);
    const auto topology = run.network.save_topology();
    const auto version = run.network.structure_version();
    const auto tensors = copies_of(run.network);
    memory.fail_at(n);
    const auto events = run.apply(command);
    if (!memory.fired()) {
      CHECK_FALSE(Growing::rejected(events));
      return n - 1;
    }
    REQUIRE(Growing::rejected(events));
    REQUIRE(events.size() == 1);
    REQUIRE(events.back().code == "out_of_memory");
    REQUIRE(events.back().command_id == command.command_id);
    REQUIRE(events.back().reason.starts_with("out of memory"));
    REQUIRE(run.network.save_topology() == topology);
    REQUIRE(run.network.structure_version() == version);
    REQUIRE(same_tensors(run.network, tensors));
  }
}

TEST_CASE("whichever allocation fails, a command is refused as out_of_memory, changes nothing and can be given again") {
  for (const auto composition : {config::Composition::kAdd, config::Composition::kGate}) {
    auto growth = quick_growth();
    growth.composition = composition;
    Growing run(growth);
    run.germinate("r0c0", "lora");
    run.grow_to("seed-0001", Stage::kBlending);
    CHECK(starve(run, run.germination("r0c1", "mlp")) > 20);
    CHECK(run.state("seed-0002").stage == Stage::kGerminated);
    CHECK(owner_of(run.network, "seed-0002.up.weight") == "seed-0002");
    CHECK(starve(run, run.command(SeedOperation::kStartTraining, "seed-0002")) > 20);
    CHECK(run.state("seed-0002").stage == Stage::kTraining);
    for (int i = 0; i < 3; ++i) run.end_epoch();
    starve(run, run.command(SeedOperation::kStabilize, "seed-0001"));
    starve(run, run.command(SeedOperation::kCull, "seed-0002"));
    run.end_epoch();
    starve(run, run.command(SeedOperation::kEvaluate, "seed-0001"));
    run.end_epoch();
    starve(run, run.command(SeedOperation::kFossilize, "seed-0001"));
    CHECK(run.state("seed-0001").stage == Stage::kFossilized);
  }
}

TEST_CASE("other failures of an operation are no lack of memory and come through") {
  Growing run;
  CHECK_THROWS(run.network.apply(run.germination("r0c0", "mlp"), at::zeros({2, 3})));  // 4 features are wanted
  CHECK(run.slot_stage(0) == Stage::kDormant);
}

}  // namespace
}  // namespace esper::kasmina::network_out_of_memory_test
