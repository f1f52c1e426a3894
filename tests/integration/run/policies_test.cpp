// Whole runs under each policy: what grows when, resumed and forked runs, and steps that are prepared in advance.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::policies_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

using Grafts = std::vector<std::string>;

// "3: conv_light at r0c0", in order.
Grafts grafts_of(const fs::path& run) {
  Grafts grafts;
  for (const auto& event : events_of(run, "seed_grafted")) {
    const auto& facts = event["attributes"];
    grafts.push_back(facts["epoch"].get<std::string>() + ": " + facts["blueprint"].get<std::string>() + " at " +
                     facts["slot"].get<std::string>());
  }
  return grafts;
}

struct Case {
  Words assignments;
  Grafts grafts;  // the first ones
};

Case round_robin() {
  return {{"policy.kind=periodic", "policy.periodic.every_epochs=3"},
          {"3: conv_light at r0c0", "6: conv_light at r0c1"}};
}

Case by_lot() {
  return {{"policy.kind=random", "policy.random.probability=0.3"},
          {"10: conv_light at r0c1", "11: conv_heavy at r0c0"}};
}

Case listed() {
  return {{"policy.kind=schedule",
           "policy.schedule=[\"2:r0c1=conv_heavy\", \"3:r0c1=conv_light\", \"25%:r0c0=conv_light\"]"},
          {"2: conv_heavy at r0c1", "6: conv_light at r0c0"}};
}

// A copy behind each of two blocks at once.
Case deepened() {
  return {{"host.residual_blocks=1", "growth.kind=deepen", "growth.deepen.copies=2", "growth.blueprints=[copy_block]",
           "growth.training=blended"},
          {"6: copy_block*2 at r0c0", "6: copy_block*2 at r0c1"}};
}

// From the output towards the input: the head's features, then the last block's.
Case widened() {
  return {{"growth.blueprints=[widen, widen_half]", "policy.kind=schedule",
           "policy.schedule=[\"2:r0c1=widen\", \"25%:r0c0=widen_half\"]"},
          {"2: widen at r0c1", "6: widen_half at r0c0"}};
}

std::string at_step(const fs::path& run, const std::string& checkpoint) {
  return run.string() + "@" + std::to_string(state_of(run, checkpoint)["progress"]["step"].get<int>());
}

}  // namespace

TEST_CASE("each policy grows where it says, its seeds reach their end, and a resumed run repeats it") {
  const Case c = GENERATE(round_robin(), by_lot(), listed(), deepened(), widened());
  CAPTURE(c.assignments);
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Finished finished = train(config, room.run("whole"), c.assignments);
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  const auto grafts = grafts_of(room.run("whole"));
  REQUIRE(grafts.size() >= c.grafts.size());
  CHECK(Grafts(grafts.begin(), grafts.begin() + static_cast<std::ptrdiff_t>(c.grafts.size())) == c.grafts);
  const auto names = checkpoints_of(room.run("whole"));
  CHECK_THAT(stages_of(state_of(room.run("whole"), names.back())), ContainsSubstring("FOSSILIZED"));
  for (const auto& event : events_of(room.run("whole"), "tamiyo.decision")) {
    CHECK_FALSE(event["attributes"]["reason"].get<std::string>().empty());
  }

  copy_run_until(room.run("whole"), names[names.size() / 2], room.run("resumed"));
  REQUIRE(resume(room.run("resumed")).exit_code == 0);
  check_equal(record_of(room.run("resumed")), record_of(room.run("whole")), Telemetry::kMayLack);
}

TEST_CASE("a scheduled line whose slot is taken is reported once") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), listed().assignments + Words{"epochs=8"}).exit_code == 0);
  std::size_t reports = 0;
  for (const auto& event : events_of(room.run("run"), "tamiyo.decision")) {
    const auto reason = event["attributes"]["reason"].get<std::string>();
    if (reason.find("\"3:r0c1=conv_light\"") == std::string::npos) continue;
    ++reports;
    CHECK(event["attributes"]["epoch"] == "3");
    CHECK_THAT(reason, ContainsSubstring("is due, but r0c1 is not free but GERMINATED; it is not tried again"));
  }
  CHECK(reports == 1);
}

TEST_CASE("the receipt of a deepened run names the copies, and a fork without one of the seeds keeps the other") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("parent"), deepened().assignments + Words{"epochs=12"}).exit_code == 0);
  CHECK(grafts_of(room.run("parent")) == Grafts{"3: copy_block*2 at r0c0", "3: copy_block*2 at r0c1"});
  const Finished receipt = run_esper({"receipt", room.run("parent").string(), "seed-0002"});
  CHECK(receipt.exit_code == 0);
  CHECK_THAT(receipt.out, ContainsSubstring("seed-0002, copy_block*2 at r0c1"));
  const auto names = checkpoints_of(room.run("parent"));
  const auto grown = std::ranges::find_if(
      names, [&](const std::string& name) { return state_of(room.run("parent"), name)["progress"]["epoch"] == 4; });
  REQUIRE(grown != names.end());
  fs::create_directories(room.run("without").parent_path());
  const Finished forked = run_esper({"fork", at_step(room.run("parent"), *grown), "--run-dir",
                                     room.run("without").string(), "--without", "seed-0001", "--json"});
  INFO(forked.err);
  REQUIRE(forked.exit_code == 0);
  CHECK(stages_of(state_of(room.run("without"), checkpoints_of(room.run("without")).back())) == "DORMANT FOSSILIZED");
}

TEST_CASE("a fork of each policy does not miss the seed that it leaves out, and --policy none grows no more") {
  const Case c = GENERATE(round_robin(), listed(), widened());
  CAPTURE(c.assignments);
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("parent"), c.assignments).exit_code == 0);
  const auto names = checkpoints_of(room.run("parent"));
  const auto grown = std::ranges::find_if(
      names, [&](const std::string& name) { return state_of(room.run("parent"), name)["progress"]["epoch"] == 4; });
  REQUIRE(grown != names.end());
  const auto fork = [&](const std::string& name, const Words& more) {
    fs::create_directories(room.run(name).parent_path());
    const Finished forked = run_esper(Words{"fork", at_step(room.run("parent"), *grown), "--run-dir",
                                            room.run(name).string(), "--without", "seed-0001", "--json"} +
                                      more);
    INFO(forked.err);
    REQUIRE(forked.exit_code == 0);
  };
  fork("without", {});
  for (const auto& event : events_of(room.run("without"), "tamiyo.decision")) {
    CHECK_THAT(event["attributes"]["reason"].get<std::string>(), !ContainsSubstring("seed-0001"));
  }
  CHECK_FALSE(grafts_of(room.run("without")).empty());
  fork("none", {"--policy", "none"});
  CHECK(grafts_of(room.run("none")).empty());
}

TEST_CASE("a seed that is unfinished when the run ends, early or not, is kept or removed, and the records say why") {
  // A seed that cannot leave TRAINING, heard in full from the third epoch on.
  const Words lingering{"policy.kind=schedule", "policy.schedule=[\"2:r0c0=conv_light\"]", "growth.training=blended",
                        "growth.gates.min_training_epochs=50", "policy.heuristic.prune_after_epochs=50"};
  const auto [end, result] =
      GENERATE(std::pair{Words{"epochs=6", "growth.gates.min_contribution_points=-100"}, "kept"},
               std::pair{Words{"epochs=6", "growth.gates.min_contribution_points=100"}, "removed"},
               std::pair{Words{"epochs=20", "training.early_stop_min_delta=100", "training.early_stop_epochs=4",
                               "growth.gates.min_contribution_points=100"},
                         "removed"});
  const auto assignments = lingering + Words{"growth.gates.evidence=ablation"} + end;
  CAPTURE(assignments);
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Finished finished = train(config, room.run("whole"), assignments);
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  const auto settled = events_of(room.run("whole"), "tolaria.seed_settled");
  REQUIRE(settled.size() == 1);
  CHECK(settled[0]["attributes"]["result"] == result);
  const auto names = checkpoints_of(room.run("whole"));
  const auto stages = stages_of(state_of(room.run("whole"), names.back()));
  CHECK_THAT(stages, !ContainsSubstring("TRAINING"));
  CHECK((stages.find("FOSSILIZED") != std::string::npos) == (std::string(result) == "kept"));
  const Finished receipt = run_esper({"receipt", room.run("whole").string(), "seed-0001"});
  CHECK(receipt.exit_code == 0);
  CHECK_THAT(receipt.out, ContainsSubstring("the run is over, and it is unfinished: with it the validation loss"));

  copy_run_until(room.run("whole"), names[names.size() / 2], room.run("resumed"));
  REQUIRE(resume(room.run("resumed")).exit_code == 0);
  check_equal(record_of(room.run("resumed")), record_of(room.run("whole")), Telemetry::kMayLack);
}

TEST_CASE("the step of what a policy germinates next is prepared in advance") {
  const auto [policy, change] = GENERATE(
      std::pair{Words{"policy.kind=periodic", "policy.periodic.every_epochs=12"}, "GERMINATE conv_light at r0c0"},
      std::pair{by_lot().assignments, "GERMINATE conv_light at r0c1"},
      std::pair{Words{"policy.kind=schedule", "policy.schedule=[\"50%:r0c1=conv_heavy\"]"},
                "GERMINATE conv_heavy at r0c1"},
      std::pair{deepened().assignments + Words{"growth.deepen.at=50%"},
                "GERMINATE copy_block*2 at r0c0 with GERMINATE copy_block*2 at r0c1"},
      std::pair{Words{"growth.blueprints=[widen]", "policy.kind=schedule", "policy.schedule=[\"50%:r0c1=widen\"]"},
                "GERMINATE widen at r0c1"});
  CAPTURE(policy);
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Finished finished = train(config, room.run("run"), policy + Words{"epochs=24", "step.lane=replay"});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  const auto prepared = events_of(room.run("run"), "tolaria.growth_prepared");
  CHECK(std::ranges::any_of(prepared, [&](const auto& event) { return event["attributes"]["change"] == change; }));
}

}  // namespace esper::test::policies_test
