#include "kasmina/network.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "kasmina/command/execute.h"
#include "kasmina/network/network_seeds.h"
#include "kasmina/network/network_stacked.h"
#include "leyline/seed_command.h"
#include "unit/kasmina/growing.h"

namespace esper::kasmina::network_test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Sends a command that must be refused with this code and must change nothing.
void check_refused(Growing& run, const leyline::AdaptationCommand& command, const std::string& code,
                   std::uint64_t now_ns = 0) {
  CAPTURE(code);
  const auto before = run.network.save_topology();
  const auto version = run.network.structure_version();
  const auto output = run.output();
  const auto events = run.network.apply(command, run.probe, now_ns);
  REQUIRE_FALSE(events.empty());
  CHECK(events.back().kind == Kind::kCommandRejected);
  CHECK(events.back().code == code);
  CHECK_FALSE(events.back().reason.empty());
  CHECK(events.back().command_id == command.command_id);
  CHECK(run.network.save_topology() == before);
  CHECK(run.network.structure_version() == version);
  CHECK(same_bits(run.output(), output));
}

TEST_CASE("KEEP makes a fossil of a seed in any growing stage, stage by stage, without gates") {
  for (const auto stage : {Stage::kGerminated, Stage::kTraining, Stage::kBlending, Stage::kShadowing}) {
    Growing run;
    run.germinate("r0c0", "mlp");
    run.grow_to("seed-0001", stage);
    REQUIRE(run.state("seed-0001").stage == stage);
    const auto version = run.network.structure_version();
    const auto events = run.issue(SeedOperation::kKeep, "seed-0001");
    REQUIRE_FALSE(Growing::rejected(events));
    auto from = stage;
    for (const auto& event : events) {
      CHECK(event.kind == Kind::kStage);
      CHECK(event.from == from);
      CHECK_FALSE(check_move(from, event.to));
      from = event.to;
    }
    CHECK(from == Stage::kFossilized);
    CHECK(run.scalar("seed-0001.alpha") == 1);
    CHECK(owner_of(run.network, run.network.parameter_groups().at(1).parameters.at(0).id) == kHostOwner);
    CHECK(run.network.structure_version() > version);
    check_refused(run, run.command(SeedOperation::kKeep, "seed-0001"), "illegal_move");
  }
}

TEST_CASE("KEEP may leave a seed at the alpha that it has") {
  Growing run;
  run.germinate("r0c0", "mlp");
  run.grow_to("seed-0001", Stage::kBlending);
  const double alpha = run.state("seed-0001").figures.alpha;
  REQUIRE(alpha > 0);
  REQUIRE(alpha < 1);
  const auto output = run.output();
  auto keep = run.command(SeedOperation::kKeep, "seed-0001");
  for (const double wrong : {0.0, -0.5, 1.5, std::nan("")}) {
    keep.seed_operation->parameters[leyline::kKeptAlpha] = wrong;
    check_refused(run, keep, "invalid_parameter");
  }
  keep.seed_operation->parameters[leyline::kKeptAlpha] = alpha;
  REQUIRE_FALSE(Growing::rejected(run.network.apply(keep, run.probe)));
  CHECK(run.state("seed-0001").stage == Stage::kFossilized);
  CHECK(run.state("seed-0001").figures.alpha == alpha);
  CHECK(same_bits(run.output(), output));
}

TEST_CASE("a seed reports its own learning rate where it has one") {
  Growing run;
  run.germinate("r0c0", "mlp");
  auto facts = run.good_facts();
  run.network.end_epoch(facts);
  CHECK(run.state("seed-0001").learning_rate == 0.1F);
  facts = run.good_facts();
  facts.seeds.at(0).learning_rate = 0.025;
  run.network.end_epoch(facts);
  CHECK(run.state("seed-0001").learning_rate == 0.025F);
}

TEST_CASE("a graft changes no bit of the output, no other tensor, and is reported with its measurements") {
  Growing run;
  const auto before = run.output();
  const auto host = run.network.parameter_groups().at(0).parameters;
  const auto version = run.network.structure_version();
  const auto events = run.germinate("r0c0", "mlp");
  REQUIRE(events.size() == 3);
  CHECK(events[0].kind == Kind::kGate);
  CHECK(events[0].code == "G0");
  CHECK(events[0].passed);
  CHECK(events[1].kind == Kind::kGraft);
  CHECK(events[2].kind == Kind::kStage);
  CHECK(events[2].from == Stage::kDormant);
  CHECK(events[2].to == Stage::kGerminated);
  for (const auto& event : events) CHECK(event.seed_id == "seed-0001");
  CHECK(same_bits(run.output(), before));
  CHECK(run.network.structure_version() > version);
  const auto groups = run.network.parameter_groups();
  REQUIRE(groups.size() == 2);
  CHECK(groups[1].id == "seed-0001");
  for (std::size_t i = 0; i < host.size(); ++i) CHECK(groups[0].parameters[i].tensor.is_same(host[i].tensor));
  CHECK(owner_of(run.network, groups[1].parameters[0].id) == "seed-0001");
  CHECK(owner_of(run.network, host[0].id) == "host");
}

TEST_CASE("every composition grafts without a change") {
  for (const auto composition : {config::Composition::kAdd, config::Composition::kMultiply, config::Composition::kGate,
                                 config::Composition::kConvex, config::Composition::kResidual,
                                 config::Composition::kChannel, config::Composition::kConfidence}) {
    auto growth = quick_growth();
    growth.composition = composition;
    Growing run(growth);
    const auto before = run.output();
    for (const char* blueprint : {"mlp", "mlp_small", "lora", "norm", "attention"}) {
      CAPTURE(blueprint);
      Growing fresh(growth);
      CHECK_FALSE(Growing::rejected(fresh.germinate("r0c1", blueprint)));
      CHECK(same_bits(fresh.output(), before));
    }
  }
}

TEST_CASE("culling restores the host's function bit for bit and sends the slot through its rest") {
  Growing run;
  const auto before = run.output();
  run.germinate("r0c0", "mlp");
  run.grow_to("seed-0001", Stage::kBlending);
  run.disturb("seed-0001");
  REQUIRE_FALSE(same_bits(run.output(), before));
  REQUIRE(owner_of(run.network, "seed-0001.up.weight") == "seed-0001");
  auto cull = run.command(SeedOperation::kCull, "seed-0001");
  cull.annotations["reason"] = "it harms";
  const auto events = run.apply(cull);
  REQUIRE(events.size() == 2);
  CHECK(events[1].kind == Kind::kCull);
  CHECK(events[1].reason == "it harms");
  CHECK(same_bits(run.output(), before));
  CHECK(run.network.parameter_groups().size() == 1);
  CHECK(run.network.scalars().empty());
  CHECK_THROWS_AS(owner_of(run.network, "seed-0001.up.weight"), base::Error);
  std::vector<Stage> stages = {run.slot_stage(0)};
  for (int i = 0; i < 4; ++i) {
    run.end_epoch();
    stages.push_back(run.slot_stage(0));
  }
  const std::vector expected = {Stage::kCulled, Stage::kEmbargoed, Stage::kResetting, Stage::kDormant, Stage::kDormant};
  CHECK((stages == expected));
  run.germinate("r0c0", "lora");
  CHECK(export_seed_states(run.network.state()).at(0).seed_id == "seed-0002");
}

TEST_CASE("an embargo of zero epochs passes in one, a long one holds") {
  for (const auto& [embargo, epochs] : {std::pair{0, 2}, std::pair{1, 2}, std::pair{5, 6}}) {
    auto growth = quick_growth();
    growth.embargo_epochs = embargo;
    Growing run(growth);
    run.germinate("r0c0", "mlp");
    run.issue(SeedOperation::kCull, "seed-0001");
    int waited = 0;
    while (waited < 100 && run.slot_stage(0) != Stage::kDormant) {
      run.end_epoch();
      ++waited;
    }
    CHECK(waited == epochs);
  }
}

TEST_CASE("a seed reaches the host only through real epochs in every stage") {
  Growing run;
  run.germinate("r0c0", "mlp");
  REQUIRE_FALSE(Growing::rejected(run.issue(SeedOperation::kStartTraining, "seed-0001")));
  const std::vector<std::pair<SeedOperation, int>> steps = {{SeedOperation::kStartGrafting, 2},
                                                            {SeedOperation::kStabilize, 2},
                                                            {SeedOperation::kEvaluate, 1},
                                                            {SeedOperation::kFossilize, 1}};
  for (const auto& [operation, epochs] : steps) {
    for (int i = 0; i < epochs; ++i) {
      check_refused(run, run.command(operation, "seed-0001"), "gate_failed");
      run.end_epoch();
    }
    const auto events = run.issue(operation, "seed-0001");
    REQUIRE_FALSE(Growing::rejected(events));
    CHECK(events[0].kind == Kind::kGate);
    CHECK_FALSE(events[0].values.empty());
  }
  CHECK(run.state("seed-0001").stage == Stage::kFossilized);
  const auto groups = run.network.parameter_groups();
  CHECK(groups.at(1).id == "seed-0001");
  CHECK(groups.at(1).owner == "host");
  CHECK(owner_of(run.network, groups.at(1).parameters[0].id) == "host");
}

TEST_CASE("a gate that saw no measurement does not pass") {
  Growing run;
  run.germinate("r0c0", "mlp");
  run.grow_to("seed-0001", Stage::kProbationary);
  auto facts = run.good_facts();
  facts.seeds[0].accuracy_without.reset();
  run.network.end_epoch(facts);
  const auto events = run.issue(SeedOperation::kFossilize, "seed-0001");
  REQUIRE(Growing::rejected(events));
  CHECK(events[0].kind == Kind::kGate);
  CHECK_FALSE(events[0].passed);
  CHECK(events[0].reason.find("failed (not measured)") != std::string::npos);
  CHECK_FALSE(run.state("seed-0001").figures.contribution_points);
  facts = run.good_facts();
  facts.validation_accuracy = kNaN;
  run.network.end_epoch(facts);
  CHECK(Growing::rejected(run.issue(SeedOperation::kFossilize, "seed-0001")));
  run.end_epoch();
  CHECK_FALSE(Growing::rejected(run.issue(SeedOperation::kFossilize, "seed-0001")));
}

TEST_CASE("invalid commands are rejected by name and change nothing") {
  Growing run;
  run.germinate("r0c0", "mlp");
  const auto germination = [&] { return run.germination("r0c1", "mlp"); };
  auto bad = germination();
  bad.version = 2;
  check_refused(run, bad, "unsupported_version");
  bad = germination();
  bad.command_id.clear();
  check_refused(run, bad, "missing_command_id");
  bad = germination();
  bad.command_id = "c1";
  check_refused(run, bad, "duplicate_command");
  bad = germination();
  bad.command_type = leyline::CommandType::kUnknown;
  check_refused(run, bad, "unsupported_command_type");
  bad = germination();
  bad.seed_operation.reset();
  check_refused(run, bad, "missing_operation");
  bad = germination();
  bad.seed_operation->parameters["width"] = 2;
  check_refused(run, bad, "unsupported_parameter");
  bad = germination();
  bad.target_seed_id = "seed-0002";
  check_refused(run, bad, "unexpected_target");
  check_refused(run, run.germination("r9c9", "mlp"), "unknown_slot");
  check_refused(run, run.germination("r0c0", "mlp"), "slot_occupied");
  check_refused(run, run.germination("r0c1", "conv_heavy"), "unknown_blueprint");
  check_refused(run, run.germination("r0c1", "noop"), "blueprint_not_allowed");
  check_refused(run, run.command(SeedOperation::kFineTune, "seed-0001"), "unsupported_operation");
  check_refused(run, run.command(SeedOperation::kCull, "seed-0009"), "unknown_seed");
  check_refused(run, run.command(SeedOperation::kFossilize, "seed-0001"), "illegal_move");
  bad = run.command(SeedOperation::kCull, "seed-0001");
  bad.seed_operation->slot = "r0c1";
  check_refused(run, bad, "wrong_slot");
  bad = run.command(SeedOperation::kCull, "seed-0001");
  bad.seed_operation->blueprint_id = "lora";
  check_refused(run, bad, "wrong_blueprint");
  run.issue(SeedOperation::kCull, "seed-0001");
  check_refused(run, run.germination("r0c0", "mlp"), "slot_resting");
}

TEST_CASE("a late command is refused, and so is one whose lateness cannot be judged") {
  Growing run;
  auto command = run.germination("r0c0", "mlp");
  command.execution_deadline_ms = 10;
  command.issued_at_ns = 1'000'000;
  check_refused(run, command, "expired_command");
  check_refused(run, command, "expired_command", 11'000'001);
  CHECK_FALSE(Growing::rejected(run.network.apply(command, run.probe, 11'000'000)));
}

TEST_CASE("limits of the configuration hold") {
  auto growth = quick_growth();
  growth.max_seeds = 1;
  growth.blueprints = {"lora", "norm"};
  Growing run(growth);
  CHECK(export_slots(run.network.state()).at(0).blueprints == std::vector<std::string>{"norm", "lora"});
  check_refused(run, run.germination("r0c0", "mlp"), "blueprint_not_allowed");
  run.germinate("r0c0", "lora");
  check_refused(run, run.germination("r0c1", "lora"), "too_many_seeds");
  run.grow_to("seed-0001", Stage::kFossilized);
  CHECK_FALSE(Growing::rejected(run.germinate("r0c1", "lora")));  // a fossil does not count

  growth.slots = {"r0c1"};
  Growing narrow(growth);
  CHECK(narrow.slot_stage(0) == Stage::kTerminated);
  CHECK(export_slots(narrow.network.state()).at(0).blueprints.empty());
  check_refused(narrow, narrow.germination("r0c0", "lora"), "slot_not_allowed");

  growth.enabled = false;
  Growing still(growth);
  check_refused(still, still.germination("r0c1", "lora"), "growth_disabled");
}

TEST_CASE("a list of blueprints of which none fits ends the run before it starts") {
  const auto refused = [](const config::GrowthConfig& growth) {
    try {
      Growing run(growth);
    } catch (const base::Error& error) {
      CHECK(error.code() == base::ExitCode::kConfig);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  auto growth = quick_growth();
  growth.blueprints = {"conv_heavy"};
  CHECK(refused(growth).find("none of conv_heavy fits a slot of this host") != std::string::npos);
  growth.slots = {"r0c1"};
  CHECK(refused(growth).find("none of conv_heavy fits a slot that growth.slots names") != std::string::npos);
  growth.blueprints = {"conv_heavy", "mlp"};
  CHECK(refused(growth) == "accepted");
}

TEST_CASE("a graft that cannot be measured, or breaks the output, is refused") {
  Growing run;
  auto events = run.network.apply(run.germination("r0c0", "mlp"), torch::Tensor());
  REQUIRE(Growing::rejected(events));
  CHECK(events[0].code == "G0");
  CHECK(events[0].reason.find("not measured") != std::string::npos);
  const auto sick = at::full({2, 4}, kNaN);
  CHECK(Growing::rejected(run.network.apply(run.germination("r0c0", "mlp"), sick)));
  CHECK(run.slot_stage(0) == Stage::kDormant);
  run.germinate("r0c0", "mlp");
  CHECK(export_seed_states(run.network.state()).at(0).seed_id == "seed-0001");  // refusals use up no name
}

TEST_CASE("a seed starts to train in a network with one output, and stays where no gradient reaches it there either") {
  Growing run;
  leyline::SampleShape one_target = tiny_sample();
  one_target.num_classes = 1;
  run.owned = std::make_unique<Network>(tiny_host(), run.growth, one_target, 7, torch::kCPU);
  Network& network = *run.owned;
  const auto apply = [&](const leyline::AdaptationCommand& command) { return network.apply(command, run.probe); };
  REQUIRE_FALSE(Growing::rejected(apply(run.germination("r0c0", "mlp"))));
  CHECK_FALSE(Growing::rejected(apply(run.command(SeedOperation::kStartTraining, "seed-0001"))));
  REQUIRE_FALSE(Growing::rejected(apply(run.germination("r0c1", "mlp"))));
  {
    const at::NoGradGuard no_grad;
    for (const auto& group : network.parameter_groups()) {
      for (const auto& named : group.parameters) {
        if (named.id == "host.head.weight") named.tensor.zero_();
      }
    }
  }
  CHECK(apply(run.command(SeedOperation::kStartTraining, "seed-0002"))[0].code == "G1");
}

TEST_CASE("a seed that no gradient reaches stays where it is") {
  auto growth = quick_growth();
  growth.blueprints = {"noop", "mlp"};
  Growing run(growth);
  REQUIRE_FALSE(Growing::rejected(run.germinate("r0c0", "noop")));
  auto events = run.issue(SeedOperation::kStartTraining, "seed-0001");
  REQUIRE(Growing::rejected(events));
  CHECK(events[0].code == "G1");
  CHECK(events[0].reason.find("parameters >= 1 failed (measured 0)") != std::string::npos);
  run.germinate("r0c1", "mlp");
  {
    const at::NoGradGuard no_grad;
    run.parameter("host.head.weight").zero_();  // nothing comes back through the head
  }
  CHECK(Growing::rejected(run.issue(SeedOperation::kStartTraining, "seed-0002")));
  CHECK(run.scalar("seed-0002.straight_through") == 0);
}

TEST_CASE("a seed with NaN in its tensors is culled at the epoch's end, the others stay") {
  Growing run;
  run.germinate("r0c0", "mlp");
  run.germinate("r0c1", "lora");
  {
    const at::NoGradGuard no_grad;
    run.network.parameter_groups().at(1).parameters.at(0).tensor.view({-1})[0] = kNaN;
  }
  const auto events = run.end_epoch();
  REQUIRE(events.size() == 2);
  CHECK(events[1].kind == Kind::kCull);
  CHECK(events[1].seed_id == "seed-0001");
  CHECK(events[1].reason.find("NaN") != std::string::npos);
  CHECK(run.slot_stage(0) == Stage::kCulled);
  CHECK(run.slot_stage(1) == Stage::kGerminated);
}

TEST_CASE("an epoch's end tells what was measured of the seeds that grew, also of one that it removes") {
  Growing run;
  run.germinate("r0c0", "mlp");
  run.grow_to("seed-0001", Stage::kProbationary);
  run.germinate("r0c1", "lora");
  {
    const at::NoGradGuard no_grad;
    run.network.parameter_groups().at(1).parameters.at(0).tensor.view({-1})[0] = kNaN;
  }
  const auto ended = run.network.end_epoch(run.good_facts());
  CHECK(run.slot_stage(0) == Stage::kCulled);
  REQUIRE(ended.measured.size() == 2);
  CHECK(ended.measured[0].seed_id == "seed-0001");
  CHECK(ended.measured[0].stage == Stage::kProbationary);
  CHECK(ended.measured[0].stage_epochs == 1);
  CHECK(ended.measured[0].figures.contribution_points.value() == Catch::Approx(10));
  CHECK(ended.measured[1].seed_id == "seed-0002");
  CHECK(run.network.end_epoch(run.good_facts()).measured.size() == 1);
}

TEST_CASE("where an epoch's learning is undone the seeds that are suspected go, and fossils stay") {
  Growing run;
  run.germinate("r0c0", "mlp");
  run.grow_to("seed-0001", Stage::kFossilized);
  run.germinate("r0c1", "lora");
  auto facts = run.good_facts();
  facts.undone = "the loss exploded while it grew";
  facts.undone_seeds = {"seed-0002"};
  const auto events = run.network.end_epoch(facts).events;
  REQUIRE(events.size() == 2);
  CHECK(events[1].kind == Kind::kCull);
  CHECK(events[1].seed_id == "seed-0002");
  CHECK(events[1].reason == "the loss exploded while it grew");
  CHECK(run.slot_stage(0) == Stage::kFossilized);
  CHECK(run.slot_stage(1) == Stage::kCulled);
}

TEST_CASE("an epoch that was undone did not happen for the seeds that go on growing, but for their age") {
  Growing run;
  run.germinate("r0c1", "mlp");
  run.germinate("r0c0", "lora");
  run.issue(SeedOperation::kStartTraining, "seed-0001");
  run.end_epoch();
  const auto before = run.state("seed-0001");
  auto facts = run.good_facts();
  facts.undone = "the loss exploded while it grew";
  facts.undone_seeds = {"seed-0002"};
  for (auto& seed : facts.seeds) seed.gradient_norm = 77;
  run.network.end_epoch(facts);
  CHECK(run.slot_stage(0) == Stage::kCulled);
  CHECK(run.slot_stage(1) == Stage::kTraining);
  const auto after = run.state("seed-0001");
  CHECK(after.gradient_norm == before.gradient_norm);
  CHECK(after.stage_epochs == before.stage_epochs);
  CHECK(after.figures.alpha == before.figures.alpha);
  CHECK(after.age_epochs == before.age_epochs + 1);
}

TEST_CASE("an invalid accuracy counts as not measured, and a value beyond float is reported as zero") {
  Growing run;
  run.germinate("r0c0", "mlp");
  run.issue(SeedOperation::kStartTraining, "seed-0001");
  run.end_epoch();
  auto facts = run.good_facts();
  facts.validation_accuracy = 1e308;
  facts.learning_rate = -1e308;
  facts.seeds[0].gradient_norm = 1e300;
  run.network.end_epoch(facts);
  const auto seed = run.state("seed-0001");
  CHECK_FALSE(seed.figures.improvement_points);
  CHECK(seed.gradient_norm == 0);
  CHECK(seed.learning_rate == 0);
}

TEST_CASE("a cancelled seed blends out tick by tick, then goes; one that is silent goes at once") {
  Growing run;
  run.germinate("r0c0", "mlp");
  run.grow_to("seed-0001", Stage::kProbationary);
  CHECK_FALSE(Growing::rejected(run.issue(SeedOperation::kCancel, "seed-0001")));
  check_refused(run, run.command(SeedOperation::kCancel, "seed-0001"), "seed_is_leaving");
  float last = 1;
  int epochs = 0;
  while (epochs < 100 && run.slot_stage(0) == Stage::kProbationary) {
    const float alpha = run.scalar("seed-0001.alpha");
    CHECK(alpha < last);
    CHECK(alpha > 0);
    last = alpha;
    run.end_epoch();
    ++epochs;
  }
  CHECK(epochs == 2);  // alpha_ticks 3, of which the first came with the command
  CHECK(run.slot_stage(0) == Stage::kCulled);
  run.germinate("r0c1", "mlp");
  run.issue(SeedOperation::kCancel, "seed-0002");
  CHECK(run.slot_stage(1) == Stage::kCulled);
}

// Alphas of a seed from the start of BLENDING on, epoch by epoch.
std::vector<double> blend_of(Growing& run, const std::string& seed_id, int epochs) {
  run.grow_to(seed_id, Stage::kBlending);
  std::vector<double> alphas;
  for (int i = 0; i < epochs; ++i) {
    alphas.push_back(run.state(seed_id).figures.alpha);
    run.end_epoch();
  }
  return alphas;
}

TEST_CASE("a slot may have its own blend, and so may a command's seed, which keeps it for its whole life") {
  auto growth = quick_growth();
  growth.slot_alpha = {"r0c1=linear,2,0.6"};
  Growing run(growth);
  run.germinate("r0c1", "mlp");
  CHECK(blend_of(run, "seed-0001", 3) == std::vector{0.3, 0.6, 0.6});
  CHECK(run.state("seed-0001").figures.alpha_target == 0.6);
  CHECK_FALSE(Growing::rejected(run.issue(SeedOperation::kStabilize, "seed-0001")));  // G3 wants this target

  auto command = run.germination("r0c0", "mlp");
  command.seed_operation->parameters = {{"alpha_curve", 0}, {"alpha_ticks", 4}, {"alpha_target", 0.8}};
  CHECK_FALSE(Growing::rejected(run.apply(command)));
  CHECK(blend_of(run, "seed-0002", 5) == std::vector{0.2, 0.4, 0.8 * 0.75, 0.8, 0.8});
  // The way back takes as many epochs; the first of them comes with the command.
  run.issue(SeedOperation::kCancel, "seed-0002");
  CHECK(std::abs(run.state("seed-0002").figures.alpha - 0.6) < 1e-12);
  CHECK(run.scalar("seed-0002.training_gate") == 0);

  // Through a saved topology too, whatever the configuration says by then.
  growth.slot_alpha.clear();
  Growing other(growth);
  other.network.restore_topology(run.network.save_topology());
  CHECK(other.network.save_topology() == run.network.save_topology());
  CHECK(other.state("seed-0001").figures.alpha_target == 0.6);
}

TEST_CASE("an invalid blend is rejected") {
  Growing run;
  const std::vector<std::pair<std::string, double>> wrong = {
      {"alpha_curve", 3},     {"alpha_curve", 0.5},          {"alpha_curve", -1}, {"alpha_ticks", 0},
      {"alpha_ticks", 2.5},   {"alpha_ticks", 1e9},          {"alpha_target", 0}, {"alpha_target", 1.5},
      {"alpha_target", -0.1}, {"alpha_target", std::nan("")}};
  for (const auto& [name, value] : wrong) {
    CAPTURE(name, value);
    auto command = run.germination("r0c0", "mlp");
    command.seed_operation->parameters[name] = value;
    check_refused(run, command, "invalid_parameter");
  }
  auto command = run.germination("r0c0", "mlp");
  command.seed_operation->parameters["alpha"] = 0.5;
  check_refused(run, command, "unsupported_parameter");
}

TEST_CASE("alpha moves one tick an epoch and a fossil cannot be culled") {
  Growing run;
  run.germinate("r0c0", "mlp");
  run.grow_to("seed-0001", Stage::kBlending);
  std::vector<double> alphas;
  for (int i = 0; i < 4; ++i) {
    alphas.push_back(run.state("seed-0001").figures.alpha);
    CHECK(static_cast<float>(alphas.back()) == run.scalar("seed-0001.alpha"));
    run.end_epoch();
  }
  const auto curve = [](double t) { return curve_at(config::AlphaCurve::kSigmoid, t); };
  CHECK(alphas == std::vector{curve(1.0 / 3), curve(2.0 / 3), 1.0, 1.0});
  run.issue(SeedOperation::kStabilize, "seed-0001");
  run.grow_to("seed-0001", Stage::kGerminated);
  run.end_epoch();
  run.issue(SeedOperation::kEvaluate, "seed-0001");
  run.end_epoch();
  run.issue(SeedOperation::kFossilize, "seed-0001");
  check_refused(run, run.command(SeedOperation::kCull, "seed-0001"), "illegal_move");
}

TEST_CASE("what others see of a seed was measured") {
  Growing run;
  run.germinate("r0c1", "mlp");
  auto seed = run.state("seed-0001");
  CHECK(seed.slot == "r0c1");
  CHECK(seed.blueprint == "mlp");
  CHECK(seed.layer_depth == 1);
  CHECK(seed.figures.params == 2 * 10 * 20 + 20 + 10);
  CHECK_FALSE(seed.figures.gradient_ratio);
  CHECK_FALSE(seed.figures.improvement_points);
  CHECK_FALSE(seed.figures.shadow_points);
  CHECK_FALSE(seed.figures.contribution_points);
  run.issue(SeedOperation::kStartTraining, "seed-0001");
  run.end_epoch();
  run.end_epoch();
  seed = run.state("seed-0001");
  CHECK(seed.age_epochs == 2);
  CHECK(seed.stage_epochs == 2);
  CHECK(seed.gradient_norm == 1.0F);
  CHECK(seed.learning_rate == 0.1F);
  CHECK(seed.figures.improvement_points.value() == Catch::Approx(10));
  const double host = 4 * 12 + 12 + 12 * 10 + 10 + 10 * 3 + 3;
  CHECK(seed.figures.gradient_ratio.value() == Catch::Approx(std::sqrt(host / 430)));
}

TEST_CASE("validation measures only what a gate needs") {
  Growing run;
  run.germinate("r0c0", "mlp");
  CHECK(seeds_to_shadow(run.network.state()).empty());
  run.grow_to("seed-0001", Stage::kTraining);
  CHECK(seeds_to_shadow(run.network.state()) == std::vector<std::string>{"seed-0001"});
  CHECK(seeds_to_measure(run.network.state()).empty());
  CHECK(active_seeds(run.network.state()).empty());
  run.grow_to("seed-0001", Stage::kGerminated);
  for (int i = 0; i < 3; ++i) run.end_epoch();
  run.issue(SeedOperation::kStartGrafting, "seed-0001");
  CHECK(seeds_to_shadow(run.network.state()).empty());
  CHECK(active_seeds(run.network.state()) == std::vector<std::string>{"seed-0001"});
  for (int i = 0; i < 3; ++i) run.end_epoch();
  run.issue(SeedOperation::kStabilize, "seed-0001");
  CHECK(seeds_to_shadow(run.network.state()).empty());  // at alpha 1 the running network is the trial
  auto facts = run.good_facts();
  facts.seeds.clear();
  run.network.end_epoch(facts);
  CHECK(run.state("seed-0001").figures.shadow_points == 0);
  run.issue(SeedOperation::kEvaluate, "seed-0001");
  CHECK(seeds_to_measure(run.network.state()) == std::vector<std::string>{"seed-0001"});
}

TEST_CASE("a configuration is another network for one forward, and changes nothing") {
  Growing run;
  run.germinate("r0c0", "mlp");
  run.grow_to("seed-0001", Stage::kBlending);
  run.disturb("seed-0001");
  const auto running = run.output();
  const Growing alone;
  const auto output_with = [&](double alpha) {
    const c10::InferenceMode inference;
    const Configuration configuration = {{"seed-0001", alpha}};
    return forward_stacked(run.network.state(), run.probe, plan_stacked(run.network.state(), {&configuration, 1}))
        .clone();
  };
  CHECK(same_bits(output_with(0), alone.output()));
  CHECK_FALSE(same_bits(output_with(1), running));
  CHECK(same_bits(run.output(), running));
}

TEST_CASE("a seed's worth stays as last measured, through a saved topology too") {
  Growing run;
  run.germinate("r0c0", "mlp");
  const leyline::SeedWorth worth{.points = 2,
                                 .points_stderr = 0.5,
                                 .points_half_width = 1.5,
                                 .loss = 0.1,
                                 .epochs = 1,
                                 .horizon = 3,
                                 .confounded = true};
  auto facts = run.good_facts();
  REQUIRE_FALSE(facts.seeds.empty());
  for (auto& seed : facts.seeds) seed.worth = worth;
  run.network.end_epoch(facts);
  CHECK(run.state("seed-0001").figures.worth == worth);
  run.network.end_epoch(run.good_facts());
  CHECK(run.state("seed-0001").figures.worth == worth);
  Growing other;
  other.network.restore_topology(run.network.save_topology());
  CHECK(other.state("seed-0001").figures.worth == worth);

  // Of before half widths were recorded.
  auto saved = run.network.save_topology();
  auto& record = saved["slots"][0]["seed"]["record"];
  record["worth"].erase("points_half_width");
  record["worth"].erase("loss_half_width");
  other.network.restore_topology(saved);
  CHECK(other.state("seed-0001").figures.worth.points_half_width == 1.96 * 0.5);
  CHECK_FALSE(other.state("seed-0001").figures.worth.loss_half_width);

  // Of before there was a worth.
  record.erase("worth");
  other.network.restore_topology(saved);
  CHECK(other.state("seed-0001").figures.worth == leyline::SeedWorth{});
}

TEST_CASE("what may germinate is known without germinating it") {
  Growing run;
  const auto command = run.germination("r0c0", "mlp");
  CHECK(may_germinate(run.network.state(), command));
  CHECK_FALSE(may_germinate(run.network.state(), run.germination("r9c9", "mlp")));
  CHECK_FALSE(may_germinate(run.network.state(), run.germination("r0c0", "conv_light")));
  run.apply(command);
  CHECK_FALSE(may_germinate(run.network.state(), command));
  CHECK_FALSE(may_germinate(run.network.state(), run.germination("r0c0", "mlp")));
  CHECK_FALSE(may_germinate(run.network.state(), run.command(SeedOperation::kStartTraining, "seed-0001")));
}

TEST_CASE("epochs ascend") {
  Growing run;
  run.end_epoch();
  EpochFacts again;
  again.epoch = 1;
  CHECK_THROWS_AS(run.network.end_epoch(again), base::Error);
}

}  // namespace
}  // namespace esper::kasmina::network_test
