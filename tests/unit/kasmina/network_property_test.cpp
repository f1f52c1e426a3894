// Thousands of random commands and epochs: what must hold after each of them.

#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "unit/kasmina/growing.h"

namespace esper::kasmina {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class Chaos {
 public:
  explicit Chaos(std::uint32_t seed) : random_(seed) {}

  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  double unit() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
  }

  leyline::AdaptationCommand command(Growing& run) {
    static const std::vector<std::string> kSlots = {"r0c0", "r0c1", "r0c1", "r0c0", "r3c3"};
    static const std::vector<std::string> kBlueprints = {"mlp", "mlp_small", "lora", "norm", "attention", "noop", "x"};
    if (below(4) == 0) return spoiled(run.germination(pick(kSlots), pick(kBlueprints)));
    std::vector<std::string> ids = {"seed-9999"};
    for (const auto& seed : run.network.export_seed_states()) {
      for (int i = 0; i < 6; ++i) ids.push_back(seed.seed_id);
    }
    const auto& id = pick(ids);
    // Mostly the next step, so that long lives come about.
    const auto stage = static_cast<int>(run.state(id).stage);
    const int next = stage >= 2 && stage <= 5 ? stage : 7;
    const int operation = below(3) > 0 ? next : 1 + below(9);
    return spoiled(run.command(static_cast<SeedOperation>(operation), id));
  }

  EpochFacts facts(Growing& run) {
    auto facts = run.good_facts();
    facts.validation_accuracy = below(20) == 0 ? kNaN : 0.75 + 0.05 * unit();
    if (below(20) == 0) facts.host_gradient_norm = 0;
    for (auto& seed : facts.seeds) {
      if (below(4) == 0) seed.accuracy_without.reset();
      if (below(4) == 0) seed.accuracy_at_full_alpha = unit();
      if (below(20) == 0) seed.gradient_norm = kNaN;
    }
    return facts;
  }

 private:
  leyline::AdaptationCommand spoiled(leyline::AdaptationCommand command) {
    if (below(30) == 0) command.command_id = "c1";
    if (below(30) == 0) command.command_type = leyline::CommandType::kPause;
    if (below(30) == 0) command.seed_operation.reset();
    return command;
  }
  std::mt19937 random_;
};

void check_invariants(Growing& run, std::map<std::string, Stage>& last) {
  const auto slots = run.network.export_slots();
  const auto seeds = run.network.export_seed_states();
  REQUIRE(slots.size() == 2);
  std::map<std::string, Stage> held;
  for (const auto& seed : seeds) {
    REQUIRE(held.emplace(seed.slot, seed.stage).second);
    for (const auto& [name, value] : seed.metrics) REQUIRE(std::isfinite(value));
  }
  for (const auto& slot : slots) {
    REQUIRE(holds_seed(slot.stage) == held.contains(slot.slot));
    if (holds_seed(slot.stage)) REQUIRE(held.at(slot.slot) == slot.stage);
    // One call of apply() or end_epoch() moves a slot by at most one legal step, or by the two that end an embargo.
    const auto from = last.at(slot.slot);
    const bool still = from == slot.stage;
    const bool fast = from == Stage::kCulled && slot.stage == Stage::kResetting;
    REQUIRE((still || fast || !check_move(from, slot.stage)));
    last[slot.slot] = slot.stage;
  }
  std::set<std::string> ids;
  for (const auto& group : run.network.parameter_groups()) {
    for (const auto& parameter : group.parameters) {
      REQUIRE(ids.insert(parameter.id).second);
      REQUIRE(run.network.owner_of(parameter.id) == group.owner);
      REQUIRE(parameter.tensor.is_leaf());
    }
  }
  REQUIRE(run.network.scalars().size() == 4 * seeds.size());
  for (const auto& scalar : run.network.scalars()) {
    const float value = scalar.tensor.item<float>();
    REQUIRE(value >= 0);
    REQUIRE(value <= 1);
  }
  REQUIRE(at::isfinite(run.output()).all().item<bool>());
}

void live(std::uint32_t seed, leyline::Composition composition, std::set<Stage>& seen, int steps) {
  auto growth = quick_growth();
  growth.composition = composition;
  growth.max_seeds = 1 + static_cast<int>(seed % 2);
  growth.embargo_epochs = static_cast<int>(seed % 3);
  growth.gates.min_training_epochs = growth.gates.min_blending_epochs = 1;
  growth.gates.min_contribution_points = 8;
  Growing run(growth);
  Chaos chaos(seed);
  std::map<std::string, Stage> last = {{"r0c0", Stage::kDormant}, {"r0c1", Stage::kDormant}};
  std::string born;
  for (int step = 0; step < steps; ++step) {
    CAPTURE(seed, step);
    if (chaos.below(3) == 0) {
      run.network.end_epoch(chaos.facts(run));
    } else {
      const auto command = chaos.command(run);
      const auto before = run.network.save_topology();
      const auto output = run.output();
      const auto events = run.apply(command);
      REQUIRE_FALSE(events.empty());
      if (Growing::rejected(events)) {
        REQUIRE(run.network.save_topology() == before);
        REQUIRE(same_bits(run.output(), output));
        REQUIRE_FALSE(events.back().code.empty());
      } else if (events.back().to == Stage::kGerminated) {
        REQUIRE(same_bits(run.output(), output));
        REQUIRE(events.back().seed_id > born);  // never reused
        born = events.back().seed_id;
      }
    }
    check_invariants(run, last);
    for (const auto& [slot, stage] : last) seen.insert(stage);
  }
}

TEST_CASE("whatever is commanded, stages stay legal, slots whole, owners unique and outputs finite") {
  std::set<Stage> seen;
  std::uint32_t seed = 1;
  for (const auto composition :
       {leyline::Composition::kAdd, leyline::Composition::kMultiply, leyline::Composition::kGate,
        leyline::Composition::kConvex, leyline::Composition::kResidual}) {
    for (int i = 0; i < 4; ++i) live(seed++, composition, seen, 150);
  }
  // The walk is worth something only if it came everywhere.
  for (int stage = 1; stage <= 10; ++stage) CHECK(seen.contains(static_cast<Stage>(stage)));
}

}  // namespace
}  // namespace esper::kasmina
