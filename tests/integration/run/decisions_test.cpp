// The log of decisions of whole runs, and the commands that read it.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "leyline/decision_record.h"
#include "run_record.h"
#include "run_room.h"

namespace esper::test::decisions_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

Finished policy(const std::string& command, const fs::path& run, const Words& words = {}) {
  return run_esper(Words{"policy", command, run.string()} + words);
}

json policy_json(const std::string& command, const fs::path& run, const Words& words = {}) {
  const Finished finished = policy(command, run, words + Words{"--json"});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  return json::parse(finished.out);
}

// All of the run's decisions are reproduced.
void check_replayed(const fs::path& run, std::size_t decisions) {
  const json replayed = policy_json("replay", run);
  INFO(replayed.dump());
  CHECK(replayed["decisions"] == decisions);
  CHECK(replayed["same"] == decisions);
  CHECK(replayed["differences"].empty());
  CHECK(replayed["gaps"].empty());
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void write_lines(const fs::path& file, const std::vector<std::string>& lines) {
  std::ofstream out(file, std::ios::trunc);
  for (const auto& line : lines) out << line << '\n';
}

const std::string kDigits = ESPER_SOURCE_DIR "/configs/run/digits_gnn.yaml";
const Words kNetwork = {"policy.file=",
                        "epochs=4",
                        "device.kind=cpu",
                        "telemetry.console=none",
                        "safety.policy_deadline=60s",
                        "policy.gnn.temperature=10",
                        "checkpoint.keep_last=10"};

}  // namespace

TEST_CASE("every decision of a run is reproduced, explained, and compared with another policy's") {
  const RunRoom room;
  const auto run = room.run("run");
  REQUIRE(train(room.write("small.yaml", growing_config()), run).exit_code == 0);
  check_replayed(run, 24);

  const auto swapped = policy_json("swap", run, {"--policy", "none"});
  CHECK(swapped["decisions"].size() == 24);
  CHECK(swapped["different"] > 0);
  for (const auto& decision : swapped["decisions"]) {
    CHECK(decision["same"] == decision["recorded"].empty());
    CHECK(decision["instead"].empty());
  }
  CHECK(policy_json("swap", run, {"--policy", "heuristic"})["different"] == 0);

  const auto decisions = events_of(run, "tamiyo.decision");
  REQUIRE(decisions.size() == 24);
  for (const int epoch : {1, 12, 24}) {
    const auto explained = policy_json("explain", run, {std::to_string(epoch)});
    CHECK(explained["epoch"] == epoch);
    CHECK(explained["policy"] == "heuristic");
    CHECK(explained["decision"]["reason"] == decisions[static_cast<std::size_t>(epoch - 1)]["attributes"]["reason"]);
  }
  const auto text = policy("explain", run, {"3"});
  CHECK_THAT(text.out, ContainsSubstring("epoch 3 of 24") && ContainsSubstring("what it saw"));

  const auto alone = policy("compare", run);
  CHECK(alone.exit_code == 3);
  CHECK_THAT(alone.err, ContainsSubstring("asked only one policy") && ContainsSubstring("esper policy swap"));
}

TEST_CASE("a resumed run has each decision once, and a fork begins with its parent's") {
  const RunRoom room;
  const auto whole = room.run("whole");
  REQUIRE(train(room.write("small.yaml", growing_config()), whole, {"epochs=10"}).exit_code == 0);
  const auto names = checkpoints_of(whole);
  REQUIRE(names.size() >= 4);
  const auto cut = room.run("resumed");
  copy_run_until(whole, names[2], cut);
  fs::copy_file(whole / "decisions.jsonl", cut / "decisions.jsonl");  // as of a process that was killed at its end
  REQUIRE(resume(cut).exit_code == 0);
  check_replayed(cut, 10);
  CHECK(lines_of(cut / "decisions.jsonl").size() > 12);

  const auto step = state_of(whole, names[3])["progress"]["step"].get<int>();
  const auto fork = room.run("fork");
  const Finished forked =
      run_esper({"fork", whole.string() + "@" + std::to_string(step), "--run-dir", fork.string(), "--quiet"});
  INFO(forked.err);
  REQUIRE(forked.exit_code == 0);
  CHECK(lines_of(fork / "decisions.jsonl").size() < 11);
  check_replayed(fork, 10);
}

TEST_CASE("a decision that differs, and a damaged line, are named") {
  const RunRoom room;
  const auto run = room.run("run");
  REQUIRE(train(room.write("small.yaml", growing_config()), run, {"epochs=6"}).exit_code == 0);
  const auto file = run / "decisions.jsonl";
  auto lines = lines_of(file);
  REQUIRE(lines.size() == 7);
  lines[3].resize(lines[3].size() / 2);
  write_lines(file, lines);
  const Finished damaged = policy("replay", run);
  CHECK(damaged.exit_code == 1);
  CHECK_THAT(damaged.out, ContainsSubstring("note: line 4 of ") && ContainsSubstring("5 of 5 decisions"));
  const auto missing = policy("explain", run, {"3"});
  CHECK(missing.exit_code == 2);
  CHECK_THAT(missing.err, ContainsSubstring("there is no decision after epoch 3"));
}

TEST_CASE("each problem of the run file in a log of decisions is reported as JSON with its place") {
  const RunRoom room;
  const auto run = room.run("run");
  REQUIRE(train(room.write("small.yaml", growing_config()), run, {"epochs=2"}).exit_code == 0);
  const auto file = run / "decisions.jsonl";
  auto lines = lines_of(file);
  auto begin = leyline::read_decision_line(lines.at(0));
  REQUIRE(begin);
  auto& process = std::get<leyline::DecisionProcess>(*begin);
  process.config += "colour: blue\n";
  lines[0] = leyline::decision_line(process);
  write_lines(file, lines);
  const Finished refused = policy("replay", run, {"--json"});
  CHECK(refused.exit_code == 2);
  const json error = json_of(refused)["error"];
  REQUIRE(error["problems"].size() == 1);
  CHECK(error["problems"][0]["path"] == "colour");
  CHECK(error["problems"][0]["line"] > 1);
}

TEST_CASE("a policy network's decisions are reproduced to the last bit, over a resume too") {
  const RunRoom room;
  const auto whole = room.run("whole");
  REQUIRE(train(kDigits, whole, kNetwork).exit_code == 0);
  check_replayed(whole, 4);
  const auto names = checkpoints_of(whole);
  REQUIRE(names.size() >= 2);
  copy_run_until(whole, names[1], room.run("resumed"));
  fs::copy_file(whole / "decisions.jsonl", room.run("resumed") / "decisions.jsonl");
  REQUIRE(resume(room.run("resumed")).exit_code == 0);
  check_replayed(room.run("resumed"), 4);

  const auto explained = policy_json("explain", whole, {"2", "--features"});
  CHECK(explained["actions"].size() == 5);
  CHECK(explained["actions"][0]["action"] == "wait");
  CHECK(explained["actions"][0]["possible"] == true);
  CHECK(explained["nodes"][0]["node"] == "global 0");
  CHECK(explained["nodes"][0]["features"]["validation_loss"].is_number());
}

TEST_CASE("a state that does not follow from the decision before is named, however often the policy is asked") {
  for (const std::string every : {"1 epoch", "2 epochs", "40 steps"}) {  // of 23 steps an epoch
    CAPTURE(every);
    const RunRoom room;
    const auto run = room.run("run");
    REQUIRE(train(kDigits, run, kNetwork + Words{"epochs=6", "policy.every=" + every}).exit_code == 0);
    auto lines = lines_of(run / "decisions.jsonl");
    check_replayed(run, lines.size() - 1);
    auto last = leyline::read_decision_line(lines.back());
    REQUIRE(last);
    auto& record = std::get<leyline::DecisionRecord>(*last);
    auto state = json::parse(record.state);
    state["normaliser"]["loss"][0] = 100;
    record.state = state.dump();
    lines.back() = leyline::decision_line(record);
    write_lines(run / "decisions.jsonl", lines);
    const auto differences = json_of(policy("replay", run, {"--json"}))["differences"];
    CAPTURE(differences.dump());
    CHECK(std::ranges::any_of(differences, [&](const json& one) {
      return one["what"] == "state" && one["epoch"] == (every == "1 epoch" ? 5 : 4);
    }));
  }
}

TEST_CASE("an ensemble runs as its first policy alone, and says where the others would have decided otherwise") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Words random = {"policy.random.probability=0.5"};
  REQUIRE(train(config, room.run("alone"), random).exit_code == 0);
  const auto both = room.run("both");
  REQUIRE(train(config, both, random + Words{"policy.kind=ensemble", "policy.ensemble=[heuristic, random, none]"})
              .exit_code == 0);
  const auto got = record_of(both), expected = record_of(room.run("alone"));
  CHECK(got.tensors == expected.tensors);
  CHECK(got.epochs == expected.epochs);
  CHECK(got.decisions == expected.decisions);
  check_replayed(both, 24);
  const auto compared = policy_json("compare", both);
  REQUIRE(compared["policies"].size() == 2);
  CHECK(compared["policies"][0]["policy"] == "none");
  CHECK(compared["policies"][1]["policy"] == "random");
  CHECK(compared["policies"][1]["different"] > 0);
  for (const auto& policy : compared["policies"]) {
    CHECK(policy["same"].get<int>() + policy["different"].get<int>() == 24);
    CHECK(policy["no_answer"] == 0);
  }
  CHECK_THAT(policy("compare", both).out, ContainsSubstring("random: the same in "));

  // Shadows come and go; the run is the same.
  const auto names = checkpoints_of(both);
  copy_run_until(both, names[3], room.run("changed"));
  REQUIRE(resume(room.run("changed"), {"policy.kind=heuristic"}).exit_code == 0);
  CHECK(record_of(room.run("changed")).tensors == expected.tensors);
}

TEST_CASE("what is asked of a run without a log, or of no policy, is said with the way out") {
  const RunRoom room;
  const auto run = room.run("run");
  REQUIRE(train(room.write("small.yaml", growing_config()), run, {"epochs=2", "policy.kind=none"}).exit_code == 0);
  for (const char* command : {"replay", "compare"}) {
    const Finished finished = policy(command, run);
    CHECK(finished.exit_code == 3);
    CHECK_THAT(finished.err, ContainsSubstring("has no decisions.jsonl") && ContainsSubstring("its policy is none"));
  }
  CHECK(policy("explain", run, {"1"}).exit_code == 3);
  CHECK(policy("replay", room.run("nowhere")).exit_code == 2);
  const Finished unknown = policy("swap", run, {"--policy", "hueristic"});
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.err, ContainsSubstring("did you mean heuristic?"));
}

}  // namespace esper::test::decisions_test
