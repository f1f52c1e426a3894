// `esper fork`, and a journal that is held against the checkpoints of its run.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "history/growth/growth_history.h"
#include "run_record.h"
#include "run_room.h"
#include "storage/atomic_publish.h"
#include "storage/bytes.h"
#include "storage/journal/journal.h"
#include "storage/real_file_system.h"
#include "storage/safetensors/safetensors.h"

namespace esper::test::fork_test {

using namespace esper;
using namespace esper::test;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// Bytes of every tensor of a checkpoint, by id.
std::map<std::string, std::string> tensors_of(const fs::path& run, const std::string& checkpoint) {
  std::map<std::string, std::string> tensors;
  const auto loaded = storage::load_safetensors(
      storage::real_file_system(), (run / "checkpoints" / checkpoint / "state.safetensors").string(), 1 << 30);
  REQUIRE(loaded);
  for (const auto& view : loaded->contents.tensors) {
    tensors[view.name] = std::string(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size());
  }
  return tensors;
}

// The means over the validation samples, by epoch of the control.
std::vector<double> control_losses(const fs::path& run, const std::string& checkpoint, const std::string& seed) {
  const auto bytes = tensors_of(run, checkpoint).at("control." + seed + ".loss");
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  const auto samples = static_cast<std::ptrdiff_t>(values.size() / 2);
  std::vector<double> means;
  for (auto row = values.begin(); row != values.end(); row += samples) {
    means.push_back(std::accumulate(row, row + samples, 0.0) / static_cast<double>(samples));
  }
  return means;
}

std::map<int, double> validation_losses(const fs::path& run) {
  std::map<int, double> losses;
  for (const auto& packet : packets_of(run)) {
    for (const auto& metric : packet["metrics"]) {
      if (metric["name"] != "tolaria.validation.loss") continue;
      losses[std::stoi(packet["system_health"]["indicators"]["epoch"].get<std::string>())] = metric["value"];
    }
  }
  return losses;
}

history::GrowthHistory history_of(const fs::path& run) {
  history::GrowthHistory history;
  storage::scan_journal(storage::real_file_system(), (run / "journal").string(),
                        [&](std::string_view text) { history.take(text); });
  return history;
}

bool is_of_seed(const std::string& tensor, const std::string& seed) { return tensor.find(seed) != std::string::npos; }

// The epochs that the policy compares: of a network that had the seed.
bool is_of_network_before(const std::string& tensor) { return tensor.starts_with("control.epochs."); }

// Not the seed's alone, but one row of it is: they are shorter now.
bool has_rows_of_seeds(const std::string& tensor) { return tensor.starts_with("metrics."); }

// The first checkpoint within an epoch whose slots stand like this.
std::string checkpoint_with(const fs::path& run, const std::string& stages) {
  for (const auto& name : checkpoints_of(run)) {
    const auto state = state_of(run, name);
    if (state["progress"]["batch"] != 0 && stages_of(state) == stages) return name;
  }
  FAIL("no checkpoint stands like " << stages);
  return {};
}

std::string origin(const fs::path& run, const std::string& checkpoint) {
  return run.string() + "@" + std::to_string(state_of(run, checkpoint)["progress"]["step"].get<int>());
}

// Whole, with this in run.json.
void forge(const fs::path& run, const std::string& checkpoint, const std::string& place, const json& value) {
  const fs::path folder = run / "checkpoints" / checkpoint;
  const json fields = read_json(folder / "manifest.json")["fields"];
  json state = state_of(run, checkpoint);
  state[json::json_pointer(place)] = value;
  std::vector<storage::FolderFile> files;
  for (const std::string name : {"state.safetensors", "preprocessing.json", "run.json"}) {
    const auto text = name == "run.json" ? state.dump() : contents_of(folder / name);
    files.push_back({name, [text](const storage::ByteSink& sink) { sink(storage::bytes_of(text)); }});
  }
  fs::remove_all(folder);
  storage::publish_folder(storage::real_file_system(), folder.string(), files, fields);
}

Finished fork_run(const std::string& from, const fs::path& to, const Words& more = {}) {
  fs::create_directories(to.parent_path());
  return run_esper(Words{"fork", from, "--run-dir", to.string(), "--json"} + more);
}

}  // namespace

TEST_CASE("a signal that comes while a fork is made leaves a whole one") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto parent = room.run("parent"), child = room.run("child");
  REQUIRE(train(config, parent, {"epochs=2"}).exit_code == 0);
  const auto name = checkpoints_of(parent).front();
  fs::create_directories(child.parent_path());
  const Finished stopped = run_program({binary(), "fork", origin(parent, name), "--run-dir", child.string()},
                                       {"ESPER_FAULTS=tolaria.creating.term@1"});
  CHECK(stopped.exit_code == 143);
  CHECK_THAT(stopped.err, ContainsSubstring("esper train --resume " + child.string()));
  CHECK(checkpoints_of(child).size() == 1);
  REQUIRE(resume(child).exit_code == 0);
  CHECK(read_json(child / "summary.json")["epochs"] == 2);
}

TEST_CASE("a forked run lacks the seed, has the host to the bit, and trains") {
  const std::string stages = GENERATE("DORMANT TRAINING", "DORMANT BLENDING", "TRAINING FOSSILIZED");
  CAPTURE(stages);
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("parent")).exit_code == 0);
  const auto parent = room.run("parent"), child = room.run("child");
  const auto name = checkpoint_with(parent, stages);
  const Finished made = fork_run(origin(parent, name), child, {"--without", "seed-0001", "--no-train"});
  INFO(made.err);
  REQUIRE(made.exit_code == 0);
  CHECK(json_of(made)["run_dir"] == child.string());
  CHECK(json_of(made)["without"] == json{"seed-0001"});

  REQUIRE(checkpoints_of(child) == std::vector{name});
  const auto before = tensors_of(parent, name), after = tensors_of(child, name);
  std::size_t gone = 0;
  for (const auto& [id, bytes] : before) {
    CAPTURE(id);
    gone += is_of_seed(id, "seed-0001") ? 1 : 0;
    // Where no seed is left, what the seeds have rows in is empty, and not saved.
    const bool goes = is_of_seed(id, "seed-0001") || is_of_network_before(id);
    if (!has_rows_of_seeds(id)) CHECK(after.contains(id) == !goes);
    if (!has_rows_of_seeds(id) && after.contains(id)) CHECK(after.at(id) == bytes);
  }
  CHECK(gone > 6);  // weights, moments and the four scalars
  CHECK(after.contains("host.head.weight"));
  const auto state = state_of(child, name);
  CHECK(stages_of(state) == stages.substr(0, stages.find(' ')) + " DORMANT");
  CHECK(state["topology"]["seeds_born"] == state_of(parent, name)["topology"]["seeds_born"]);
  CHECK(state["progress"]["step"] == state_of(parent, name)["progress"]["step"]);
  const auto forked = history_of(child).records().front();
  CHECK(forked.what == "forked");
  CHECK(forked.parent == parent.string());
  CHECK(forked.checkpoint == name);
  CHECK(forked.without == std::vector<std::string>{"seed-0001"});

  const Finished trained = resume(child);
  INFO(trained.err);
  REQUIRE(trained.exit_code == 0);
  CHECK(trained.err.find("could not be compared with") == std::string::npos);
  CHECK(json_of(trained)["epochs"] == 24);
  std::set<std::string> living;
  const auto summary = read_json(child / "summary.json");
  for (const auto& seed : summary["seeds"]) living.insert(seed["seed_id"]);
  CHECK_FALSE(living.contains("seed-0001"));
  CHECK(history_of(child).replay().gaps.empty());
}

TEST_CASE("a seed's control measured what a fork without the seed measures") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto parent = room.run("parent"), child = room.run("child");
  REQUIRE(train(config, parent,
                {"growth.gates.evidence=control", "growth.control.budget=1", "growth.control.epochs=2",
                 "checkpoint.every=1 epochs"})
              .exit_code == 0);
  const auto measured = events_of(parent, "tolaria.control_measured");
  REQUIRE_FALSE(measured.empty());
  const auto& control = measured.front()["attributes"];
  REQUIRE(control["epochs"] == "2");
  const std::string seed = control["seed_id"];
  const int born = std::stoi(control["epoch"].get<std::string>());
  std::string name;
  for (const auto& candidate : checkpoints_of(parent)) {
    if (state_of(parent, candidate)["progress"]["epoch"] == born) name = candidate;
  }
  const auto losses = control_losses(parent, name, seed);
  REQUIRE(losses.size() == 2);

  const Finished forked = fork_run(origin(parent, name), child, {"--without", seed, "--policy", "none"});
  INFO(forked.err);
  REQUIRE(forked.exit_code == 0);
  const auto without = validation_losses(child);
  CHECK(losses[0] == Approx(without.at(born + 1)).epsilon(1e-5));
  CHECK(losses[1] == Approx(without.at(born + 2)).epsilon(1e-5));
  CHECK_FALSE(tensors_of(child, checkpoints_of(child).front()).contains("control." + seed + ".loss"));
}

TEST_CASE("a fork that leaves nothing out goes on as its parent did; fork trains at once") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("parent")).exit_code == 0);
  const auto parent = room.run("parent"), child = room.run("child");
  const auto names = checkpoints_of(parent);
  const Finished finished = fork_run(origin(parent, names[names.size() / 2]), child);
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK(json_of(finished)["status"] == "done");
  // Both run folders are called "run", so that even the ids of commands are the same.
  check_equal(record_of(child), record_of(parent), Telemetry::kMayLack);
}

TEST_CASE("a fork that cannot be made leaves no run behind and names what there is") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), {"epochs=6"}).exit_code == 0);
  const auto run = room.run("run");
  const auto last = checkpoints_of(run).back();
  const auto refused = [&](const std::string& from, const Words& more, int code, const std::string& text) {
    CAPTURE(from, more);
    const Finished finished = fork_run(from, room.run("child"), more);
    CHECK(finished.exit_code == code);
    CHECK_THAT(json_of(finished)["error"]["text"].get<std::string>(), ContainsSubstring(text));
    CHECK_FALSE(fs::exists(room.run("child") / "config.yaml"));
  };
  refused(run.string() + "@6", {}, 2, "has no checkpoint of step 6; available: 7, 8, 14");
  refused(origin(run, last), {"--without", "seed-0009"}, 2, "there is no seed \"seed-0009\" at this step");
  refused(origin(run, last), {"--without", "seed-0001"}, 2, "no epochs left to train");
  fs::resize_file(run / "checkpoints" / last / "state.safetensors", 5);
  refused(origin(run, last), {}, 5, "is damaged");
  const Finished onto_itself = fork_run(origin(run, checkpoints_of(run).front()), run);
  CHECK(onto_itself.exit_code == 2);
  CHECK_THAT(onto_itself.out, ContainsSubstring("already contains a run"));
}

TEST_CASE("a checkpoint that no run can go on from is not forked, for the reason that its own run has") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), {"epochs=2"}).exit_code == 0);
  const auto run = room.run("run");
  const std::string last = checkpoints_of(run).back(), from = origin(run, last);
  for (const auto& name : checkpoints_of(run)) {
    if (name != last) fs::remove_all(run / "checkpoints" / name);
  }
  const auto whole = state_of(run, last);
  struct Forgery {
    std::string place;
    json value;
    std::string reason;
  };
  const json later = {{"epoch", 9}, {"field", "training.optimizer.lr"}, {"value", "0.01"}, {"request", 1}};
  for (const auto& [place, value, reason] :
       {Forgery{"/progress/wall_s", 1e300, "wall_s is 1e+300, which is not a possible duration"},
        Forgery{"/progress/batch", 1000, "its cursor is beyond the end of the epoch"},
        Forgery{"/progress/changes", json::array({later}), "run.json has changes of settings after the epoch"},
        Forgery{"/progress/control", 1, "run.json: expected a list or an object, found number"},
        Forgery{"/progress/safety/good_step", 1000, "run.json: safety.good_step is 1000, beyond step "},
        Forgery{"/controller", "{}", "the saved state of the policy is unusable"},
        Forgery{"/computed_on", 1, "run.json: type must be string, but is number"}}) {
    CAPTURE(place);
    forge(run, last, place, value);
    const Finished forked = fork_run(from, room.run("child"), {"--no-train"});
    CHECK(forked.exit_code == 5);
    CHECK_THAT(json_of(forked)["error"]["text"].get<std::string>(), ContainsSubstring(last + " cannot be forked: ") &&
                                                                        ContainsSubstring(reason) &&
                                                                        ContainsSubstring("; choose another step"));
    CHECK_FALSE(fs::exists(room.run("child") / "config.yaml"));
    const Finished resumed = resume(run, {"epochs=3"});
    CHECK(resumed.exit_code == 5);
    CHECK_THAT(json_of(resumed)["error"]["text"].get<std::string>(), ContainsSubstring(reason));
    forge(run, last, place, whole.at(json::json_pointer(place)));
  }
  CHECK(fork_run(from, room.run("child"), {"--no-train"}).exit_code == 0);
  // A fork without the policy does not need its state.
  forge(run, last, "/controller", "{}");
  CHECK(fork_run(from, room.run("without_policy"), {"--no-train", "--policy", "none"}).exit_code == 0);
  forge(run, last, "", {{"progress", whole["progress"]}});
  const Finished evaluated = run_esper({"evaluate", run.string(), "--json"});
  CHECK(evaluated.exit_code == 5);
  CHECK_THAT(json_of(evaluated)["error"]["text"].get<std::string>(),
             ContainsSubstring(last + " cannot be used: run.json: key 'topology' not found") &&
                 EndsWith("; choose another with --checkpoint"));
}

TEST_CASE("a fork without a seed has no figures of its parent's, and a run that is over says so") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("parent")).exit_code == 0);
  const auto parent = room.run("parent"), child = room.run("child"), same = room.run("same");
  const auto last = checkpoints_of(parent).back();
  const auto living = state_of(parent, last)["topology"].dump();
  const std::string seed = living.find("seed-0001") != std::string::npos ? "seed-0001" : "seed-0002";
  const std::string from = origin(parent, last);

  fs::create_directories(child.parent_path());
  const Finished made = run_esper({"fork", from, "--run-dir", child.string(), "--without", seed, "--no-train"});
  INFO(made.err);
  REQUIRE(made.exit_code == 0);
  CHECK_THAT(made.out, ContainsSubstring("no epochs left to train") &&
                           ContainsSubstring("--resume " + child.string() + " --set epochs=N"));
  CHECK(made.out.find("to continue") == std::string::npos);
  CHECK(state_of(child, last)["progress"]["validation"].is_null());
  const auto safety = state_of(child, last)["progress"]["safety"];
  CHECK(safety["losses"].size() > 0);
  CHECK(safety["losses_before_removal"] == safety["losses"].size());
  CHECK(state_of(parent, last)["progress"]["safety"]["losses_before_removal"] == 0);

  const Finished refused = resume(child);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(json_of(refused)["error"]["text"].get<std::string>(),
             ContainsSubstring("no epochs left to train: the run is at epoch 24 of 24") &&
                 ContainsSubstring("--set epochs=N"));
  CHECK_FALSE(fs::exists(child / "summary.json"));

  const Finished more = resume(child, {"epochs=25"});
  INFO(more.err);
  REQUIRE(more.exit_code == 0);
  const auto measured = json_of(run_esper({"evaluate", child.string(), "--json"}))["validation"];
  CHECK(json_of(more)["validation"]["accuracy"] == measured["accuracy"]);

  const auto asked = room.run("asked");
  const Words without_policy{"--without", seed, "--policy", "none", "--no-train"};
  REQUIRE(fork_run(from, asked, without_policy).exit_code == 0);
  REQUIRE(run_esper({"set", asked, "epochs=25"}).exit_code == 0);
  CHECK(resume(asked).exit_code == 0);
  CHECK(read_json(asked / "summary.json")["epochs"] == 25);

  // Nothing was left out: the network and its figures are the parent's.
  REQUIRE(fork_run(from, same, {"--no-train"}).exit_code == 0);
  const Finished over = resume(same);
  CHECK(over.exit_code == 0);
  CHECK(json_of(over)["validation"] == read_json(parent / "summary.json")["validation"]);
}

TEST_CASE("a fork without a policy does not replace the seed that it left out") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("parent")).exit_code == 0);
  const auto parent = room.run("parent"), child = room.run("child"), replaced = room.run("replaced");
  const std::string from = origin(parent, checkpoint_with(parent, "TRAINING FOSSILIZED"));
  REQUIRE(fork_run(from, replaced, {"--without", "seed-0001", "--without", "seed-0002"}).exit_code == 0);
  CHECK_FALSE(read_json(replaced / "summary.json")["seeds"].empty());

  const Finished alone =
      fork_run(from, child, {"--without", "seed-0001", "--without", "seed-0002", "--policy", "none"});
  INFO(alone.err);
  REQUIRE(alone.exit_code == 0);
  CHECK(read_json(child / "summary.json")["seeds"].empty());
  const auto history = history_of(child);
  for (const auto& record : history.records()) CHECK(record.what != "stage");
  const auto policy =
      json_of(run_esper({"config", "explain", (child / "config.yaml").string(), "policy.kind", "--json"}));
  CHECK(policy[0]["value"] == "none");
  const Finished more = resume(child, {"epochs=25"});  // the fork's checkpoints are of its own configuration
  INFO(more.err);
  CHECK(more.exit_code == 0);
  CHECK(read_json(child / "summary.json")["seeds"].empty());
}

TEST_CASE("a fork may change what a resumed run may change, and names the rest") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("parent"), {"epochs=3"}).exit_code == 0);
  const auto parent = room.run("parent"), child = room.run("child");
  const std::string from = origin(parent, checkpoints_of(parent).back());
  const Finished refused = fork_run(from, child, {"--set", "epochs=4", "training.optimizer.lr=1", "policy.kind=none"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(
      json_of(refused)["error"]["text"].get<std::string>(),
      ContainsSubstring("\n  training.optimizer.lr: 0.05 -> 1\n  policy.kind: heuristic -> none\nA fork may change") &&
          ContainsSubstring("--policy none"));
  CHECK_FALSE(fs::exists(child));
  const Finished longer = fork_run(from, child, {"--set", "epochs=4", "checkpoint.keep_last=2"});
  INFO(longer.err);
  REQUIRE(longer.exit_code == 0);
  CHECK(json_of(longer)["epochs"] == 4);
  CHECK(checkpoints_of(child).size() <= 3);
}

TEST_CASE("where a cosine schedule ends with the run, a fork at its end does not advise more epochs") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("parent"), {"training.schedule.kind=cosine"}).exit_code == 0);
  const auto parent = room.run("parent"), child = room.run("child");
  const auto last = checkpoints_of(parent).back();
  const auto living = state_of(parent, last)["topology"].dump();
  const std::string seed = living.find("seed-0001") != std::string::npos ? "seed-0001" : "seed-0002";
  const std::string from = origin(parent, last), way_out = "so none can be added: fork at an earlier step";
  const auto check_text = [&](const std::string& text) {
    CHECK_THAT(text, ContainsSubstring("no epochs left to train") && ContainsSubstring(way_out) &&
                         !ContainsSubstring("epochs=N"));
  };
  check_text(fork_run(from, child, {"--without", seed}).out);
  CHECK(fork_run(from, child, {"--without", seed, "--set", "epochs=30"}).exit_code == 2);
  const Finished made = run_esper({"fork", from, "--run-dir", child.string(), "--without", seed, "--no-train"});
  REQUIRE(made.exit_code == 0);
  check_text(made.out);
  const Finished resumed = resume(child);
  CHECK(resumed.exit_code == 2);
  check_text(resumed.out);
}

TEST_CASE("a fork whose checkpoint is gone does not begin from nothing") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("parent"), {"epochs=2"}).exit_code == 0);
  const auto child = room.run("child");
  REQUIRE(fork_run(room.run("parent").string() + "@7", child, {"--no-train"}).exit_code == 0);
  fs::remove_all(child / "checkpoints");
  const Finished finished = resume(child);
  CHECK(finished.exit_code == 5);
  CHECK_THAT(finished.out, ContainsSubstring("its checkpoint is missing; fork again"));
  const Finished shown = run_esper({"train", "--dry-run", "--resume", child});
  CHECK(shown.exit_code == 5);
  CHECK_THAT(shown.err, ContainsSubstring("its checkpoint is missing; fork again"));
}

TEST_CASE("a checkpoint that is not the one the journal tells of ends with exit code 5 and what differs") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("parent")).exit_code == 0);
  const auto parent = room.run("parent"), child = room.run("child");
  const auto name = checkpoint_with(parent, "DORMANT TRAINING");
  REQUIRE(fork_run(origin(parent, name), child, {"--without", "seed-0001", "--no-train"}).exit_code == 0);
  // Same configuration, same data, same step: only the journal knows that this is another network.
  fs::remove_all(child / "checkpoints" / name);
  fs::copy(parent / "checkpoints" / name, child / "checkpoints" / name);
  const Finished finished = resume(child);
  CHECK(finished.exit_code == 5);
  CHECK_THAT(json_of(finished)["error"]["text"].get<std::string>(),
             ContainsSubstring("r0c1: DORMANT -> TRAINING seed-0001"));
  CHECK(checkpoints_of(child) == std::vector{name});  // nothing was put away
  // The way out that the text names.
  fs::rename(child / "journal", child / "journal.other");
  const Finished trusted = resume(child);
  CHECK(trusted.exit_code == 0);
  CHECK_THAT(trusted.err, ContainsSubstring("could not be compared with the journal"));
}

TEST_CASE("the journal of a whole run rebuilds every checkpoint, and its commands tell of it") {
  const Words assignments = GENERATE(Words{}, culling() + Words{"host.blocks=1", "epochs=16"});
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), assignments).exit_code == 0);
  const auto run = room.run("run");
  const auto history = history_of(run);
  CHECK(history.replay().gaps.empty());
  for (const auto& name : checkpoints_of(run)) {
    const auto state = state_of(run, name);
    const auto rebuilt = history.replay(history::RunPlace{state["progress"]["epoch"], state["progress"]["step"]});
    CHECK(topology_hash(rebuilt.topology) == state["topology_hash"]);
  }
  const auto log = json_of(run_esper({"topo", "log", run.string(), "--json"}));
  CHECK(log["hash"] == state_of(run, checkpoints_of(run).back())["topology_hash"]);
  CHECK(log["gaps"].empty());
  const auto receipt = json_of(run_esper({"receipt", run.string(), "seed-0001", "--json"}));
  CAPTURE(receipt.dump(2));
  CHECK(receipt["parameters"].get<double>() > 0);
  CHECK(receipt["memory_bytes"].get<double>() >= 12 * receipt["parameters"].get<double>());
  CHECK(receipt["stall_ms"]["graft"].get<double>() > 0);
  CHECK(receipt["step_ms"]["after"].get<double>() > 0);
  CHECK(receipt["contribution"]["measurements"].get<int>() > 0);
  CHECK(receipt["swap"]["swap_us"].get<double>() > 0);
  CHECK(receipt["swap"]["prepare_ms"].get<double>() >= 0);
  CHECK(receipt["reward"]["epochs"].size() == receipt["contribution"]["measurements"]);
  CHECK(receipt["reward"]["total"].is_number());
  CHECK(receipt["reward"]["missing"] == "");
  CHECK(receipt["outcome"] == (assignments.empty() ? "fossilised" : "culled"));
  const Finished text = run_esper({"receipt", run.string(), "seed-0001"});
  CHECK_THAT(text.out, ContainsSubstring("command GERMINATE: plateau") && ContainsSubstring("G0 passed"));
}

}  // namespace esper::test::fork_test
