// `esper set`: settings that change while a run trains hold from one epoch on, also in a run that is killed meanwhile
// and resumed from any of its checkpoints.
#include <signal.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::set_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr char kLr[] = "training.optimizer.lr";

Finished set(const fs::path& run, const Words& assignments) {
  return run_esper(Words{"set", run, "--json"} + assignments);
}

json accepted_by(const fs::path& run) { return read_json(run / "changes" / "accepted.json")["changes"]; }

Words requests_of(const fs::path& run) {
  Words names;
  for (const auto& entry : fs::directory_iterator(run / "changes")) {
    if (entry.path().filename().string().starts_with("request-")) names.push_back(entry.path().filename());
  }
  return names;
}

std::string checkpoint_within(const fs::path& run, int epoch) {
  for (const auto& name : checkpoints_of(run)) {
    const auto progress = state_of(run, name)["progress"];
    if (progress["epoch"] == epoch && progress["batch"] != 0) return name;
  }
  FAIL("no checkpoint within the epoch after " << epoch);
  return {};
}

void copy_changes(const fs::path& from, const fs::path& to) {
  fs::copy(from / "changes", to / "changes", fs::copy_options::recursive);
}

// A run of 24 epochs, and a place within its sixth one from where copies of it go on.
struct Trained {
  RunRoom room;
  RunRecord whole;
  std::string place;

  Trained() {
    REQUIRE(train(room.write("small.yaml", growing_config()), room.run("whole")).exit_code == 0);
    whole = record_of(room.run("whole"));
    place = checkpoint_within(room.run("whole"), 5);
  }
  // Not resumed yet.
  fs::path copy(const std::string& name) const {
    copy_run_until(room.run("whole"), place, room.run(name));
    return room.run(name);
  }
  // Went on with another learning rate from its seventh epoch on.
  fs::path changed() const {
    const auto run = copy("changed");
    const Finished requested = set(run, {"training.optimizer.lr=0.01"});
    INFO(requested.err);
    REQUIRE(requested.exit_code == 0);
    CHECK(json_of(requested)["from"] == "resume");
    REQUIRE(resume(run).exit_code == 0);
    return run;
  }
};

// A run of 8 epochs, as it was within the sixth.
fs::path run_in_sixth_epoch(const RunRoom& room) {
  const auto whole = room.run("whole"), run = room.run("run");
  REQUIRE(
      train(room.write("small.yaml", growing_config()), whole, {"policy.kind=none", "growth.enabled=false", "epochs=8"})
          .exit_code == 0);
  copy_run_until(whole, checkpoint_within(whole, 5), run);
  return run;
}

}  // namespace

TEST_CASE("a run that trains takes another learning rate between two epochs, and repeats that from any checkpoint") {
  const RunRoom room;
  const auto run = room.run("live");
  RunningProgram program(train_command(room.write("small.yaml", growing_config()), run));
  REQUIRE(wait_for_first_epoch(run, program));
  program.send(SIGSTOP);  // so that the request comes while it trains, however slow this machine is
  const Finished requested = set(run, {"training.optimizer.lr=0.01", "checkpoint.every=6 steps"});
  program.send(SIGCONT);
  INFO(requested.err);
  REQUIRE(requested.exit_code == 0);
  CHECK(json_of(requested)["from"] == "end_of_epoch");
  REQUIRE(program.wait().exit_code == 0);

  const auto accepted = accepted_by(run);
  REQUIRE(accepted.size() == 2);
  const int epoch = accepted[1]["epoch"];
  CHECK(accepted[1]["field"] == kLr);
  CHECK(requests_of(run).empty());
  const auto reported = events_of(run, "tolaria.setting_changed");
  REQUIRE(reported.size() == 2);
  CHECK(reported[1]["attributes"]["epoch"] == std::to_string(epoch));
  const auto rates = values_of(run, "tolaria.lr_controller.current_lr");
  REQUIRE(rates.size() == 24);
  for (std::size_t i = 0; i < rates.size(); ++i) CHECK(rates[i] == (static_cast<int>(i) + 1 < epoch ? 0.05 : 0.01));

  const auto expected = record_of(run);
  const auto names = checkpoints_of(run);
  for (const auto& name : {names.front(), checkpoint_within(run, epoch), names[names.size() - 3]}) {
    CAPTURE(name);
    const auto again = room.run("from-" + name);
    copy_run_until(run, name, again);
    copy_changes(run, again);
    const Finished finished = resume(again);
    INFO(finished.err);
    REQUIRE(finished.exit_code == 0);
    check_equal(record_of(again), expected, Telemetry::kMayLack);
    CHECK(accepted_by(again) == accepted);
  }
}

TEST_CASE("a change makes another training, and the run file stays as it is") {
  const Trained it;
  const auto run = it.changed();
  const auto record = record_of(run);
  CHECK(record.last_checkpoint == it.whole.last_checkpoint);
  CHECK((record.tensors != it.whole.tensors));
  CHECK(record.epochs.at(6) == it.whole.epochs.at(6));
  CHECK(record.epochs.at(7) != it.whole.epochs.at(7));
  CHECK(contents_of(run / "config.yaml") == contents_of(it.room.run("whole") / "config.yaml"));
}

TEST_CASE(
    "a process that is killed while it accepts a change: the change is accepted once, and the bits are the same") {
  const std::string point = GENERATE("tolaria.setting_accepted", "tolaria.setting_recorded");
  CAPTURE(point);
  const Trained it;
  const auto expected = record_of(it.changed());
  const auto run = it.copy("killed");
  REQUIRE(set(run, {"training.optimizer.lr=0.01"}).exit_code == 0);
  const Finished killed = run_program(resume_command(run), {"ESPER_FAULTS=" + point + "@1"});
  CHECK(killed.exit_code == 128 + SIGKILL);
  CHECK(requests_of(run) == Words{"request-0001.json"});
  const auto accepted = accepted_by(run);
  CHECK(accepted == json::array({{{"epoch", 7}, {"field", kLr}, {"value", "0.01"}, {"request", 1}}}));

  const Finished finished = resume(run);
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK(accepted_by(run) == accepted);
  CHECK(requests_of(run).empty());
  check_equal(record_of(run), expected, Telemetry::kMayLack);
}

TEST_CASE("a run that was given more epochs while it trained has these, not its run file's") {
  const RunRoom room;
  const auto run = room.run("run");
  const Words fixed{"policy.kind=none", "growth.enabled=false", "epochs=3"};
  REQUIRE(train(room.write("small.yaml", growing_config()), run, fixed).exit_code == 0);
  const Finished ended = set(run, {"training.optimizer.lr=0.01"});
  CHECK(ended.exit_code == 2);
  CHECK_THAT(json_of(ended)["error"]["text"].get<std::string>(),
             ContainsSubstring("has ended: its 3 epochs are trained: no epoch would begin with these settings; add "
                               "epochs with esper train --resume " +
                               run.string()));
  CHECK_FALSE(fs::exists(run / "changes"));
  REQUIRE(set(run, {"epochs=6"}).exit_code == 0);
  REQUIRE(set(run, {"training.optimizer.lr=0.01"}).exit_code == 0);  // the three epochs to come have it
  for (const bool is_over : {false, true}) {
    const Finished resumed = resume(run);
    CHECK(resumed.exit_code == 0);
    CHECK(ContainsSubstring("no epochs left to train: the run is at epoch 6 of 6").match(resumed.err) == is_over);
    CHECK(read_json(run / "summary.json")["epochs"] == 6);
  }
  const auto runs_with = [&](const std::string& field) {
    return json_of(run_esper({"runs", "list", room.path, "--config-key", field, "--json"}))["runs"];
  };
  CHECK(runs_with("epochs=6").empty());
  const auto begun = runs_with("epochs=3");
  REQUIRE(begun.size() == 1);
  CHECK(begun[0]["planned_epochs"] == 6);

  const Finished ended_again = set(run, {"training.optimizer.lr=0.02"});
  CHECK(ended_again.exit_code == 2);
  CHECK_THAT(json_of(ended_again)["error"]["text"].get<std::string>(),
             ContainsSubstring("add epochs with esper set " + run.string() + " epochs=N, and then change"));
  const auto step = state_of(run, checkpoints_of(run).back())["progress"]["step"].get<int>();
  const auto fork = room.run("fork");
  fs::create_directories(fork.parent_path());
  const Finished forked =
      run_esper({"fork", run.string() + "@" + std::to_string(step), "--run-dir", fork, "--no-train"});
  CHECK_THAT(forked.out, ContainsSubstring("no epochs left to train") &&
                             ContainsSubstring("add epochs: esper set " + fork.string() + " epochs=N"));
  REQUIRE(set(fork, {"epochs=7"}).exit_code == 0);
  REQUIRE(resume(fork).exit_code == 0);
  CHECK(read_json(fork / "summary.json")["epochs"] == 7);
}

TEST_CASE("a run that stopped early takes new settings with which it goes on, and no others") {
  const RunRoom room;
  const auto run = room.run("run");
  REQUIRE(train(room.write("small.yaml", growing_config()), run,
                {"policy.kind=none", "growth.enabled=false", "epochs=6", "training.early_stop_epochs=2",
                 "training.early_stop_min_delta=1000"})
              .exit_code == 0);
  const auto epochs = [&] { return read_json(run / "summary.json")["epochs"].get<int>(); };
  REQUIRE(epochs() == 3);
  CHECK(json_of(run_esper({"runs", "show", run, "--json"}))["reason"] ==
        "stopped early: validation loss no longer improves");
  for (const Words& words : {Words{"training.optimizer.lr=0.01"},
                             Words{"training.optimizer.lr=0.01", "training.early_stop_epochs=1"}, Words{"epochs=9"}}) {
    const Finished refused = set(run, words);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(json_of(refused)["error"]["text"].get<std::string>(),
               ContainsSubstring("after 2 epochs without a better loss it would stop early at once") &&
                   ContainsSubstring("to more than 2 or to 0"));
  }
  const Finished shortened = set(run, {"training.early_stop_epochs=0", "epochs=3"});
  CHECK(shortened.exit_code == 2);
  CHECK_THAT(json_of(shortened)["error"]["text"].get<std::string>(), ContainsSubstring("its 3 epochs are trained"));
  REQUIRE(set(run, {"training.early_stop_epochs=3"}).exit_code == 0);
  REQUIRE(set(run, {"training.optimizer.lr=0.01"}).exit_code == 0);  // with the request that lies there
  CHECK(resume(run).exit_code == 0);
  CHECK(epochs() == 4);
}

TEST_CASE("no fewer epochs are taken than the run has reached, which the message names") {
  const RunRoom room;
  const auto run = run_in_sixth_epoch(room);
  for (const std::string epochs : {"3", "6"}) {
    const Finished refused = set(run, {"epochs=" + epochs});
    CHECK(refused.exit_code == 2);
    CHECK_THAT(json_of(refused)["error"]["text"].get<std::string>(),
               ContainsSubstring("epochs: must be more than 6, the epoch that " + run.string() +
                                 " has reached, but is " + epochs));
  }
  CHECK_FALSE(fs::exists(run / "changes"));
  REQUIRE(set(run, {"epochs=7"}).exit_code == 0);
  REQUIRE(resume(run).exit_code == 0);
  CHECK(read_json(run / "summary.json")["epochs"] == 7);
}

TEST_CASE("a run that is resumed within an epoch ends with that one at the earliest") {
  const RunRoom room;
  const auto run = run_in_sixth_epoch(room);
  const auto before = contents_of(run / "config.yaml");
  for (const std::string epochs : {"3", "5"}) {
    const Finished refused = resume(run, {"epochs=" + epochs});
    CHECK(refused.exit_code == 2);
    CHECK_THAT(json_of(refused)["error"]["text"].get<std::string>(),
               ContainsSubstring("epochs: must be at least 6, the epoch that " + run.string() +
                                 " has reached, but is " + epochs));
  }
  CHECK(contents_of(run / "config.yaml") == before);
  REQUIRE(resume(run, {"epochs=6"}).exit_code == 0);
  CHECK(read_json(run / "summary.json")["epochs"] == 6);
}

TEST_CASE("where the list of accepted settings is damaged nothing is trained") {
  const Trained it;
  const auto run = it.changed();
  const std::string damage = GENERATE("", "{\"changes\": [");
  it.room.write("changed/run/changes/accepted.json", damage);
  const Finished finished = resume(run);
  CHECK(finished.exit_code == 5);
  CHECK_THAT(finished.out + finished.err, ContainsSubstring("accepted.json is damaged"));
}

TEST_CASE("a fork goes on with the settings that its parent's checkpoint was trained with") {
  const Trained it;
  const auto run = it.changed();
  const auto name = checkpoint_within(run, 10);
  const auto step = state_of(run, name)["progress"]["step"].get<int>();
  const auto fork = it.room.run("fork");
  fs::create_directories(fork.parent_path());
  const Finished forked = run_esper({"fork", run.string() + "@" + std::to_string(step), "--run-dir", fork, "--json"});
  INFO(forked.err);
  REQUIRE(forked.exit_code == 0);
  const auto record = record_of(fork), parents = record_of(run);
  CHECK(accepted_by(fork) == accepted_by(run));
  CHECK((record.tensors == parents.tensors));
}

TEST_CASE("esper set does not take the run's lock, which a run that is resumed at that moment would find held") {
  const RunRoom room;
  const auto run = room.run("run");
  const Words fixed{"policy.kind=none", "growth.enabled=false", "epochs=2"};
  REQUIRE(train(room.write("small.yaml", growing_config()), run, fixed).exit_code == 0);
  fs::remove(run / "lock");
  const Finished asked = set(run, {"epochs=3"});
  INFO(asked.out << asked.err);
  REQUIRE(asked.exit_code == 0);
  CHECK(json_of(asked)["from"] == "resume");
  CHECK_FALSE(fs::exists(run / "lock"));
}

TEST_CASE("esper set refuses with all problems, and leaves nothing behind") {
  const Trained it;
  const auto run = it.room.run("whole");
  const Finished refused =
      run_esper({"set", run, "training.optimizer.lr=fast", "seed=3", "training.optimiser.lr=1", "epochs=30"});
  CHECK(refused.exit_code == 2);
  for (const char* text :
       {"training.optimizer.lr", "seed: cannot be changed while a run trains; these can: training.optimizer.lr, ",
        "training.optimiser.lr", "epochs: cannot be changed while the run trains, since its growth policy"}) {
    CHECK_THAT(refused.err, ContainsSubstring(text));
  }
  const Finished ended = set(run, {"training.optimizer.lr=0.01"});
  CHECK(ended.exit_code == 2);
  CHECK_THAT(json_of(ended)["error"]["text"].get<std::string>(), ContainsSubstring("has ended: its 24 epochs"));
  CHECK_FALSE(fs::exists(run / "changes"));
}

}  // namespace esper::test::set_test
