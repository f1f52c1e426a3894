// Thousands of random commands and epochs, with saved topologies put back in between: what must hold after each of
// them.

#include <ATen/Parallel.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/error.h"
#include "kasmina/network/network_seeds.h"
#include "kasmina/slot/topology.h"
#include "unit/kasmina/growing.h"

namespace esper::kasmina::network_property_test {
namespace {

using nlohmann::json;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Tensors = std::map<std::string, torch::Tensor>;

// Every tensor that the network shows.
std::vector<NamedTensor> tensors_of(const Network& network) {
  auto all = network.buffers();
  for (const auto& scalar : network.scalars()) all.push_back(scalar);
  for (const auto& group : network.parameter_groups()) {
    all.insert(all.end(), group.parameters.begin(), group.parameters.end());
  }
  return all;
}

Tensors copies_of(const Network& network) {
  Tensors copies;
  for (const auto& [id, tensor] : tensors_of(network)) copies[id] = tensor.detach().clone();
  return copies;
}

void check_same_tensors(const Network& network, const Tensors& before) {
  const auto now = tensors_of(network);
  REQUIRE(now.size() == before.size());
  for (const auto& [id, tensor] : now) {
    if (!before.contains(id) || !same_bits(tensor.detach(), before.at(id))) FAIL("tensor " << id << " changed");
  }
}

class Chaos {
 public:
  explicit Chaos(std::uint32_t seed) : random_(seed) {}

  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  bool one_in(int count) { return below(count) == 0; }
  double unit() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
  }

  leyline::AdaptationCommand command(Growing& run) {
    static const std::vector<std::string> kSlots = {"r0c0", "r0c1", "r0c1", "r0c0", "r3c3", ""};
    static const std::vector<std::string> kBlueprints = {"mlp", "mlp_small", "lora", "norm", "attention", "noop", "x"};
    if (one_in(4)) return spoiled(run.germination(pick(kSlots), pick(kBlueprints)));
    std::vector<std::string> ids = {"seed-9999"};
    for (const auto& seed : export_seed_states(run.network.state())) {
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
    static const std::vector<double> kOdd = {kNaN, kInfinity, -kInfinity, -1, 1e308, -1e308, 0, 1};
    auto facts = run.good_facts();
    facts.validation_accuracy = one_in(20) ? pick(kOdd) : 0.75 + 0.05 * unit();
    if (one_in(20)) facts.host_gradient_norm = pick(kOdd);
    if (one_in(20)) facts.learning_rate = pick(kOdd);
    for (auto& seed : facts.seeds) {
      if (one_in(4)) seed.accuracy_without.reset();
      if (one_in(4)) seed.accuracy_at_full_alpha = unit();
      if (one_in(20)) seed.accuracy_without = pick(kOdd);
      if (one_in(20)) seed.accuracy_at_full_alpha = pick(kOdd);
      if (one_in(20)) seed.gradient_norm = pick(kOdd);
      if (one_in(50)) seed.seed_id = "seed-9999";
    }
    if (one_in(50)) facts.seeds.clear();
    if (one_in(100)) {
      facts.undone = "the loss exploded";
      for (const auto& id : growing_seeds(run.network.state())) {
        if (one_in(2)) facts.undone_seeds.push_back(id);
      }
    }
    return facts;
  }

  // What no topology may be; each of these has to be refused.
  json damaged(json saved) {
    for (auto& slot : saved.at("slots")) {
      if (slot.at("seed").is_null() || one_in(3)) continue;
      auto& seed = slot.at("seed");
      switch (below(7)) {
        case 0:
          seed["alpha"]["value"] = pick(std::vector<double>{1.5, -0.25, kNaN, kInfinity});
          return saved;
        case 1:
          seed["number"] = 0;
          return saved;
        case 2:
          seed["number"] = saved.at("seeds_born").get<int>() + 1;
          return saved;
        case 3:
          seed["blueprint"] = "x";
          return saved;
        case 4:
          slot["seed"] = nullptr;
          return saved;
        case 5:
          slot["stage"] = static_cast<int>(Stage::kEmbargoed);
          return saved;
        default:
          seed["alpha"].erase("mode");
          return saved;
      }
    }
    switch (below(5)) {
      case 0:
        saved["slots"][0]["stage"] = pick(std::vector<int>{-1, 0, 12, 99});
        return saved;
      case 1:
        saved["slots"].erase(0);
        return saved;
      case 2:
        saved["slots"][1]["id"] = "r9c9";
        return saved;
      case 3:
        saved.erase("command_ids");
        return saved;
      default:
        saved["format"] = 2;
        return saved;
    }
  }

 private:
  leyline::AdaptationCommand spoiled(leyline::AdaptationCommand command) {
    if (one_in(30)) command.command_id = "c1";
    if (one_in(30)) command.command_type = leyline::CommandType::kUnknown;
    if (one_in(30)) command.seed_operation.reset();
    if (one_in(30)) command.version = 2;
    if (one_in(30)) command.execution_deadline_ms = 1;
    if (one_in(30) && command.seed_operation) command.seed_operation->parameters["alpha"] = 1.5;
    return command;
  }
  std::mt19937 random_;
};

// A point to which a life may go back.
struct Saved {
  json topology;
  Tensors tensors;
  torch::Tensor output;
  std::uint32_t epoch = 0;
  std::string born;  // the last seed
  std::map<std::string, Stage> stages;
};

class Life {
 public:
  Life(std::uint32_t seed, const config::GrowthConfig& growth) : run_(growth), chaos_(seed) { save(); }

  // One command, and whatever else happens around it.
  void step() {
    if (chaos_.one_in(60)) save();
    if (chaos_.one_in(60)) go_back();
    if (chaos_.one_in(60)) refuse_damaged();
    if (chaos_.one_in(2)) end_epoch();
    obey(chaos_.command(run_));
  }
  const std::set<Stage>& seen() const { return seen_; }
  int carried_out() const { return carried_out_; }

 private:
  void save() {
    saved_.push_back(
        {run_.network.save_topology(), copies_of(run_.network), run_.output(), run_.epoch, born_, stages_});
  }

  void go_back() {
    const auto& saved = chaos_.pick(saved_);
    run_.network.restore_topology(saved.topology);
    {
      const at::NoGradGuard no_grad;
      for (const auto& [id, tensor] : tensors_of(run_.network)) torch::Tensor(tensor).copy_(saved.tensors.at(id));
    }
    REQUIRE(run_.network.save_topology() == saved.topology);
    check_same_tensors(run_.network, saved.tensors);
    REQUIRE(same_bits(run_.output(), saved.output));
    run_.epoch = saved.epoch;
    born_ = saved.born;
    stages_ = saved.stages;
    parameters_.clear();
    check();
  }

  void refuse_damaged() {
    const auto before = run_.network.save_topology();
    const auto tensors = copies_of(run_.network);
    CHECK_THROWS_AS(run_.network.restore_topology(chaos_.damaged(before)), base::Error);
    REQUIRE(run_.network.save_topology() == before);
    check_same_tensors(run_.network, tensors);
    check();
  }

  void end_epoch() {
    const auto poisoned = chaos_.one_in(40) ? poison() : std::string();
    const auto facts = chaos_.facts(run_);
    const auto growing = growing_seeds(run_.network.state());
    const auto events = run_.network.end_epoch(facts).events;
    if (!poisoned.empty()) {
      REQUIRE(std::any_of(events.begin(), events.end(), [&](const LifecycleEvent& event) {
        return event.kind == Kind::kCull && event.seed_id == poisoned;
      }));
    }
    const auto left = growing_seeds(run_.network.state());
    for (const auto& id : facts.undone_seeds) REQUIRE(std::ranges::count(left, id) == 0);
    if (poisoned.empty() && !facts.undone.empty()) {
      CHECK(left.size() + facts.undone_seeds.size() == growing.size());
    }
    check();
  }

  // Spoils a growing seed; its id, or nothing where there is none that has parameters.
  std::string poison() {
    for (const auto& group : run_.network.parameter_groups()) {
      if (group.owner == kHostOwner || group.parameters.empty()) continue;
      const at::NoGradGuard no_grad;
      const auto& tensor = chaos_.pick(group.parameters).tensor;
      tensor.view({-1})[0] = chaos_.one_in(2) ? kNaN : kInfinity;
      return group.id;
    }
    return {};
  }

  void obey(const leyline::AdaptationCommand& command) {
    const auto before = run_.network.save_topology();
    const auto version = run_.network.structure_version();
    const auto tensors = copies_of(run_.network);
    const auto output = run_.output();
    const auto events = run_.network.apply(command, run_.probe);
    REQUIRE_FALSE(events.empty());
    if (Growing::rejected(events)) {
      REQUIRE(run_.network.save_topology() == before);
      REQUIRE(run_.network.structure_version() == version);
      check_same_tensors(run_.network, tensors);
      REQUIRE_FALSE(events.back().code.empty());
      REQUIRE_FALSE(events.back().reason.empty());
    } else {
      ++carried_out_;
      REQUIRE(command.command_id == run_.network.save_topology().at("command_ids").back());
    }
    if (events.back().to == Stage::kGerminated && !Growing::rejected(events)) {
      REQUIRE(same_bits(run_.output(), output));
      REQUIRE(events.back().seed_id > born_);  // never reused
      born_ = events.back().seed_id;
    }
    check();
  }

  void check() {
    check_slots();
    check_owners();
    check_scalars();
    REQUIRE(at::isfinite(run_.output()).all().item<bool>());
  }

  void check_slots() {
    const auto slots = export_slots(run_.network.state());
    REQUIRE(slots.size() == 2);
    std::map<std::string, Stage> held;
    for (const auto& seed : export_seed_states(run_.network.state())) {
      REQUIRE(held.emplace(seed.slot, seed.stage).second);
      const auto& figures = seed.figures;
      for (const auto& figure :
           {std::optional(figures.alpha), std::optional(figures.alpha_target), figures.gradient_ratio,
            figures.improvement_points, figures.shadow_points, figures.contribution_points,
            figures.contribution_stderr_points, figures.contribution_half_width_points, figures.shapley_points,
            figures.shapley_stderr_points, figures.shapley_half_width_points}) {
        REQUIRE(std::isfinite(figure.value_or(0)));
      }
      REQUIRE(std::isfinite(seed.gradient_norm));
      REQUIRE(std::isfinite(seed.learning_rate));
    }
    for (const auto& slot : slots) {
      REQUIRE(holds_seed(slot.stage) == held.contains(slot.slot));
      if (holds_seed(slot.stage)) REQUIRE(held.at(slot.slot) == slot.stage);
      // One call of apply() or end_epoch() moves a slot by at most one legal step, or by the two that end an embargo.
      const auto from = stages_.at(slot.slot);
      const bool still = from == slot.stage;
      const bool fast = from == Stage::kCulled && slot.stage == Stage::kResetting;
      REQUIRE((still || fast || !check_move(from, slot.stage)));
      stages_[slot.slot] = slot.stage;
      seen_.insert(slot.stage);
    }
  }

  // Each parameter has one owner, its group's; one that left the network has none.
  void check_owners() {
    std::set<std::string> ids;
    for (const auto& group : run_.network.parameter_groups()) {
      const bool growing = group.id != kHostOwner && is_growing(run_.state(group.id).stage);
      REQUIRE(group.owner == (growing ? group.id : kHostOwner));
      for (const auto& parameter : group.parameters) {
        REQUIRE(ids.insert(parameter.id).second);
        REQUIRE(owner_of(run_.network, parameter.id) == group.owner);
        REQUIRE(parameter.id.starts_with(group.id + "."));
        REQUIRE(parameter.tensor.is_leaf());
        REQUIRE(parameter.tensor.requires_grad());
      }
    }
    for (const auto& id : parameters_) {
      if (!ids.contains(id)) REQUIRE_THROWS_AS(owner_of(run_.network, id), base::Error);
    }
    parameters_ = std::move(ids);
  }

  void check_scalars() {
    const auto seeds = export_seed_states(run_.network.state());
    std::set<std::string> folded;  // nothing is left of these
    for (const auto& slot : topology_of(run_.network.save_topology()).slots) {
      if (slot.folded) folded.insert(slot.seed_id);
    }
    REQUIRE(run_.network.scalars().size() == 4 * (seeds.size() - folded.size()));
    for (const auto& scalar : run_.network.scalars()) {
      const float value = scalar.tensor.item<float>();
      REQUIRE(value >= 0);
      REQUIRE(value <= 1);
    }
    for (const auto& seed : seeds) {
      if (folded.contains(seed.seed_id)) continue;
      REQUIRE(run_.scalar(seed.seed_id + ".alpha") == static_cast<float>(seed.figures.alpha));
    }
  }

  Growing run_;
  Chaos chaos_;
  std::vector<Saved> saved_;
  std::string born_;
  std::map<std::string, Stage> stages_ = {{"r0c0", Stage::kDormant}, {"r0c1", Stage::kDormant}};
  std::set<std::string> parameters_;
  std::set<Stage> seen_;
  int carried_out_ = 0;
};

config::GrowthConfig growth_of(std::uint32_t seed, config::Composition composition) {
  auto growth = quick_growth();
  growth.composition = composition;
  growth.max_seeds = 1 + static_cast<int>(seed % 2);
  growth.embargo_epochs = static_cast<int>(seed % 3);
  growth.isolate = seed % 4 != 0;
  if (seed % 3 == 0) growth.training = config::SeedTraining::kBlended;
  growth.gates.min_training_epochs = growth.gates.min_blending_epochs = 1;
  growth.gates.min_contribution_points = 8;
  if (seed % 5 == 0) growth.blueprints = {"noop", "lora", "norm"};
  return growth;
}

TEST_CASE(
    "whatever is commanded, stages stay legal, slots whole, owners unique, outputs finite, refusals without trace") {
  at::set_num_threads(1);  // a thread team costs these tiny tensors more than it gives
  constexpr int kLives = 10, kCommands = 400;
  std::set<Stage> seen;
  std::uint32_t seed = 1;
  int commands = 0, carried_out = 0;
  for (const auto composition : {config::Composition::kAdd, config::Composition::kMultiply, config::Composition::kGate,
                                 config::Composition::kConvex, config::Composition::kResidual,
                                 config::Composition::kChannel, config::Composition::kConfidence}) {
    for (int i = 0; i < kLives; ++i, ++seed) {
      Life life(seed, growth_of(seed, composition));
      for (int step = 0; step < kCommands; ++step, ++commands) {
        CAPTURE(seed, step);
        life.step();
      }
      carried_out += life.carried_out();
      seen.insert(life.seen().begin(), life.seen().end());
    }
  }
  CHECK(commands == 28'000);
  // The walk is worth something only if it came everywhere.
  CHECK(carried_out > 2'000);
  for (int stage = 1; stage <= 10; ++stage) CHECK(seen.contains(static_cast<Stage>(stage)));
}

}  // namespace
}  // namespace esper::kasmina::network_property_test
