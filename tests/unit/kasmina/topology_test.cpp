#include "kasmina/slot/topology.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "unit/kasmina/growing.h"

namespace esper::kasmina::topology_test {
namespace {

using nlohmann::json;

void copy_by_id(const Network& from, Network& to) {
  const at::NoGradGuard no_grad;
  const auto source = from.parameter_groups(), target = to.parameter_groups();
  REQUIRE(source.size() == target.size());
  for (std::size_t g = 0; g < source.size(); ++g) {
    REQUIRE(source[g].id == target[g].id);
    REQUIRE(source[g].owner == target[g].owner);
    for (std::size_t i = 0; i < source[g].parameters.size(); ++i) {
      REQUIRE(source[g].parameters[i].id == target[g].parameters[i].id);
      REQUIRE(owner_of(to, target[g].parameters[i].id) == source[g].owner);
      target[g].parameters[i].tensor.copy_(source[g].parameters[i].tensor);
    }
  }
}

// A run with a seed in the given stage, and another slot that rests.
void grow(Growing& run, Stage stage) {
  run.germinate("r0c1", "lora");
  run.germinate("r0c0", "mlp");
  run.grow_to("seed-0002", stage);
  run.issue(SeedOperation::kCull, "seed-0001");
  run.end_epoch();
  run.disturb("seed-0002");
}

TEST_CASE("a topology that went through text makes an equal network, in every stage") {
  for (const auto stage : {Stage::kGerminated, Stage::kTraining, Stage::kBlending, Stage::kShadowing,
                           Stage::kProbationary, Stage::kFossilized}) {
    CAPTURE(static_cast<int>(stage));
    Growing run;
    grow(run, stage);
    const auto text = run.network.save_topology().dump();
    Growing other;
    other.network.restore_topology(json::parse(text));
    CHECK(other.network.save_topology().dump() == text);
    copy_by_id(run.network, other.network);
    CHECK(same_bits(run.output(), other.output()));
    const auto left = run.network.scalars(), right = other.network.scalars();
    REQUIRE(left.size() == right.size());
    for (std::size_t i = 0; i < left.size(); ++i) CHECK(at::equal(left[i].tensor, right[i].tensor));
    // and it goes on alike
    other.epoch = run.epoch;
    other.commands = run.commands;
    for (int i = 0; i < 6; ++i) {
      run.end_epoch();
      other.end_epoch();
      REQUIRE(run.network.save_topology() == other.network.save_topology());
    }
    CHECK(same_bits(run.output(), other.output()));
    auto replayed = run.germination("r0c1", "mlp");
    replayed.command_id = "c2";
    CHECK(other.apply(replayed).back().code == "duplicate_command");
  }
}

TEST_CASE("going back keeps the tensors of seeds that stay and changes the structure's version") {
  Growing run;
  run.germinate("r0c0", "mlp");
  const auto saved = run.network.save_topology();
  const auto tensor = run.network.parameter_groups().at(1).parameters.at(0).tensor;
  run.germinate("r0c1", "lora");
  const auto version = run.network.structure_version();
  run.network.restore_topology(saved);
  CHECK(run.network.structure_version() > version);
  const auto groups = run.network.parameter_groups();
  REQUIRE(groups.size() == 2);
  CHECK(groups[1].parameters[0].tensor.is_same(tensor));
  CHECK(run.network.save_topology() == saved);
}

TEST_CASE("a topology that does not fit is refused as a whole") {
  Growing run;
  grow(run, Stage::kBlending);
  const auto good = run.network.save_topology();
  const auto refuses = [&](const json& bad) {
    Growing other;
    other.germinate("r0c1", "norm");
    const auto before = other.network.save_topology();
    try {
      other.network.restore_topology(bad);
      FAIL("accepted " << bad.dump());
    } catch (const base::Error& error) {
      CHECK(error.code() == base::ExitCode::kCheckpoint);
    }
    CHECK(other.network.save_topology() == before);
  };
  refuses(json::object());
  refuses(json::array());
  const std::vector<std::pair<const char*, json>> changes = {{"/format", 2},
                                                             {"/slots", json::array()},
                                                             {"/slots/0/id", "r1c0"},
                                                             {"/slots/0/stage", 12},
                                                             {"/slots/0/stage", 8},
                                                             {"/slots/0/stage", 1e300},
                                                             {"/slots/0/stage_epochs", "x"},
                                                             {"/slots/0/seed", nullptr},
                                                             {"/slots/0/seed/blueprint", "conv_heavy"},
                                                             {"/slots/0/seed/number", 0},
                                                             {"/slots/0/seed/number", 77},
                                                             {"/slots/0/seed/composition", "gate"},
                                                             {"/slots/0/seed/alpha/mode", "SIDEWAYS"},
                                                             {"/slots/0/seed/alpha/value", 1.5},
                                                             {"/slots/0/seed/alpha/ticks", 99},
                                                             {"/seeds_born", nullptr},
                                                             {"/seeds_born", 1e300},
                                                             {"/command_ids", 5}};
  for (const auto& [path, value] : changes) {
    CAPTURE(path);
    auto bad = good;
    bad[json::json_pointer(path)] = value;
    refuses(bad);
  }
}

TEST_CASE("a stage that is no whole number is reported with its field") {
  const json slot = {{"id", "r0c0"}, {"stage", 1.5}, {"seed", nullptr}};
  const json saved = {{"seeds_born", 0}, {"slots", json::array({slot})}};
  CHECK_THROWS_WITH(topology_of(saved), Catch::Matchers::ContainsSubstring("stage: 1.5 is not a whole number"));
}

}  // namespace
}  // namespace esper::kasmina::topology_test
