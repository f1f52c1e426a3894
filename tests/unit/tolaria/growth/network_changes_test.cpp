#include "tolaria/growth/network_changes.h"

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <memory>

#include "kasmina/network/network_seeds.h"
#include "support/run_fixture.h"

namespace esper::test::network_changes_test {

using tolaria::EpochEnd;

namespace {

using leyline::AdaptationCommand;
using leyline::SeedOperation;
using leyline::SlotState;
using Texts = std::vector<std::string>;

config::RunConfig with_evidence(config::Evidence evidence, double budget = 1) {
  auto config = small_config();
  config.growth.gates.evidence = evidence;
  config.growth.control.epochs = 2;
  config.growth.control.budget = budget;
  return config;
}

AdaptationCommand start_at(const std::string& id, const SlotState& slot) {
  auto command = leyline::seed_command(id, SeedOperation::kStartTraining, "");
  command.seed_operation->slot = slot.slot;
  return command;
}

AdaptationCommand germinate_at(const std::string& id, const SlotState& slot) {
  return leyline::germination(id, slot.slot, slot.blueprints.front());
}

// A run between two epochs.
struct Between {
  explicit Between(const config::RunConfig& config = with_evidence(config::Evidence::kAblation)) : it(config) {
    REQUIRE(slots.size() == 2);
  }

  EpochEnd apply(std::vector<AdaptationCommand> commands) {
    const auto end = changes.apply(it.progress, {std::move(commands), "as the test says"});
    log.publish();
    return end;
  }
  Texts reported(const std::string& event, const std::string& attribute) const {
    Texts values;
    for (const auto& one : it.events(event)) values.push_back(one.attributes.at(attribute));
    return values;
  }
  Texts events() const {
    Texts names;
    for (const auto& event : it.outbox.waiting()) names.emplace_back(event.description);
    return names;
  }

  SmallRun it;
  tolaria::LifecycleLog log{*it.model, it.progress, it.outbox, it.saver};
  tolaria::NetworkChanges changes{it.evaluation, it.policy, log, it.saver, it.run.data.probe};
  std::vector<SlotState> slots = kasmina::export_slots(it.model->network.state());
};

}  // namespace

TEST_CASE("commands are carried out in order; the start of a seed goes with its rejected germination, no other does") {
  Between run;
  CHECK(run.apply({leyline::germination("a", run.slots[0].slot, "no_such_blueprint"), start_at("b", run.slots[0]),
                   germinate_at("c", run.slots[1]), start_at("d", run.slots[1])}) == EpochEnd::kComplete);
  CHECK(run.reported("command_rejected", "command_id") == Texts{"a"});
  CHECK(run.reported("seed_grafted", "slot") == Texts{run.slots[1].slot});
  CHECK(run.reported("seed_stage", "to") == Texts{"GERMINATED", "TRAINING"});
  CHECK(run.changes.optimizer_rebuilds() == 1);
  const auto names = run.events();
  REQUIRE_FALSE(names.empty());
  CHECK(names.front() == "command_rejected");
}

TEST_CASE("a start of a seed at a slot where nothing was to germinate is rejected by itself") {
  Between run;
  run.apply({start_at("a", run.slots[0]), leyline::germination("b", run.slots[1].slot, "no_such_blueprint")});
  CHECK(run.reported("command_rejected", "command_id") == Texts{"a", "b"});
  CHECK(run.changes.optimizer_rebuilds() == 0);
}

TEST_CASE(
    "of two germinations at one slot the first that can be carried out is, and the start of a seed there is its") {
  Between run;
  SECTION("the second is rejected") {
    run.apply({germinate_at("a", run.slots[0]), germinate_at("b", run.slots[0]), start_at("c", run.slots[0])});
    CHECK(run.reported("command_rejected", "code") == Texts{"slot_occupied"});
  }
  SECTION("the first is rejected") {
    run.apply({leyline::germination("b", run.slots[0].slot, "no_such_blueprint"), germinate_at("a", run.slots[0]),
               start_at("c", run.slots[0])});
    CHECK(run.reported("command_rejected", "code") == Texts{"unknown_blueprint"});
  }
  CHECK(run.reported("command_rejected", "command_id") == Texts{"b"});
  CHECK(run.reported("seed_grafted", "slot") == Texts{run.slots[0].slot});
  CHECK(run.reported("seed_stage", "to") == Texts{"GERMINATED", "TRAINING"});
  CHECK(run.it.model->network.state().structure.seeds_born == 1);
}

TEST_CASE("the policy's service observes no command that was not carried out, whoever dropped it") {
  auto config = with_evidence(config::Evidence::kAblation);
  config.growth.max_seeds = 1;
  Between run(config);
  const std::vector<AdaptationCommand> commands = {germinate_at("a", run.slots[0]), germinate_at("b", run.slots[1]),
                                                   start_at("c", run.slots[1])};
  auto service = std::make_unique<tamiyo::PolicyService>(
      std::make_unique<tamiyo::Consultation>(
          scripted([&](const leyline::Observation&) { return leyline::Decision{commands, "as the test says"}; }),
          base::Clock(), run.it.facts.config.safety.policy_deadline),
      tamiyo::ServiceSettings(), base::Clock());
  const tamiyo::PolicyService& served = *service;
  run.it.policy = tamiyo::RunPolicy(std::move(service));
  leyline::Observation seen;
  seen.current_epoch = 1;
  seen.slots = run.slots;
  run.it.policy.begin({seen});
  const auto decision = run.it.policy.finish(1).report.evaluation.answer.decision;
  REQUIRE(decision.commands.size() == 3);
  REQUIRE(served.reports().pending().size() == 3);

  run.apply(decision.commands);
  REQUIRE(served.reports().pending().size() == 1);
  CHECK(served.reports().pending().front().report.command_id == "a");
  CHECK(run.reported("command_rejected", "code") == Texts{"too_many_seeds"});
}

TEST_CASE("a seed's control is trained before its graft, and kept under its name") {
  Between run(with_evidence(config::Evidence::kControl));
  run.apply({germinate_at("a", run.slots[0]), germinate_at("b", run.slots[1])});
  const auto& control = run.it.progress.control;
  REQUIRE(control.seeds.size() == 1);
  REQUIRE(control.seeds.contains("seed-0001"));
  CHECK(control.seeds.at("seed-0001").epochs() == 2);
  CHECK(control.seeds.at("seed-0001").others.empty());
  CHECK(control.steps == 2 * run.it.facts.steps_per_epoch());
  CHECK(run.reported("tolaria.control_measured", "seed_id") == Texts{"seed-0001"});
  CHECK(run.reported("tolaria.control_measured", "epochs") == Texts{"2"});
  CHECK(run.reported("tolaria.control_measured", "steps") == Texts{std::to_string(control.steps)});
  CHECK(run.events() ==
        Texts{"gate_event", "seed_grafted", "seed_stage", "tolaria.control_measured", "command_rejected"});
  CHECK(run.reported("command_rejected", "code") == Texts{"one_at_a_time"});  // the second, after the first
}

TEST_CASE("without room for a control no seed germinates, and the network is as it was") {
  Between run(with_evidence(config::Evidence::kControl, 0));
  const auto version = run.it.model->network.structure_version();
  const auto before = run.it.bits();
  CHECK(run.apply({germinate_at("a", run.slots[0]), start_at("b", run.slots[0])}) == EpochEnd::kComplete);
  CHECK(run.reported("command_rejected", "command_id") == Texts{"a"});
  CHECK(run.reported("command_rejected", "code") == Texts{"no_control_budget"});
  CHECK(run.it.model->network.structure_version() == version);
  CHECK(differing(before, run.it.bits()).empty());
  CHECK(run.it.progress.control.steps == 0);
  CHECK(run.it.progress.control.seeds.empty());
  CHECK(run.changes.optimizer_rebuilds() == 0);
}

TEST_CASE("a signal while a control trains ends the decision there: what follows is not carried out") {
  Between run(with_evidence(config::Evidence::kControl));
  const auto before = run.it.bits();
  raise(SIGTERM);
  CHECK(run.apply({leyline::germination("a", "r9c9", "norm"), germinate_at("b", run.slots[0]),
                   leyline::germination("c", "r9c9", "norm")}) == EpochEnd::kInterrupted);
  CHECK(run.reported("command_rejected", "command_id") == Texts{"a"});
  CHECK(run.it.events("seed_grafted").empty());
  CHECK(run.it.progress.control.seeds.empty());
  CHECK(differing(before, run.it.bits()).empty());
}

TEST_CASE(
    "the optimizer follows a seed that the end of an epoch takes away, and an epoch that takes none is no change") {
  Between run;
  run.apply({germinate_at("a", run.slots[0])});
  REQUIRE(run.it.model->state.groups.size() == 2);
  kasmina::EpochFacts facts;
  facts.epoch = 1;
  run.changes.end_epoch(facts);
  CHECK(run.changes.optimizer_rebuilds() == 1);
  CHECK(run.it.model->state.groups.size() == 2);

  facts.epoch = 2;
  facts.undone = "the loss exploded";
  facts.undone_seeds = {"seed-0001"};
  run.changes.end_epoch(facts);
  run.log.publish();
  CHECK(run.changes.optimizer_rebuilds() == 2);
  CHECK(run.it.model->state.groups.size() == 1);
  CHECK(run.reported("seed_removed", "moments_dropped") == run.reported("seed_grafted", "moments_created"));
  CHECK(run.reported("seed_removed", "moments_dropped").size() == 1);
}

TEST_CASE("of seeds that one end of an epoch takes away, each is reported with its own parameters") {
  Between run;
  run.apply({germinate_at("a", run.slots[0]), germinate_at("b", run.slots[1])});
  kasmina::EpochFacts facts;
  facts.epoch = 1;
  facts.undone = "the loss exploded";
  facts.undone_seeds = {"seed-0001", "seed-0002"};
  run.changes.end_epoch(facts);
  run.log.publish();
  REQUIRE(run.reported("seed_removed", "seed_id") == Texts{"seed-0001", "seed-0002"});
  CHECK(run.reported("seed_removed", "parameters_dropped") == run.reported("seed_grafted", "parameters_created"));
  CHECK(run.reported("seed_removed", "moments_dropped") == run.reported("seed_grafted", "moments_created"));
}

}  // namespace esper::test::network_changes_test
