// What a run's journal tells of its growth, as a user asks for it.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "cli.h"
#include "history/growth/growth_record.h"
#include "storage/journal/journal.h"
#include "storage/real_file_system.h"

namespace esper::test::topo_test {

using namespace esper;
using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using history::GrowthEvent;
using history::GrowthRecord;
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
    GrowthRecord record;
    record.what = "started";
    record.snapshot = now;
    journal.append(growth_record_json(record).dump());
    stage({1, 8}, Stage::kDormant, Stage::kGerminated, "GERMINATE: there is room");
    stage({2, 16}, Stage::kGerminated, Stage::kTraining, "START_TRAINING: it is there");
  }
  void stage(history::RunPlace place, Stage from, Stage to, const std::string& decision) {
    apply(now, {"r0c0", "seed-0001", "mlp", from, to});
    GrowthRecord record;
    record.what = "stage";
    record.place = place;
    record.hash = topology_hash(now);
    record.event = GrowthEvent{.seed_id = "seed-0001",
                               .slot = "r0c0",
                               .blueprint = "mlp",
                               .from = from,
                               .to = to,
                               .reason = "passed",
                               .decision = decision};
    journal.append(growth_record_json(record).dump());
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
                                   "  epoch 2, step 16: r0c0 seed-0001 mlp GERMINATED -> TRAINING (command "
                                   "START_TRAINING: it is there)"));
  const auto json = json_from({"topo", "log", run.path});
  REQUIRE(json["records"].size() == 3);
  CHECK(json["records"][0]["what"] == "started");
  CHECK(json["records"][2]["topology"] == topology_hash(run.now));
  CHECK(json["records"][2]["decision"] == "START_TRAINING: it is there");
  CHECK(json["discarded"] == 0);
  CHECK(json["hash"] == topology_hash(run.now));
  CHECK(json["gaps"].empty());
}

TEST_CASE("topo show draws the topology at any step") {
  const GrownRun run;
  CHECK_THAT(run_esper({"topo", "show", run.path}).out,
             ContainsSubstring("as of epoch 2, step 16; seeds created: 1; topology " + topology_hash(run.now)) &&
                 ContainsSubstring("  [r0c0]--- seed-0001 mlp, TRAINING\n    |\n  [r0c1]    not growing\n"));
  CHECK_THAT(run_esper({"topo", "show", run.path, "--at", "15"}).out, ContainsSubstring("seed-0001 mlp, GERMINATED"));
  CHECK_THAT(run_esper({"topo", "show", run.path, "--at", "0"}).out, ContainsSubstring("[r0c0]    DORMANT"));
  const auto json = json_from({"topo", "show", run.path, "--at", "8"});
  CHECK(json["at"] == nlohmann::json{{"epoch", 1}, {"step", 8}});
  CHECK(json["topology"]["slots"][0]["stage"] == "GERMINATED");
  CHECK(json["doubt"] == "");
  CHECK(json["last"] == nlohmann::json{{"epoch", 2}, {"step", 16}});
  CHECK(json["gaps"].empty());
}

TEST_CASE("a step that is none is refused, one behind the last record is told with the last one there is") {
  const GrownRun run;
  for (const std::string& step :
       std::vector<std::string>{"", "-1", "x", "7.5", "9223372036854775808", std::string(309, '9')}) {
    CAPTURE(step);
    CHECK(run_esper({"topo", "show", run.path, "--at", step}).exit_code == 2);
    CHECK(run_esper({"topo", "diff", run.path, "0", step}).exit_code == 2);
    CHECK(run_esper({"topo", "diff", run.path, step, "8"}).exit_code == 2);
  }
  CHECK_THAT(run_esper({"topo", "show", run.path, "--at", ""}).err,
             ContainsSubstring("--at: needs a whole number from 0 on, not \"\""));
  CHECK_THAT(run_esper({"topo", "diff", run.path, "", ""}).err,
             ContainsSubstring("first: needs a whole number from 0 on, not \"\""));
  const std::string note = "step 99999 is after the last recorded step (epoch 2, step 16), which is shown instead";
  for (const auto& words :
       {std::vector<std::string>{"show", run.path, "--at", "99999"}, {"diff", run.path, "16", "99999"}}) {
    std::vector<std::string> arguments = {"topo"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Finished finished = run_esper(arguments);
    CHECK(finished.exit_code == 0);
    CHECK_THAT(finished.out, ContainsSubstring("note: " + note));
    CHECK(json_from(arguments)["gaps"] == nlohmann::json::array({note}));
  }
}

TEST_CASE("a journal cannot steer the terminal of whoever looks at it, nor forge a line") {
  GrownRun run;
  const std::string bad = "x\x1b[2J\x7f\xC2\x9b\xE2\x80\xAE\nesper: OK";
  GrowthRecord record;
  record.what = "stage";
  record.place = {3, 24};
  record.event = GrowthEvent{.seed_id = "seed-0001",
                             .slot = "r0c0",
                             .blueprint = bad,
                             .from = Stage::kTraining,
                             .to = Stage::kBlending,
                             .reason = bad,
                             .decision = bad};
  run.journal.append(growth_record_json(record).dump());
  const std::string harmless = "x\\x1b[2J\\x7f\\u009b\\u202e\\nesper: OK";
  for (const std::vector<std::string>& command : {std::vector<std::string>{"topo", "log", run.path},
                                                  {"topo", "show", run.path},
                                                  {"topo", "diff", run.path, "8", "24"},
                                                  {"receipt", run.path, "seed-0001"}}) {
    CAPTURE(command);
    const Finished shown = run_esper(command);
    CHECK(shown.exit_code == (command[1] == "diff" ? 1 : 0));  // as diff(1): these steps differ
    CHECK_THAT(shown.out, ContainsSubstring(harmless));
    CHECK(shown.out.find("\nesper: OK") == std::string::npos);
    CHECK(shown.out.find_first_of("\x1b\x7f\x9b") == std::string::npos);
    CHECK(shown.out.find("\xE2\x80\xAE") == std::string::npos);
    auto as_json = command;
    as_json.push_back("--json");
    const Finished json = run_esper(as_json);
    CHECK(json_of(json).dump().find("\x7f") != std::string::npos);
    CHECK(json.out.find_first_of("\x1b\x7f\x9b") == std::string::npos);
  }
}

TEST_CASE("topo diff tells what changed between two steps") {
  const GrownRun run;
  CHECK(run_esper({"topo", "diff", run.path, "0", "16"}).out ==
        "from epoch 0, step 0 to epoch 2, step 16:\n  r0c0: DORMANT -> TRAINING seed-0001 mlp\n  seeds born: 0 -> 1\n");
  CHECK(run_esper({"topo", "diff", run.path, "16", "16"}).out ==
        "from epoch 2, step 16 to epoch 2, step 16: the same topology\n");
  CHECK(run_esper({"topo", "diff", run.path, "0", "16"}).exit_code == 1);
  CHECK(run_esper({"topo", "diff", run.path, "16", "16"}).exit_code == 0);
  const auto json = json_of(run_esper({"topo", "diff", run.path, "8", "16", "--json"}));
  CHECK(json["differences"] == nlohmann::json::array({"r0c0: GERMINATED seed-0001 mlp -> TRAINING seed-0001 mlp"}));
}

TEST_CASE("a journal that is damaged, incomplete or of an older version is read as far as it goes, and says so") {
  GrownRun run;
  run.journal.append("no note");
  apply(run.now, {"r0c0", "seed-0001", "mlp", Stage::kTraining, Stage::kBlending});  // this record is lost
  run.stage({4, 32}, Stage::kBlending, Stage::kShadowing, "");
  std::ofstream(run.path + "/journal", std::ios::app | std::ios::binary) << std::string(20, '\1');
  const Finished finished = run_esper({"topo", "log", run.path});
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out,
             ContainsSubstring("BLENDING -> SHADOWING") &&
                 ContainsSubstring("note: 1 record of the journal is invalid and was ignored: 4") &&
                 ContainsSubstring("note: the journal is damaged after record 5: 20 bytes") &&
                 ContainsSubstring(
                     "note: records are missing before step 32 (between record 3 of the journal, of epoch 2, step "
                     "16, and record 5): r0c0 is TRAINING seed-0001 mlp, not BLENDING; records up to record 3 are "
                     "valid, records from record 5 on are valid"));
}

TEST_CASE("where nothing is known of growth, every command says the same, with the way out") {
  GrownRun run;
  const auto file = std::filesystem::path(run.path) / "journal";
  const std::string way_out =
      ": its growth is unknown. If the file is elsewhere, move it back; otherwise esper train --resume " + run.path +
      " records the network of its newest checkpoint";
  const auto all_say = [&](const std::string& why) {
    for (const auto& words : {std::vector<std::string>{"topo", "log", run.path},
                              {"topo", "show", run.path},
                              {"topo", "show", run.path, "--at", "8"},
                              {"topo", "diff", run.path, "0", "8"},
                              {"receipt", run.path, "seed-0001"}}) {
      CAPTURE(words);
      const Finished finished = run_esper(words);
      CHECK(finished.exit_code == 3);
      CHECK(finished.out.empty());
      CHECK_THAT(finished.err, ContainsSubstring(why + way_out));
    }
  };
  std::filesystem::resize_file(file, 0);
  all_say("the journal of " + run.path + " is empty");
  std::filesystem::remove(file);
  all_say(run.path + " has no journal");
  storage::JournalWriter(storage::real_file_system(), file).append(R"({"what":"lane","step":1})");
  all_say("the journal of " + run.path + " has no growth records among 1");
}

TEST_CASE("behind a gap in the journal a receipt and the drawing tell the same") {
  GrownRun run;
  apply(run.now, {"r0c0", "seed-0001", "mlp", Stage::kTraining, Stage::kBlending});  // this record is lost
  GrowthRecord resumed;
  resumed.what = "resumed";
  resumed.place = {4, 32};
  resumed.snapshot = run.now;
  run.journal.append(growth_record_json(resumed).dump());
  const auto shown = json_from({"topo", "show", run.path});
  const auto receipt = json_from({"receipt", run.path, "seed-0001"});
  CHECK(shown["topology"]["slots"][0]["stage"] == "BLENDING");
  CHECK(receipt["epochs_in_stages"] == nlohmann::json{{"GERMINATED", 1}, {"TRAINING", nullptr}, {"BLENDING", nullptr}});
  REQUIRE(shown["gaps"].size() == 1);
  CHECK_THAT(shown["gaps"][0].get<std::string>(),
             ContainsSubstring("between record 3 of the journal, of epoch 2, step 16, and record 4"));
  CHECK(receipt["gaps"][0] == shown["gaps"][0]);
  CHECK(json_from({"topo", "log", run.path})["gaps"] == shown["gaps"]);
  CHECK_THAT(run_esper({"receipt", run.path, "seed-0001"}).out,
             ContainsSubstring("the record with the reason is missing") &&
                 ContainsSubstring("GERMINATED 1, TRAINING ?, BLENDING ?"));
}

TEST_CASE("what a gap leaves open is told by drawing and receipt alike, with the way out") {
  GrownRun run;
  apply(run.now, {"r0c0", "seed-0001", "mlp", Stage::kTraining, Stage::kBlending});  // this record is lost
  GrowthRecord saved;
  saved.what = "checkpoint";
  saved.place = {4, 32};
  saved.checkpoint = "c";
  saved.hash = topology_hash(run.now);
  run.journal.append(growth_record_json(saved).dump());
  const auto shown = json_from({"topo", "show", run.path});
  const auto receipt = json_from({"receipt", run.path, "seed-0001"});
  CHECK(shown["topology"]["slots"][0]["stage"] == "TRAINING");
  CHECK(receipt["epochs_in_stages"].contains("TRAINING"));
  CHECK_THAT(shown["doubt"].get<std::string>(), ContainsSubstring("records are missing before step 32"));
  CHECK(receipt["doubt"] == shown["doubt"]);
  CHECK_THAT(receipt["gaps"][0].get<std::string>(),
             ContainsSubstring("records up to record 3 are valid, later records are uncertain. esper train --resume " +
                               run.path + " records the whole topology"));
  CHECK_THAT(run_esper({"receipt", run.path, "seed-0001"}).out,
             ContainsSubstring("\n! records are missing before step 32"));
}

TEST_CASE("a receipt without a seed lists the seeds of the run") {
  const GrownRun run;
  const auto listed = json_from({"receipt", run.path});
  REQUIRE(listed["seeds"].size() == 1);
  const auto& seed = listed["seeds"][0];
  CHECK(seed["seed"] == "seed-0001");
  CHECK(seed["slot"] == "r0c0");
  CHECK(seed["blueprint"] == "mlp");
  CHECK(seed["outcome"] == "still growing");
  CHECK(seed["stage"] == "TRAINING");
  CHECK(seed["ended"].is_null());
  CHECK(listed["gaps"].empty());
  CHECK_THAT(run_esper({"receipt", run.path}).out,
             ContainsSubstring("seed       slot  blueprint  outcome        last stage  from epoch  epochs\n") &&
                 ContainsSubstring("\nname one of them for its receipt: esper receipt " + run.path + " seed-0001\n"));
  CHECK(run_esper({"receipt", "/nonexistent"}).exit_code == 2);
}

TEST_CASE("topo and receipt say what is wrong with a folder or a seed") {
  const GrownRun run;
  for (const std::string command : {"log", "show"}) {
    const Finished finished = run_esper({"topo", command, "/nonexistent"});
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, ContainsSubstring("/nonexistent is not a run folder"));
  }
  CHECK_THAT(run_esper({"receipt", run.path, "seed-0007"}).err, ContainsSubstring("known seeds: seed-0001"));
  CHECK(run_esper({"receipt", run.path, "seed-0007"}).exit_code == 2);
  CHECK(json_from({"receipt", run.path, "seed-0001"})["outcome"] == "still growing");
  CHECK(run_esper({"topo"}).exit_code == 2);
}

TEST_CASE("fork wants a run and a step") {
  for (const std::string origin :
       {"runs/a", "runs/a@", "@7", "runs/a@x", "runs/a@-1", "runs/a@7x", "a@99999999999999999999", "a@276@5"}) {
    CAPTURE(origin);
    const Finished finished = run_esper({"fork", origin});
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, ContainsSubstring("is not RUN@STEP, a run folder and one step"));
  }
  CHECK_THAT(run_esper({"fork", "/nonexistent@7"}).err, ContainsSubstring("/nonexistent is not a run folder"));
  const Finished twice =
      run_esper({"fork", "runs/a@7", "--without", "seed-0002", "--without", "seed-0001", "--without", "seed-0002"});
  CHECK(twice.exit_code == 2);
  CHECK_THAT(twice.err, ContainsSubstring("--without names seed-0002 twice; list each seed once"));
}

}  // namespace esper::test::topo_test
