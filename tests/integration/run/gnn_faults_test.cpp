// Whole runs whose policy network fails, is late, or thinks while the run trains on.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::gnn_faults_test {

using namespace esper::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kDigits = ESPER_SOURCE_DIR "/configs/run/digits_gnn.yaml";
// Decisions are drawn nearly at random, and nothing but a fault holds them back.
const Words kRandom = {"policy.file=",
                       "epochs=6",
                       "device.kind=cpu",
                       "telemetry.console=none",
                       "safety.policy_deadline=60s",
                       "checkpoint.keep_last=10",
                       "policy.gnn.temperature=100",
                       "policy.gnn.seed=1",
                       "policy.risk.loss_volatility=1e9",
                       "policy.risk.gradient_variance=1e9",
                       "policy.risk.loss_spike=1e9",
                       "policy.risk.loss_warning=1e9"};

std::string breaker_changes_of(const fs::path& run) {
  std::string changes;
  for (const auto& event : events_of(run, "breaker_event")) {
    const auto& facts = event["attributes"];
    changes += facts["from"].get<std::string>() + ">" + facts["to"].get<std::string>() + " ";
  }
  return changes;
}

// The run without any policy, to the last digit of each epoch.
void check_trained_as_without_policy(const RunRoom& room, const fs::path& run) {
  REQUIRE(train(kDigits, room.run("none"), kRandom + Words{"policy.kind=none"}).exit_code == 0);
  CHECK(record_of(run).epochs == record_of(room.run("none")).epochs);
}

int epoch_of_first_graft(const fs::path& run) {
  const auto grafts = events_of(run, "seed_grafted");
  return grafts.empty() ? 0 : std::stoi(grafts[0]["attributes"]["epoch"].get<std::string>());
}

}  // namespace

TEST_CASE("a network that fails is asked no more, then probed, then trusted again, and the run is none the worse") {
  const RunRoom room;
  const auto run = room.run("failing");
  const Words words = train_command(kDigits, run, kRandom + Words{"policy.breaker.open_time=1us"});
  const Finished finished = run_program(words, {"ESPER_FAULTS=tamiyo.decide@2x3"});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK(events_of(run, "tolaria.tamiyo_error").size() == 3);
  CHECK(events_of(run, "tamiyo_runtime_fallback").size() == 3);
  CHECK(breaker_changes_of(run) == "CLOSED>OPEN OPEN>HALF_OPEN HALF_OPEN>CLOSED ");
  CHECK(values_of(run, "tamiyo.breaker.inference_state") == std::vector<double>{1, 1, 1, 2, 1, 1});
  CHECK(values_of(run, "tamiyo.fallback.synthetic_pause") == std::vector<double>{0, 1, 1, 1, 0, 0});
  CHECK(values_of(run, "tolaria.mode.conservative") == std::vector<double>{0, 1, 1, 1, 0, 0});
  CHECK(values_of(run, "tamiyo.conservative_mode") == std::vector<double>{0, 0, 0, 1, 0, 0});
  CHECK(events_of(run, "conservative_entered").size() == 1);
  CHECK(events_of(run, "conservative_exited").size() == 1);
  CHECK(events_of(run, "tolaria.conservative_mode_entered").size() == 1);
  CHECK(events_of(run, "tolaria.conservative_mode_cleared").size() == 1);
  const auto escalated = events_of(run, "tolaria.emergency.escalated");
  REQUIRE(escalated.size() == 1);
  CHECK(escalated[0]["attributes"]["level"] == "3");
  CHECK(events_of(run, "seed_grafted").empty());  // what was decided after the probe came in conservative mode
  check_trained_as_without_policy(room, run);
}

TEST_CASE("a network that is always late changes nothing in the run but that it is reported") {
  const RunRoom room;
  const auto run = room.run("late");
  const Words words = train_command(kDigits, run, kRandom + Words{"safety.policy_deadline=1us"});
  const Finished finished = run_program(words, {"ESPER_FAULTS=tamiyo.late@1x*"});  // where the network is quicker
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  const auto timeouts = events_of(run, "tolaria.tamiyo_timeout");
  CHECK(timeouts.size() >= 3);
  CHECK(events_of(run, "timeout_inference").size() == timeouts.size());
  CHECK(events_of(run, "tamiyo.decision").empty());
  CHECK(values_of(run, "tolaria.timeout.tamiyo_total").back() == static_cast<double>(timeouts.size()));
  CHECK(breaker_changes_of(run).starts_with("CLOSED>OPEN "));
  CHECK(values_of(run, "tolaria.mode.conservative") == std::vector<double>(6, 1));
  check_trained_as_without_policy(room, run);
}

TEST_CASE("with overlap the network decides the same an epoch later, and a resumed run repeats it") {
  const RunRoom room;
  const auto waiting = room.run("waiting"), whole = room.run("whole");
  REQUIRE(train(kDigits, waiting, kRandom).exit_code == 0);
  const Finished finished = train(kDigits, whole, kRandom + Words{"policy.overlap=on"});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  const int decided = epoch_of_first_graft(waiting);
  REQUIRE(decided > 0);
  REQUIRE(decided < 5);  // an end of an epoch is left, which is not the run's
  CHECK(epoch_of_first_graft(whole) == decided + 1);
  const json replayed = json_of(run_esper({"policy", "replay", whole.string(), "--json"}));
  CHECK(replayed["decisions"] == 6);
  CHECK(replayed["same"] == 6);

  const auto names = checkpoints_of(whole);
  const auto open = std::ranges::find_if(names, [&](const std::string& name) {
    const auto state = json::parse(state_of(whole, name)["controller"].get<std::string>());
    return state.contains("question") && state["question"]["observation"]["current_epoch"] == decided;
  });
  REQUIRE(open != names.end());
  copy_run_until(whole, *open, room.run("resumed"));
  const Finished resumed = resume(room.run("resumed"));
  INFO(resumed.err);
  REQUIRE(resumed.exit_code == 0);
  check_equal(record_of(room.run("resumed")), record_of(whole), Telemetry::kMayLack);
}

}  // namespace esper::test::gnn_faults_test
