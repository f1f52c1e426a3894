// What a run's journal tells of its growth, as a user asks for it.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "cli.h"
#include "leyline/growth_note.h"
#include "storage/journal.h"
#include "storage/real_file_system.h"

using namespace esper;
using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using leyline::GrowthEvent;
using leyline::GrowthNote;
using leyline::Stage;

namespace {

// One seed that was germinated at step 8 and trained from step 16 on; a slot that the run leaves out.
struct GrownRun {
  TemporaryFolder folder;
  std::string path = folder.path.string();
  leyline::Topology now{{{"r0c0", Stage::kDormant, "", ""}, {"r0c1", Stage::kTerminated, "", ""}}, 0};
  storage::JournalWriter journal{storage::real_file_system(), path + "/journal"};

  GrownRun() {
    folder.write("config.yaml", "name: a\n");
    GrowthNote note;
    note.what = "started";
    note.snapshot = now;
    journal.append(growth_note_json(note).dump());
    stage({1, 8}, Stage::kDormant, Stage::kGerminated, "GERMINATE: there is room");
    stage({2, 16}, Stage::kGerminated, Stage::kTraining, "START_TRAINING: it is there");
  }
  void stage(leyline::RunPlace place, Stage from, Stage to, const std::string& decision) {
    apply(now, {"r0c0", "seed-0001", "mlp", from, to});
    GrowthNote note;
    note.what = "stage";
    note.place = place;
    note.hash = topology_hash(now);
    note.event = GrowthEvent{.seed_id = "seed-0001",
                             .slot = "r0c0",
                             .blueprint = "mlp",
                             .from = from,
                             .to = to,
                             .reason = "passed",
                             .decision = decision};
    journal.append(growth_note_json(note).dump());
  }
};

nlohmann::json json_from(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  const Finished finished = run_esper(arguments);
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  return json_of(finished);
}

}  // namespace

TEST_CASE("topo log tells every event with its place, what was asked for, and the topology's hash") {
  const GrownRun run;
  const Finished finished = run_esper({"topo", "log", run.path});
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out,
             ContainsSubstring("epoch 0, step 0: started") &&
                 ContainsSubstring(topology_hash(run.now) +
                                   "  epoch 2, step 16: r0c0 seed-0001 mlp GERMINATED -> TRAINING (asked to "
                                   "START_TRAINING: it is there)"));
  const auto json = json_from({"topo", "log", run.path});
  REQUIRE(json["notes"].size() == 3);
  CHECK(json["notes"][2]["topology"] == topology_hash(run.now));
  CHECK(json["hash"] == topology_hash(run.now));
  CHECK(json["gaps"].empty());
}

TEST_CASE("topo show draws the topology at any step") {
  const GrownRun run;
  CHECK_THAT(run_esper({"topo", "show", run.path}).out,
             ContainsSubstring("as of epoch 2, step 16; seeds born so far: 1; topology " + topology_hash(run.now)) &&
                 ContainsSubstring("  [r0c0]--- seed-0001 mlp, TRAINING\n    |\n  [r0c1]    TERMINATED\n"));
  CHECK_THAT(run_esper({"topo", "show", run.path, "--at", "15"}).out, ContainsSubstring("seed-0001 mlp, GERMINATED"));
  CHECK_THAT(run_esper({"topo", "show", run.path, "--at", "0"}).out, ContainsSubstring("[r0c0]    DORMANT"));
  const auto json = json_from({"topo", "show", run.path, "--at", "8"});
  CHECK(json["at"] == nlohmann::json{{"epoch", 1}, {"step", 8}});
  CHECK(json["topology"]["slots"][0]["stage"] == "GERMINATED");
  CHECK(json["doubt"] == "");
  CHECK(run_esper({"topo", "show", run.path, "--at", "-1"}).exit_code == 2);
}

TEST_CASE("topo diff tells what changed between two steps") {
  const GrownRun run;
  CHECK(run_esper({"topo", "diff", run.path, "0", "20"}).out ==
        "from epoch 0, step 0 to epoch 2, step 16:\n  r0c0: DORMANT -> TRAINING seed-0001 mlp\n  seeds born: 0 -> 1\n");
  CHECK(run_esper({"topo", "diff", run.path, "17", "16"}).out ==
        "from epoch 2, step 16 to epoch 2, step 16: the same topology\n");
  const auto json = json_from({"topo", "diff", run.path, "8", "16"});
  CHECK(json["differences"] == nlohmann::json::array({"r0c0: GERMINATED seed-0001 mlp -> TRAINING seed-0001 mlp"}));
}

TEST_CASE("a journal that is damaged, incomplete or of an older version is read as far as it goes, and says so") {
  GrownRun run;
  run.journal.append("no note");
  apply(run.now, {"r0c0", "seed-0001", "mlp", Stage::kTraining, Stage::kBlending});  // this note is lost
  run.stage({4, 32}, Stage::kBlending, Stage::kShadowing, "");
  std::ofstream(run.path + "/journal", std::ios::app | std::ios::binary) << std::string(20, '\1');
  const Finished finished = run_esper({"topo", "log", run.path});
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out, ContainsSubstring("BLENDING -> SHADOWING") &&
                               ContainsSubstring("note: 1 records of the journal are no sound notes") &&
                               ContainsSubstring("note: the journal is damaged behind record 5: 20 bytes") &&
                               ContainsSubstring("note: notes are missing from the journal in 1 places"));
}

TEST_CASE("topo and receipt say what is wrong with a folder or a seed") {
  const GrownRun run;
  for (const std::string command : {"log", "show"}) {
    const Finished finished = run_esper({"topo", command, "/nonexistent"});
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, ContainsSubstring("/nonexistent is no run folder"));
  }
  CHECK_THAT(run_esper({"receipt", run.path, "seed-0007"}).err, ContainsSubstring("it knows: seed-0001"));
  CHECK(run_esper({"receipt", run.path, "seed-0007"}).exit_code == 2);
  CHECK(json_from({"receipt", run.path, "seed-0001"})["outcome"] == "still growing");
  std::filesystem::remove(run.path + "/journal");
  CHECK(run_esper({"topo", "log", run.path}).exit_code == 3);
  CHECK(run_esper({"topo"}).exit_code == 2);
}

TEST_CASE("fork wants a run and a step") {
  for (const std::string origin :
       {"runs/a", "runs/a@", "@7", "runs/a@x", "runs/a@-1", "runs/a@7x", "a@99999999999999999999"}) {
    CAPTURE(origin);
    const Finished finished = run_esper({"fork", origin});
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, ContainsSubstring("is not RUN@STEP"));
  }
  CHECK_THAT(run_esper({"fork", "/nonexistent@7"}).err, ContainsSubstring("/nonexistent is no run folder"));
}
