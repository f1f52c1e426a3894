// `esper runs` on real runs: what it lists, compares and deletes, and how fast.
#include <signal.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <fstream>
#include <iostream>

#include "run_record.h"
#include "run_room.h"
#include "runs/run_index.h"
#include "storage/folder_lock.h"
#include "storage/journal/journal.h"
#include "storage/real_file_system.h"
#include "support/file_reads.h"
#include "support/patience.h"

namespace esper::test::runs_test {

using namespace esper;
using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

Finished esper_runs(const Words& words) { return run_program(Words{binary(), "runs"} + words); }

json runs_json(const Words& words) {
  const Finished finished = esper_runs(words + Words{"--json"});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  return json::parse(finished.out);
}

// As they lie below the room, by the name of their parent folder.
std::map<std::string, json> by_name(const RunRoom& room, const Words& words = {}) {
  std::map<std::string, json> runs;
  const json listed = runs_json(Words{"list", room.path} + words);
  for (const auto& run : listed["runs"]) {
    runs[fs::path(run["path"].get<std::string>()).parent_path().filename()] = run;
  }
  return runs;
}

const Words kShort = {"epochs=2"};

// Telemetry and journal of more than a megabyte each, as of a run that trained for long.
void lengthen(const fs::path& run) {
  constexpr std::size_t kLong = 1 << 20;
  const std::string packets = contents_of(run / "telemetry.jsonl");
  std::ofstream telemetry(run / "telemetry.jsonl", std::ios::app | std::ios::binary);
  for (std::size_t bytes = packets.size(); bytes < kLong; bytes += packets.size()) telemetry << packets;
  storage::JournalWriter(storage::real_file_system(), run / "journal").append(std::string(kLong, 'x'));
}

}  // namespace

TEST_CASE("runs that ended, run, were killed and were forked are listed as such") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("done"), kShort).exit_code == 0);
  const auto step = checkpoints_of(room.run("done")).back();
  const auto number = std::to_string(std::stol(step.substr(step.find("step-") + 5)));
  const auto forked = run_program(
      {binary(), "fork", room.run("done").string() + "@" + number, "--run-dir", room.run("fork"), "--no-train"});
  INFO(forked.err);
  REQUIRE(forked.exit_code == 0);
  RunningProgram program(train_command(config, room.run("killed"), {"epochs=100000", "checkpoint.keep_last=3"}));
  REQUIRE(wait_for_first_epoch(room.run("killed"), program));
  CHECK(by_name(room)["killed"]["state"] == "running");
  CHECK_THAT(by_name(room)["killed"]["version"].get<std::string>(), ContainsSubstring("(commit "));
  CHECK_THAT(by_name(room)["done"]["version"].get<std::string>(), ContainsSubstring("(commit "));
  const auto refused = esper_runs({"rm", room.run("killed"), "--yes"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("is running; stop it first"));
  program.send(SIGKILL);
  program.wait(kPatience);

  auto runs = by_name(room);
  REQUIRE(runs.size() == 3);
  CHECK(runs["killed"]["state"] == "interrupted");
  CHECK(runs["killed"]["epochs"].get<int>() >= 1);
  CHECK(runs["killed"]["ended_ms"].is_null());
  CHECK(runs["killed"]["last"]["figures"].contains("accuracy"));
  CHECK(runs["fork"]["parent"] == room.run("done").string());
  CHECK(runs["fork"]["parent_checkpoint"] == step);
  CHECK(runs["fork"]["epochs"] == 2);

  const json& done = runs["done"];
  const json summary = read_json(room.run("done") / "summary.json");
  CHECK(done["state"] == "finished");
  CHECK(done["epochs"] == 2);
  CHECK(done["planned_epochs"] == 2);
  CHECK(done["last"]["figures"]["loss"] == summary["validation"]["loss"]);
  CHECK(done["best"]["epoch"] == summary["best"]["epoch"]);
  CHECK(done["checkpoints"] == checkpoints_of(room.run("done")).size());
  const auto check = run_program({binary(), "config", "check", room.run("done") / "config.yaml", "--json"});
  CHECK(done["config_hash"] == json::parse(check.out)["config_hash"]);
  CHECK(by_name(room, {"--state", "interrupted,failed", "--config-key", "epochs=100000"}).size() == 1);
  CHECK(by_name(room, {"--config-key", "training.optimizer.lr=5e-2", "--since", "1d"}).size() == 3);
}

TEST_CASE("a run is continued after it was listed as killed, and ends as finished") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  RunningProgram program(train_command(config, room.run("run"), {"epochs=100000", "checkpoint.keep_last=3"}));
  REQUIRE(wait_for_first_epoch(room.run("run"), program));
  program.send(SIGTERM);
  program.wait(kPatience);
  CHECK(by_name(room)["run"]["state"] == "interrupted");
  const int epochs = by_name(room)["run"]["epochs"].get<int>() + 2;
  REQUIRE(resume(room.run("run"), {"epochs=" + std::to_string(epochs)}).exit_code == 0);
  const json run = by_name(room)["run"];
  CHECK(run["state"] == "finished");
  CHECK(run["epochs"] == epochs);
  CHECK(run["planned_epochs"] == epochs);
}

TEST_CASE("checkpoints that nothing needs are planned, and deleted only when that is said") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("done"), kShort).exit_code == 0);
  const auto before = checkpoints_of(room.run("done"));
  REQUIRE(before.size() > 2);
  const json plan = runs_json({"gc", room.path, "--checkpoints"});
  CHECK(plan["deleted"] == false);
  CHECK(plan["bytes"].get<int>() > 0);
  CHECK(checkpoints_of(room.run("done")) == before);
  CHECK(runs_json({"gc", room.path, "--checkpoints", "--yes"})["bytes"] == plan["bytes"]);
  const auto left = checkpoints_of(room.run("done"));
  CHECK(left.size() <= 2);
  CHECK(left.back() == before.back());
  const auto evaluated = run_program({binary(), "evaluate", room.run("done"), "--checkpoint", "best"});
  CHECK(evaluated.exit_code == 0);
  CHECK(resume(room.run("done"), {"epochs=3"}).exit_code == 0);
}

TEST_CASE("two runs are compared by figures and fields, and one of them is deleted") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  for (const char* seed : {"1", "2"}) {
    REQUIRE(train(config, room.run(seed), kShort + Words{std::string("seed=") + seed}).exit_code == 0);
  }
  const json compared = runs_json({"compare", room.run("1"), room.run("2")});
  REQUIRE(compared["fields"].size() == 1);
  CHECK(compared["fields"][0] == json{{"path", "seed"}, {"values", {1, 2}}});
  CHECK(compared["runs"].size() == 2);
  CHECK_THAT(esper_runs({"compare", room.run("1"), room.run("2")}).out, ContainsSubstring("last accuracy"));
  CHECK_THAT(esper_runs({"compare", room.run("1")}).err, ContainsSubstring("at least two runs"));
  CHECK(compared["changes"] == json::parse("[[], []]"));
  fs::create_directory(room.run("2") / "changes");
  const json change{{"epoch", 2}, {"field", "training.optimizer.lr"}, {"value", "0.01"}, {"request", 1}};
  std::ofstream(room.run("2") / "changes" / "accepted.json") << json{{"changes", json::array({change})}};
  CHECK(runs_json({"compare", room.run("1"), room.run("2")})["changes"][1] == json::array({change}));
  CHECK_THAT(esper_runs({"compare", room.run("1"), room.run("2")}).out,
             ContainsSubstring("was changed while it trained: training.optimizer.lr=0.01 from epoch 2 on"));
  CHECK(compared["problems"].empty());
  const auto unasked = esper_runs({"rm", room.run("1")});
  CHECK(unasked.exit_code == 2);
  CHECK_THAT(unasked.err, ContainsSubstring("add --yes"));
  const auto folder = esper_runs({"rm", room.run("1"), room.path, "--yes"});
  CHECK(folder.exit_code == 2);
  CHECK_THAT(folder.err, ContainsSubstring("is not a run folder"));
  fs::create_directory_symlink(room.run("2"), room.path / "link");
  for (const char* before : {"1", "2"}) {  // another run, and the one that it leads to
    const auto link = esper_runs({"rm", room.run(before), room.path / "link", "--yes"});
    CHECK(link.exit_code == 2);
    CHECK_THAT(link.err, ContainsSubstring("is a link"));
    CHECK(fs::exists(room.run(before)));
  }
  fs::remove(room.path / "link");
  CHECK(fs::exists(room.run("1")));
  CHECK(esper_runs({"rm", room.run("1"), "--yes"}).exit_code == 0);
  CHECK_FALSE(fs::exists(room.run("1")));
  CHECK(fs::exists(room.run("2")));
  fs::copy(room.run("2"), room.path / "copy", fs::copy_options::recursive);
  const auto within = room.run("2") / "within";
  fs::rename(room.path / "copy", within);
  const auto both = esper_runs({"rm", room.run("2"), within, "--yes"});
  CHECK(both.exit_code == 2);
  CHECK_THAT(both.err, ContainsSubstring("holds another run"));
  CHECK(fs::exists(within / "config.yaml"));
  const json plan = runs_json({"gc", room.path, "--state", "finished"});
  CHECK(plan["items"].empty());
  REQUIRE(plan["kept"].size() == 1);
  CHECK_THAT(plan["kept"][0]["reason"].get<std::string>(), ContainsSubstring("holds another run, " + within.string()));
  const json done = runs_json({"gc", room.path, "--state", "finished", "--yes"});
  CHECK(done["kept"] == plan["kept"]);
  CHECK(fs::exists(within / "config.yaml"));
  // One that lies deeper than is searched goes with the other, and cannot be deleted after it: what was deleted is
  // said.
  const auto deep = room.run("2") / "a/b/c/d/e/within";
  fs::create_directories(deep.parent_path());
  fs::rename(within, deep);
  const auto partly = esper_runs({"rm", room.run("2"), deep, "--yes", "--json"});
  CHECK(partly.exit_code == 6);
  const json result = json_of(partly);
  CHECK(result["deleted"] == json::array({room.run("2").string()}));
  REQUIRE(result["problems"].size() == 1);
  CHECK_THAT(result["problems"][0].get<std::string>(), ContainsSubstring("within"));
}

TEST_CASE("the epochs of a run are printed as a table, as CSV and as JSON") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), kShort).exit_code == 0);
  REQUIRE(resume(room.run("run"), {"epochs=3"}).exit_code == 0);
  std::ofstream(room.run("run") / "telemetry.jsonl", std::ios::app) << "no packet\n";

  const json history = runs_json({"history", room.run("run")});
  const json summary = read_json(room.run("run") / "summary.json");
  REQUIRE(history["epochs"].size() == 3);
  const json& last = history["epochs"][2];
  CHECK(last["epoch"] == 3);
  CHECK(last["steps"].is_number_integer());
  CHECK(last["validation_loss"] == summary["validation"]["loss"]);
  CHECK(last["validation_accuracy"] == summary["validation"]["accuracy"]);
  CHECK(history["damaged_lines"] == 1);

  const auto csv = esper_runs({"history", room.run("run"), "--csv"});
  CHECK(csv.exit_code == 0);
  CHECK_THAT(csv.out, StartsWith("epoch,steps,training_loss,training_accuracy,validation_loss,validation_accuracy,"));
  CHECK(std::ranges::count(csv.out, '\n') == 4);
  CHECK_THAT(csv.err, ContainsSubstring("note: telemetry.jsonl has 1 damaged line"));

  const auto table = esper_runs({"history", room.run("run")});
  CHECK_THAT(table.out, StartsWith("epoch  steps  training loss  training accuracy  validation loss  "
                                   "validation accuracy  learning rate  seconds  active seeds  parameters\n"));
  CHECK_THAT(table.out,
             ContainsSubstring("\n3      ") && ContainsSubstring("note: telemetry.jsonl has 1 damaged line"));
  CHECK(esper_runs({"history", room.run("run"), "--csv", "--json"}).exit_code == 2);

  fs::remove(room.run("run") / "telemetry.jsonl");
  const auto without = esper_runs({"history", room.run("run")});
  CHECK(without.exit_code == 3);
  CHECK_THAT(without.err, ContainsSubstring("has no telemetry.jsonl"));
}

TEST_CASE("a comparison has what can be read of a damaged run, and says which changes are left out") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("1"), kShort).exit_code == 0);
  fs::create_directories(room.path / "2");
  fs::copy(room.run("1"), room.run("2"), fs::copy_options::recursive);
  const json change{{"epoch", 2}, {"field", "training.optimizer.lr"}, {"value", "0.01"}, {"request", 1}};
  const auto accepted = room.run("2") / "changes" / "accepted.json";
  fs::create_directory(accepted.parent_path());
  std::ofstream(accepted) << json{{"changes", json::array({change})}};
  const Words compare{"compare", room.run("1"), room.run("2")};

  // It is damaged elsewhere.
  fs::remove_all(room.run("2") / "checkpoints");
  std::ofstream(room.run("2") / "checkpoints") << "no folder";
  const json readable = runs_json(compare);
  CHECK(readable["runs"][1]["state"] == "damaged");
  CHECK(readable["changes"][1] == json::array({change}));

  std::ofstream(accepted) << "{\"changes\": [";
  const auto lock = storage::try_lock_folder(storage::real_file_system(), room.run("2"));
  const json running = runs_json(compare);
  CHECK(running["runs"][1]["state"] == "running");
  CHECK(running["changes"] == json::parse("[[], null]"));
  REQUIRE(running["problems"].size() == 1);
  CHECK_THAT(running["problems"][0].get<std::string>(), ContainsSubstring(accepted.string() + " is damaged: "));
  CHECK_THAT(esper_runs(compare).out,
             ContainsSubstring("last accuracy") &&
                 ContainsSubstring("note: the settings that were changed while " + room.run("2").string() +
                                   " trained are left out: " + accepted.string() + " is damaged: "));
}

TEST_CASE("a section as --config-key is refused with the field that is meant, or those that it has") {
  const auto refused = [](const std::string& assignment) {
    const auto finished = esper_runs({"list", "--config-key", assignment});
    CHECK(finished.exit_code == 2);
    return finished.err;
  };
  CHECK_THAT(refused("host=cnn"), ContainsSubstring("did you mean host.kind=cnn?"));
  CHECK_THAT(refused("training.optimizer=adamw"), ContainsSubstring("did you mean training.optimizer.kind=adamw?"));
  CHECK_THAT(refused("host=nope"), ContainsSubstring("host is a section; its keys: host.") &&
                                       ContainsSubstring("host.kind") && !ContainsSubstring("did you mean"));
  CHECK_THAT(refused("host"), ContainsSubstring("host is a section; its keys: host."));
  CHECK_THAT(refused("epochs"), ContainsSubstring("\"epochs\" is not FIELD=VALUE"));
  CHECK_THAT(refused("hots.kind=cnn"), ContainsSubstring("did you mean host.kind?"));
}

TEST_CASE("of many damaged runs ten reasons are printed, and how many more there are") {
  const RunRoom room;
  for (int i = 0; i < 12; ++i) {
    fs::create_directories(room.run(std::to_string(i)) / "checkpoints");
    room.write(fs::relative(room.run(std::to_string(i)) / "config.yaml", room.path), "");
  }
  const auto listed = esper_runs({"list", room.path});
  CHECK_THAT(listed.out, ContainsSubstring("is damaged: config.yaml cannot be read: it is empty") &&
                             ContainsSubstring("\nnote: 2 more damaged; --json has all reasons\n"));
}

TEST_CASE("two thousand runs are listed within a second, without reading whole telemetry files or journals") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("real"), kShort + Words{"checkpoint.keep_last=3"}).exit_code == 0);
  lengthen(room.run("real"));
  constexpr std::uint64_t kRuns = 2000;
  for (std::uint64_t i = 0; i < kRuns; ++i) {
    const auto copy = room.path / "many" / ("run-" + std::to_string(i));
    fs::create_directories(copy.parent_path());
    fs::copy(room.run("real"), copy, fs::copy_options::recursive | fs::copy_options::create_hard_links);
  }
  const auto list = [&] {
    const auto found = runs::refresh({}, {room.path / "many"});
    REQUIRE(found.runs.size() == kRuns);
    const auto finished = std::ranges::count(found.runs, runs::RunState::kFinished, &runs::RunRecord::state);
    REQUIRE(static_cast<std::uint64_t>(finished) == kRuns);
  };

  const FileReads before = file_reads();
  list();
  const FileReads after = file_reads();
  const std::uint64_t whole =
      fs::file_size(room.run("real") / "config.yaml") + fs::file_size(room.run("real") / "summary.json");
  constexpr std::uint64_t kEnds = 32 << 10;  // of the telemetry and the journal
  CHECK(after.bytes - before.bytes >= kRuns * whole);
  CHECK(after.bytes - before.bytes <= kRuns * (whole + kEnds));
  CHECK(after.calls - before.calls <= kRuns * 10);

#ifdef __SANITIZE_ADDRESS__
  constexpr double kMost_s = 5;  // with it everything takes several times as long
#else
  constexpr double kMost_s = 1;
#endif
  // Alone it takes some 0.2 s; the machine may be busy, so the best of many tries counts.
  double best_s = 1e9;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (best_s > kMost_s && std::chrono::steady_clock::now() < deadline) {
    const auto start = std::chrono::steady_clock::now();
    list();
    best_s = std::min(best_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::cout << "two thousand runs: " << best_s << " s\n";
  CHECK(best_s < kMost_s);
}

}  // namespace esper::test::runs_test
