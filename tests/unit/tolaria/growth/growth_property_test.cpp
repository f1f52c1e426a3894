// Random commands with training steps between them: the optimizer always has exactly the network's groups, and what
// stays keeps its state.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "kasmina/network/network_seeds.h"
#include "support/faults/failing_allocator.h"
#include "support/models/growing_model.h"

namespace esper::test::growth_property_test {

using namespace esper;
using namespace esper::tests;
using leyline::SeedOperation;
using leyline::Stage;

namespace {

// The optimizer's groups are the network's: ids in order, the same tensors, and a rate of 0 only while a gate is shut.
void check_groups(const step::Model& model) {
  const auto groups = model.network.parameter_groups();
  REQUIRE(model.state.groups.size() == groups.size());
  std::set<std::string> ids;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto& kept = model.state.groups[i];
    REQUIRE(kept.id == groups[i].id);
    REQUIRE(kept.parameter_ids.size() == groups[i].parameters.size());
    for (std::size_t k = 0; k < kept.parameter_ids.size(); ++k) {
      const auto& [id, tensor] = groups[i].parameters[k];
      REQUIRE(ids.insert(id).second);
      REQUIRE(kept.parameter_ids[k] == id);
      REQUIRE(kept.parameters.views[k].is_same(tensor));
      REQUIRE(kept.first_moments.views[k].sizes() == tensor.sizes());
      REQUIRE(kept.second_moments.views[k].sizes() == tensor.sizes());
      REQUIRE(kept.averages.views[k].sizes() == tensor.sizes());
      REQUIRE(model.network.state().structure.ownership.owner_of(id) == groups[i].owner);
    }
    REQUIRE(step::in_place(kept.parameters));
  }
  for (const auto& [id, gate] : model.network.scalars()) {
    constexpr std::string_view kGate = ".training_gate";
    if (!id.ends_with(kGate)) continue;
    for (const auto& group : model.state.groups) {
      if (id.starts_with(group.id) && id.size() == group.id.size() + kGate.size())
        REQUIRE(at::equal(group.lr_scale, gate));
    }
  }
}

bool all_finite(const step::Model& model) {
  for (const auto& [id, tensor] : step::named_tensors(model.state)) {
    if (tensor.is_floating_point() && !at::isfinite(tensor).all().item<bool>()) return false;
  }
  return true;
}

class Life {
 public:
  Life(std::uint32_t seed, const LaneCase& c) : grown_(c), random_(seed) {}

  void step() {
    if (below(3) == 0) end_epoch();
    if (below(4) == 0) grown_.steps(1);
    const auto command = any_command();
    const auto before = copies_of(*grown_.model);
    const auto topology = grown_.model->network.save_topology();
    const auto done = grown_.apply(command);
    const auto after = copies_of(*grown_.model);
    if (GrowingModel::refused(done)) {
      REQUIRE(first_difference(before, after) == "");
      REQUIRE(grown_.model->network.save_topology() == topology);
      REQUIRE_FALSE(done.structure_changed);
    } else {
      ++carried_out;
      check_change(before, after, done);
    }
    check_groups(*grown_.model);
    REQUIRE(all_finite(*grown_.model));
  }
  int carried_out = 0;

 private:
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  leyline::AdaptationCommand any_command() {
    static const std::vector<std::string> kBlueprints = {"mlp", "mlp_small", "lora", "norm", "attention", "x"};
    const auto seeds = kasmina::export_seed_states(grown_.model->network.state());
    if (seeds.empty() || below(4) == 0) {
      return grown_.germination("r0c" + std::to_string(below(4)), kBlueprints[static_cast<std::size_t>(below(6))]);
    }
    const auto& seed = seeds[static_cast<std::size_t>(below(static_cast<int>(seeds.size())))];
    const int stage = static_cast<int>(seed.stage);
    const int next = stage >= 2 && stage <= 5 ? stage : 7;
    return grown_.command(static_cast<SeedOperation>(below(3) > 0 ? next : 1 + below(9)), seed.seed_id);
  }

  void end_epoch() {
    auto facts = grown_.good_facts();
    if (below(30) == 0) {
      facts.undone = "the loss exploded";
      facts.undone_seeds = kasmina::growing_seeds(grown_.model->network.state());
    }
    for (auto& seed : facts.seeds) {
      if (below(8) == 0) seed.accuracy_without = seed.accuracy_at_full_alpha = std::nan("");
    }
    grown_.end_epoch(facts);
    check_groups(*grown_.model);
  }

  // Values of parameters, moments and averages that were there before are the same bits; new moments are zero.
  void check_change(const std::map<std::string, torch::Tensor>& before,
                    const std::map<std::string, torch::Tensor>& after, const tolaria::AppliedCommand& done) {
    const bool folds = done.events.back().kind == kasmina::LifecycleEvent::Kind::kFold && done.events.back().passed;
    // A seed's optimizer starts with its training.
    const auto& last = done.events.back();
    const std::string started = last.to == leyline::Stage::kTraining ? last.seed_id : "";
    for (const auto& [id, tensor] : after) {
      const bool scalar = id.ends_with(".alpha") || id.ends_with("_gate") || id.ends_with(".straight_through") ||
                          id.starts_with("optimizer.lr_scale.") || id.starts_with("metrics.");
      // A fold writes into the host and its averages, and into the moments of the one weight that it names.
      const auto is_moment_of = [&](const std::string& parameter) {
        return id == "optimizer.exp_avg." + parameter || id == "optimizer.exp_avg_sq." + parameter;
      };
      const bool moved = std::ranges::any_of(done.change.transformed, is_moment_of) ||
                         std::ranges::any_of(done.change.reset, is_moment_of);
      const bool restarted = !started.empty() && id.starts_with("optimizer.") && id.find(started) != std::string::npos;
      const bool written = moved || restarted || (folds && (id.starts_with("host.") || id.starts_with("ema.host.")));
      if (scalar || written) continue;
      if (before.contains(id)) {
        if (!at::equal(tensor, before.at(id))) FAIL("tensor " << id << " changed");
      } else if (id.starts_with("optimizer.exp_avg")) {
        REQUIRE(tensor.count_nonzero().item<std::int64_t>() == 0);
      }
    }
    REQUIRE(done.change.transformed.size() + done.change.reset.size() == (folds ? 1 : 0));
    const std::set<std::string> created(done.change.created.begin(), done.change.created.end());
    for (const auto& id : created) REQUIRE((after.contains(id) && !before.contains(id)));
    for (const auto& id : done.change.dropped) REQUIRE((before.contains(id) && !after.contains(id)));
  }

  GrowingModel grown_;
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("whatever is commanded, the optimizer's groups are the network's, and what stays keeps its bits") {
  at::set_num_threads(1);
  int carried_out = 0;
  std::uint32_t seed = 1;
  for (const auto composition : {config::Composition::kAdd, config::Composition::kMultiply, config::Composition::kGate,
                                 config::Composition::kConvex, config::Composition::kResidual,
                                 config::Composition::kChannel, config::Composition::kConfidence}) {
    for (int i = 0; i < 2; ++i, ++seed) {
      LaneCase c = growing_case();
      c.config.growth.composition = composition;
      c.config.growth.max_seeds = 1 + static_cast<int>(seed % 3);
      Life life(seed, c);
      for (int step = 0; step < 200; ++step) {
        CAPTURE(seed, step);
        life.step();
      }
      carried_out += life.carried_out;
    }
  }
  CHECK(carried_out > 300);
}

TEST_CASE("out of memory at any allocation of a graft or a cull leaves topology, owners and optimizer as they were") {
  at::set_num_threads(1);
  auto& memory = test::FailingAllocator::instance();
  GrowingModel grown, undisturbed;
  const auto both = [&](auto act) {
    act(grown);
    act(undisturbed);
  };
  both([](GrowingModel& each) {
    each.apply(each.germination("r0c0", "mlp"));
    each.apply(each.command(SeedOperation::kStartTraining, "seed-0001"));
    each.steps(3);
  });
  // Fails with the first allocation, then with the second, until nothing fails any more.
  const auto starve = [&](const leyline::AdaptationCommand& command) {
    for (int n = 1;; ++n) {
      CAPTURE(n);
      const auto topology = grown.model->network.save_topology();
      const auto before = copies_of(*grown.model);
      memory.fail_at(n);
      const auto done = tolaria::apply_command(*grown.model, command, grown.probe, 1);
      if (!memory.fired()) {
        REQUIRE_FALSE(GrowingModel::refused(done));
        return n - 1;
      }
      REQUIRE(GrowingModel::refused(done));
      REQUIRE(done.events.back().code == "out_of_memory");
      REQUIRE_FALSE(done.structure_changed);
      REQUIRE(grown.model->network.save_topology() == topology);
      REQUIRE(first_difference(before, copies_of(*grown.model)) == "");
      check_groups(*grown.model);
    }
  };
  const auto graft = grown.germination("r0c1", "lora");
  CHECK(starve(graft) > 40);  // the network's and the optimizer's
  REQUIRE_FALSE(GrowingModel::refused(undisturbed.apply(graft)));
  step::follow_training_gates(*grown.model);
  both([](GrowingModel& each) { each.steps(3); });
  CHECK(first_difference(copies_of(*grown.model), copies_of(*undisturbed.model)) == "");

  const auto cull = grown.command(SeedOperation::kCull, "seed-0001");
  CHECK(starve(cull) > 5);  // the optimizer's
  REQUIRE_FALSE(GrowingModel::refused(undisturbed.apply(cull)));
  both([](GrowingModel& each) { each.steps(3); });
  CHECK(first_difference(copies_of(*grown.model), copies_of(*undisturbed.model)) == "");
}

}  // namespace esper::test::growth_property_test
