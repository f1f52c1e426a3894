#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "kasmina/change.h"
#include "kasmina/network/alpha_override.h"
#include "unit/kasmina/growing.h"

namespace esper::kasmina::network_shadow_test {
namespace {

constexpr const char* kSeed = "seed-0001";

config::GrowthConfig shadow_growth() {
  auto growth = quick_growth();
  growth.training = config::SeedTraining::kShadow;
  return growth;
}

// A seed at r0c0, taken as far as that stage.
Growing grown_to(Stage stage) {
  Growing run(shadow_growth());
  TORCH_CHECK(!Growing::rejected(run.germinate("r0c0", "mlp")));
  run.grow_to(kSeed, stage);
  run.disturb(kSeed);
  return run;
}

bool in_shadow(const Network& network) { return network.parameter_groups().at(1).in_shadow; }

TEST_CASE("a seed in the shadow has no part in the forward that trains, and is tapped with a forward of its own") {
  const auto run = grown_to(Stage::kTraining);
  const Growing alone;
  CHECK(in_shadow(run.network));
  CHECK(run.scalar("seed-0001.alpha") == 0);
  CHECK(run.scalar("seed-0001.straight_through") == 0);
  CHECK(same_bits(run.output(), alone.output()));
  CHECK(same_bits(run.network.forward(run.probe, Mode::kTrain).detach(), alone.output()));
  torch::Tensor output;
  const auto taps = run.network.tap(run.probe, Mode::kTrain, output);
  CHECK(same_bits(output.detach(), alone.output()));
  REQUIRE(taps.size() == 1);
  REQUIRE(taps.front().shadow);
  CHECK(taps.front().change.abs().max().item<float>() == 0);
  const auto weight = run.parameter("host.block0.linear.weight");
  const auto none = torch::autograd::grad({output.sum()}, {taps.front().seed_path}, {}, true, false, true).front();
  CHECK_FALSE(none.defined());
  const auto shadow = taps.front().shadow();
  CHECK_FALSE(torch::autograd::grad({shadow.sum()}, {weight}, {}, std::nullopt, false, true).front().defined());
  torch::Tensor expected;
  {
    const AlphaOverride full(run.owned->state(), kSeed, 1);
    expected = run.output();
  }
  CHECK(at::allclose(shadow.detach(), expected));
  CHECK_FALSE(at::allclose(expected, alone.output()));
}

TEST_CASE("in the shadow of several seeds each is tried by itself") {
  auto run = grown_to(Stage::kTraining);
  REQUIRE_FALSE(Growing::rejected(run.germinate("r0c1", "mlp")));
  REQUIRE_FALSE(Growing::rejected(run.issue(SeedOperation::kStartTraining, "seed-0002")));
  run.disturb("seed-0002");
  torch::Tensor output;
  const auto taps = run.network.tap(run.probe, Mode::kTrain, output);
  REQUIRE(taps.size() == 2);
  for (std::size_t seed = 0; seed < 2; ++seed) {
    const AlphaOverride full(run.network.state(), seed == 0 ? "seed-0001" : "seed-0002", 1);
    CHECK(at::allclose(taps[seed].shadow().detach(), run.output()));
  }
}

TEST_CASE("the structure changes where a shadow begins and ends, and in no other form of training") {
  for (const bool shadow : {true, false}) {
    Growing run(shadow ? shadow_growth() : quick_growth());
    REQUIRE_FALSE(Growing::rejected(run.germinate("r0c0", "mlp")));
    for (const auto operation :
         {SeedOperation::kStartTraining, SeedOperation::kStartGrafting, SeedOperation::kStabilize}) {
      for (int i = 0; i < 3; ++i) run.end_epoch();
      const auto before = run.network.structure_version();
      REQUIRE_FALSE(Growing::rejected(run.issue(operation, kSeed)));
      const bool changes = shadow && operation != SeedOperation::kStabilize;
      CHECK((run.network.structure_version() != before) == changes);
      CHECK(in_shadow(run.network) == (shadow && operation == SeedOperation::kStartTraining));
    }
  }
}

TEST_CASE("a rolled back change puts the shadow back") {
  auto run = grown_to(Stage::kTraining);
  for (int i = 0; i < 3; ++i) run.end_epoch();
  const auto version = run.network.structure_version();
  {
    auto change = run.network.open_change();
    REQUIRE_FALSE(Growing::rejected(change.apply(run.command(SeedOperation::kStartGrafting, kSeed), run.probe)));
    CHECK_FALSE(in_shadow(run.network));
    change.roll_back();
  }
  CHECK(in_shadow(run.network));
  CHECK(run.network.structure_version() != version);
}

TEST_CASE("a saved topology says how a seed trains") {
  const auto run = grown_to(Stage::kTraining);
  const Growing other(shadow_growth());
  other.owned->restore_topology(run.network.save_topology());
  CHECK(in_shadow(other.network));
  const Growing blending(shadow_growth());
  blending.owned->restore_topology(grown_to(Stage::kBlending).network.save_topology());
  CHECK_FALSE(in_shadow(blending.network));
}

}  // namespace
}  // namespace esper::kasmina::network_shadow_test
