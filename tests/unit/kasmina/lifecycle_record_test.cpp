// A network's topology is what its journal rebuilds, after every event of random lives.

#include "kasmina/lifecycle_record.h"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/error.h"
#include "history/growth/growth_history.h"
#include "kasmina/network/network_seeds.h"
#include "kasmina/slot/topology.h"
#include "unit/kasmina/growing.h"

namespace esper::kasmina::lifecycle_record_test {
namespace {

using history::GrowthHistory;
using history::RunPlace;
using leyline::Topology;

// What a run does with a network's events: one record each, and the topology moved along.
class RecordWriter {
 public:
  explicit RecordWriter(const Network& network) : network_(network), now_(topology_of(network.save_topology())) {
    history::GrowthRecord record;
    record.what = "started";
    record.snapshot = now_;
    history.take(growth_record_json(record).dump());
  }

  void issue(const std::vector<LifecycleEvent>& events, RunPlace place) {
    for (const auto& event : events) {
      auto record = record_of(event);
      record.place = place;
      const auto& told = *record.event;
      if (record.what == "stage") {
        REQUIRE(apply(now_, {told.slot, told.seed_id, told.blueprint, told.from, told.to}).empty());
        stages.insert(told.to);
      }
      if (record.what == "fold" && told.passed.value()) {
        REQUIRE(apply_fold(now_, told.slot, told.seed_id).empty());
        ++folds;
      }
      record.hash = topology_hash(now_);
      history.take(growth_record_json(record).dump());
    }
    const auto live = topology_of(network_.save_topology());
    REQUIRE(topology_hash(now_) == topology_hash(live));
    REQUIRE(history.replay(place).topology == live);
    seen[place] = live;
  }

  GrowthHistory history;
  std::map<RunPlace, Topology> seen;
  std::set<Stage> stages;
  int folds = 0;

 private:
  const Network& network_;
  Topology now_;
};

class Walk {
 public:
  explicit Walk(std::uint32_t seed) : random_(seed), run_(config(seed)), record_writer(run_.network) {}

  void step() {
    if (below(3) == 0) {
      auto facts = run_.good_facts();
      if (below(15) == 0) facts.validation_accuracy = 0;
      place_ = {run_.epoch, place_.step + 8};
      record_writer.issue(run_.network.end_epoch(facts).events, place_);
    } else {
      record_writer.issue(run_.apply(command()), place_);
    }
  }

 private:
  static config::GrowthConfig config(std::uint32_t seed) {
    auto growth = quick_growth();
    growth.max_seeds = 1 + static_cast<int>(seed % 2);
    growth.embargo_epochs = static_cast<int>(seed % 3);
    growth.gates.min_training_epochs = growth.gates.min_blending_epochs = 1;
    return growth;
  }
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  leyline::AdaptationCommand command() {
    const auto seeds = export_seed_states(run_.network.state());
    if (seeds.empty() || below(4) == 0) return run_.germination(below(2) ? "r0c0" : "r0c1", below(2) ? "mlp" : "lora");
    const auto& seed = seeds[static_cast<std::size_t>(below(static_cast<int>(seeds.size())))];
    const int next = seed.stage == Stage::kProbationary ? 7 : static_cast<int>(seed.stage);
    return run_.command(static_cast<SeedOperation>(below(4) ? next : 1 + below(9)), seed.seed_id);
  }

  std::mt19937 random_;
  Growing run_;
  RunPlace place_;

 public:
  RecordWriter record_writer;
};

}  // namespace

TEST_CASE("whatever happens, the journal rebuilds the network's topology, at every event and at every place") {
  std::set<Stage> stages;
  for (std::uint32_t seed = 1; seed <= 24; ++seed) {
    Walk walk(seed);
    for (int i = 0; i < 120; ++i) {
      CAPTURE(seed, i);
      walk.step();
    }
    const auto& record_writer = walk.record_writer;
    CHECK(record_writer.history.damaged() == 0);
    CHECK(record_writer.history.replay().gaps.empty());
    for (const auto& [place, topology] : record_writer.seen) {
      REQUIRE(record_writer.history.replay(place).topology == topology);
      REQUIRE(compare(record_writer.history, place, topology).kind == history::Agreement::Kind::kAgrees);
    }
    stages.insert(record_writer.stages.begin(), record_writer.stages.end());
  }
  // The walk is worth something only if it came everywhere.
  for (int stage = 1; stage <= 10; ++stage) CHECK(stages.contains(static_cast<Stage>(stage)));
}

TEST_CASE("a seed is left out whatever its stage; its slot is free and all else is as before") {
  for (const auto stage : {Stage::kGerminated, Stage::kTraining, Stage::kBlending, Stage::kShadowing,
                           Stage::kProbationary, Stage::kFossilized}) {
    CAPTURE(static_cast<int>(stage));
    Growing run;
    run.germinate("r0c1", "lora");
    run.germinate("r0c0", "mlp");
    run.grow_to("seed-0002", stage);
    const auto saved = run.network.save_topology();
    const auto other = run.network.parameter_groups().at(1).parameters.at(0).tensor;
    run.network.restore_topology(without_seed(saved, "seed-0002", quick_growth()));
    const auto after = topology_of(run.network.save_topology());
    const auto before = topology_of(saved);
    CHECK(after.seeds_born == before.seeds_born);
    CHECK(describe(after.slots[0]) == "DORMANT");
    CHECK(after.slots[1] == before.slots[1]);
    const auto groups = run.network.parameter_groups();
    REQUIRE(groups.size() == 2);
    CHECK(groups[1].parameters.at(0).tensor.is_same(other));
    CHECK_FALSE(Growing::rejected(run.germinate("r0c0", "mlp")));
    CHECK(run.state("seed-0003").slot == "r0c0");
  }
}

TEST_CASE("a seed that is not there cannot be left out; those that are get named") {
  Growing run;
  run.germinate("r0c1", "lora");
  try {
    without_seed(run.network.save_topology(), "seed-0007", quick_growth());
    FAIL("accepted");
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kConfig);
    CHECK(std::string(error.what()).find("there are: seed-0001") != std::string::npos);
  }
  CHECK_THROWS_AS(without_seed(nlohmann::json::object(), "seed-0001", quick_growth()), base::Error);
}

TEST_CASE("a slot whose seed is left out is as a run begins with it: closed where the run leaves it out") {
  struct Case {
    std::vector<std::string> slots;
    bool enabled;
    std::string expected;
  };
  for (const Case& c : {Case{{"r0c1"}, true, "TERMINATED"}, Case{{"r0c0"}, true, "DORMANT"}, Case{{}, true, "DORMANT"},
                        Case{{}, false, "TERMINATED"}}) {
    auto host = tiny_host();
    host.modules = {"r0c0=mlp"};
    auto growth = quick_growth();
    growth.slots = c.slots;
    growth.enabled = c.enabled;
    CAPTURE(c.slots, c.enabled);
    Network network(host, growth, tiny_sample(), 7, torch::kCPU);
    network.restore_topology(without_seed(network.save_topology(), "seed-0001", growth));
    const auto without = topology_of(network.save_topology());
    CHECK(describe(without.slots[0]) == c.expected);
    const Network fresh(tiny_host(), growth, tiny_sample(), 7, torch::kCPU);
    const auto begun = topology_of(fresh.save_topology());
    for (std::size_t i = 0; i < 2; ++i) CHECK(without.slots.at(i) == begun.slots.at(i));
    Growing commands;
    const auto events = network.apply(commands.germination("r0c0", "mlp"), commands.probe);
    CHECK(Growing::rejected(events) == (c.expected == "TERMINATED"));
  }
}

}  // namespace esper::kasmina::lifecycle_record_test
