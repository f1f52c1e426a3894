// Whole runs that a policy in a process of its own decides.
#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_record.h"
#include "run_room.h"
#include "support/process_end.h"

namespace esper::test::process_policy_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

const std::string kExample = ESPER_SOURCE_DIR "/configs/policy/controller.py";

// Nothing but the program decides.
Words decided_by(const std::string& script) {
  return {"policy.kind=process",
          "policy.command=[python3, -B, " + script + "]",
          "policy.risk.loss_volatility=1e9",
          "policy.risk.gradient_variance=1e9",
          "policy.risk.loss_spike=1e9",
          "policy.risk.loss_warning=1e9"};
}

// The example, with `line` run once in its process and `each` before each decision.
std::string changed_example(const RunRoom& room, const std::string& line, const std::string& each = "pass") {
  return room.write("changed.py", "import sys; sys.path.insert(0, '" + fs::path(kExample).parent_path().string() +
                                      "')\nimport controller, os, time\n" + line +
                                      "\ndecide = controller.decide\n"
                                      "def changed(seen, state):\n    " +
                                      each +
                                      "\n    return decide(seen, state)\n"
                                      "controller.decide = changed\ncontroller.main()\n");
}

void check_replayed(const fs::path& run) {
  const Finished finished = run_esper({"policy", "replay", run.string()});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 0);
}

}  // namespace

TEST_CASE("a run that a process decides grows, is resumed as it was, and its decisions are reproduced") {
  const Words policy = GENERATE(decided_by(kExample), Words{"policy.host=process"});
  CAPTURE(policy);
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto whole = room.run("whole");
  const Finished finished = train(config, whole, policy);
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK_FALSE(events_of(whole, "seed_grafted").empty());
  CHECK(events_of(whole, "tamiyo_runtime_fallback").empty());
  CHECK(values_of(whole, "tamiyo.process.starts_total").back() == 1);
  CHECK(values_of(whole, "kasmina.command_verifier.accepted_total").back() > 0);
  check_replayed(whole);

  const auto names = checkpoints_of(whole);
  copy_run_until(whole, names.at(names.size() / 2), room.run("resumed"));
  const Finished resumed = resume(room.run("resumed"));
  INFO(resumed.err);
  REQUIRE(resumed.exit_code == 0);
  check_equal(record_of(room.run("resumed")), record_of(whole), Telemetry::kMayLack);
}

TEST_CASE("a run that a process decides is forked without one of its seeds") {
  const RunRoom room;
  const auto parent = room.run("parent"), fork = room.run("fork");
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, parent, decided_by(kExample)).exit_code == 0);
  std::string from;
  for (const auto& name : checkpoints_of(parent)) {
    const auto state = state_of(parent, name);
    if (!from.empty() || stages_of(state).find("TRAINING") == std::string::npos) continue;
    from = parent.string() + "@" + std::to_string(state["progress"]["step"].get<int>());
  }
  REQUIRE_FALSE(from.empty());
  const Finished forked = run_esper({"fork", from, "--run-dir", fork.string(), "--without", "seed-0001", "--quiet"});
  INFO(forked.out << forked.err);
  REQUIRE(forked.exit_code == 0);
  CHECK(events_of(fork, "tamiyo_runtime_fallback").empty());
  check_replayed(fork);
}

TEST_CASE("a policy network decides in a process as it does in a thread") {
  const RunRoom room;
  const std::string digits = ESPER_SOURCE_DIR "/configs/run/digits_gnn.yaml";
  const Words words = {"policy.file=",
                       "epochs=3",
                       "device.kind=cpu",
                       "telemetry.console=none",
                       "safety.policy_deadline=60s",
                       "policy.gnn.temperature=10"};
  REQUIRE(train(digits, room.run("thread"), words).exit_code == 0);
  const Finished finished = train(digits, room.run("process"), words + Words{"policy.host=process"});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  check_equal(record_of(room.run("process")), record_of(room.run("thread")));
  check_replayed(room.run("process"));
}

TEST_CASE("a process that dies again and again costs decisions, and the run goes on") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto script = changed_example(room, "", "if seen['current_epoch'] in (4, 5, 9): os._exit(3)");
  const auto run = room.run("dies");
  // A run whose losses make it go back to a checkpoint begins with another controller, which counts from 0.
  const Finished finished = train(config, run, decided_by(script) + Words{"epochs=60", "safety.watch_loss=false"});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK(events_of(run, "tamiyo_runtime_fallback").size() >= 3);
  CHECK(values_of(run, "tamiyo.process.starts_total").back() >= 3);
  CHECK(nlohmann::json::parse(finished.out)["epochs"] == 60);
}

TEST_CASE("a process that is not ready ends the run before it begins, with the reason") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto check = [&](const Words& policy, const std::string& reason) {
    const Finished finished = train(config, room.run("none"), policy);
    CHECK(finished.exit_code == 7);
    CHECK_THAT(finished.err, ContainsSubstring(reason));
    CHECK_THAT(finished.err, ContainsSubstring("docs/controller.md"));
    CHECK_FALSE(fs::exists(room.run("none")));
  };
  check({"policy.kind=process", "policy.command=[/no/such/program]"}, "cannot start /no/such/program");
  check(decided_by(room.write("ends.py", "raise SystemExit(3)")), "it has ended");
  check(decided_by(room.write("hangs.py", "import time; time.sleep(600)")) + Words{"safety.policy_start_deadline=2s"},
        "it does not answer in time");
}

TEST_CASE("esper policy serve by hand says who starts it") {
  const Finished finished = run_esper({"policy", "serve"});
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.err, ContainsSubstring("is started by runs with policy.host: process; start such a run"));
}

TEST_CASE("with a killed run ends its policy's process") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto file = (room.path / "pid").string();
  const auto script = changed_example(room, "open('" + file + "', 'w').write(str(os.getpid()))");
  RunningProgram program(train_command(config, room.run("killed"), decided_by(script) + Words{"epochs=100000"}));
  REQUIRE(wait_for_first_epoch(room.run("killed"), program));
  pid_t process = 0;
  std::ifstream(file) >> process;
  REQUIRE(process > 0);
  CHECK(is_running(process));
  program.send(SIGKILL);
  program.wait();
  CHECK(comes_to_end(process));
}

}  // namespace esper::test::process_policy_test
