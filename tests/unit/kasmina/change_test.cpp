// A change of the network stays when it is committed, and leaves no trace when it is not.

#include "kasmina/change.h"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "unit/kasmina/growing.h"

namespace esper::kasmina::change_test {
namespace {

constexpr const char* kSeed = "seed-0001";

// All that a change may alter, and what it must leave alone.
struct Picture {
  nlohmann::json topology;
  std::map<std::string, torch::Tensor> tensors, values;  // by reference, and copied
  torch::Tensor output;

  explicit Picture(const Growing& run) : topology(run.network.save_topology()), output(run.output()) {
    for (const auto& scalar : run.network.scalars()) add(scalar);
    for (const auto& group : run.network.parameter_groups()) {
      for (const auto& parameter : group.parameters) add(parameter);
    }
  }
  bool operator==(const Picture& other) const {
    const auto same_tensor = [](const auto& a, const auto& b) {
      return a.first == b.first && a.second.is_same(b.second);
    };
    const auto same_value = [](const auto& a, const auto& b) {
      return a.first == b.first && same_bits(a.second, b.second);
    };
    return topology == other.topology && same_bits(output, other.output) &&
           std::ranges::equal(tensors, other.tensors, same_tensor) &&
           std::ranges::equal(values, other.values, same_value);
  }

 private:
  void add(const NamedTensor& named) {
    tensors[named.id] = named.tensor;
    values[named.id] = named.tensor.detach().clone();
  }
};

// A network with a seed that is heard.
Growing blending() {
  Growing run;
  run.germinate("r0c0", "mlp");
  run.grow_to(kSeed, Stage::kBlending);
  run.disturb(kSeed);
  return run;
}

std::vector<leyline::AdaptationCommand> commands_for(Growing& run) {
  return {run.germination("r0c1", "lora"), run.command(SeedOperation::kCull, kSeed),
          run.command(SeedOperation::kCancel, kSeed)};
}

TEST_CASE("a change that is neither committed nor rolled back leaves no trace; its commands can be given again") {
  auto run = blending();
  const Picture before(run);
  for (const auto& command : commands_for(run)) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      auto change = run.network.open_change();
      REQUIRE_FALSE(Growing::rejected(change.apply(command, run.probe)));
      CHECK_FALSE(Picture(run) == before);
    }
    CHECK(Picture(run) == before);
    CHECK(owner_of(run.network, "seed-0001.up.weight") == kSeed);
  }
}

TEST_CASE("several commands are one change, undone together") {
  auto run = blending();
  const Picture before(run);
  auto change = run.network.open_change();
  for (const auto& command : commands_for(run)) {
    if (command.seed_operation->operation == SeedOperation::kCancel) continue;
    REQUIRE_FALSE(Growing::rejected(change.apply(command, run.probe)));
  }
  change.roll_back();
  CHECK(Picture(run) == before);
  CHECK_FALSE(Growing::rejected(run.germinate("r0c1", "lora")));
}

TEST_CASE("what was committed stays") {
  auto run = blending();
  {
    auto change = run.network.open_change();
    REQUIRE_FALSE(Growing::rejected(change.apply(run.germination("r0c1", "lora"), run.probe)));
    change.commit();
  }
  CHECK(run.slot_stage(1) == Stage::kGerminated);
  CHECK(owner_of(run.network, "seed-0002.up.weight") == "seed-0002");
}

TEST_CASE("the structure's version follows a change of structure and its way back, and nothing else") {
  auto run = blending();
  const auto version = run.network.structure_version();
  {
    auto change = run.network.open_change();
    change.apply(run.command(SeedOperation::kCancel, kSeed), run.probe);
  }
  CHECK(run.network.structure_version() == version);
  std::uint64_t changed = 0;
  {
    auto change = run.network.open_change();
    change.apply(run.command(SeedOperation::kCull, kSeed), run.probe);
    changed = run.network.structure_version();
  }
  CHECK(changed > version);
  CHECK(run.network.structure_version() > changed);
}

TEST_CASE("a command that is refused, or fails, leaves no change open") {
  Growing run;
  CHECK(Growing::rejected(run.germinate("r9c9", "mlp")));
  CHECK_THROWS(run.network.apply(run.germination("r0c0", "mlp"), at::zeros({2, 3})));  // 4 features are wanted
  CHECK_FALSE(Growing::rejected(run.germinate("r0c0", "mlp")));
}

TEST_CASE("while a change is open nothing else alters the network") {
  auto run = blending();
  const auto topology = run.network.save_topology();
  {
    auto change = run.network.open_change();
    CHECK_THROWS_AS(run.network.open_change(), base::Error);
    CHECK_THROWS_AS(run.germinate("r0c1", "lora"), base::Error);
    CHECK_THROWS_AS(run.network.end_epoch(run.good_facts()), base::Error);
    CHECK_THROWS_AS(run.network.restore_topology(topology), base::Error);
    change.commit();
    CHECK_THROWS_AS(change.commit(), base::Error);
    CHECK_THROWS_AS(change.roll_back(), base::Error);
    CHECK_THROWS_AS(change.apply(run.germination("r0c1", "lora"), run.probe), base::Error);
  }
  CHECK(run.network.save_topology() == topology);
  CHECK_FALSE(Growing::rejected(run.germinate("r0c1", "lora")));
}

}  // namespace
}  // namespace esper::kasmina::change_test
