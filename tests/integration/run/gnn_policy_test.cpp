// Whole runs that a policy network decides, which has not learned.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::gnn_policy_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

const std::string kDigits = ESPER_SOURCE_DIR "/configs/run/digits_gnn.yaml";
const Words kShort = {"policy.file=", "epochs=2", "device.kind=cpu", "telemetry.console=none",
                      "safety.policy_deadline=60s"};

}  // namespace

TEST_CASE("a fresh policy network waits, and each epoch says what it saw, thought and took") {
  const RunRoom room;
  const auto run = room.run("fresh");
  const Finished finished = train(kDigits, run, kShort);
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK(events_of(run, "seed_grafted").empty());
  const auto decisions = events_of(run, "tamiyo.decision");
  REQUIRE(decisions.size() == 2);
  CHECK_THAT(decisions[0]["attributes"]["reason"].get<std::string>(), ContainsSubstring("the network chose wait"));
  for (const char* name : {"tamiyo.validation_loss", "tamiyo.inference.latency_ms", "tamiyo.gnn.inference.latency_ms",
                           "tamiyo.gnn.feature_coverage", "tamiyo.gnn.feature_coverage.node.seed",
                           "tamiyo.gnn.feature_coverage.node.layer", "tamiyo.gnn.feature_coverage.edges.seed_monitors",
                           "tamiyo.policy.value_estimate", "tamiyo.policy.risk_index", "tamiyo.policy.risk_score",
                           "tamiyo.conservative_mode", "tamiyo.breaker.inference_state",
                           "tamiyo.breaker.inference_failures", "tamiyo.fallback.seed", "tamiyo.fallback.blueprint",
                           "tamiyo.fallback.runtime", "tamiyo.fallback.synthetic_pause",
                           "tamiyo.field_reports.published_total", "tamiyo.field_reports.pending_total"}) {
    CAPTURE(name);
    CHECK(values_of(run, name).size() == 2);
  }
  CHECK(values_of(run, "tamiyo.loss_delta").size() == 1);  // there is nothing before the first epoch
  CHECK(values_of(run, "tamiyo.breaker.inference_state") == std::vector<double>{1, 1});
  CHECK(values_of(run, "tamiyo.fallback.runtime") == std::vector<double>{0, 0});
  CHECK(values_of(run, "tamiyo.gnn.feature_coverage.node.seed")[0] > 0);
}

TEST_CASE("a resumed run asks the same network and gets the same decisions, compiled or not") {
  const bool compiled = GENERATE(false, true);
  CAPTURE(compiled);
  const RunRoom room;
  const auto whole = room.run("whole");
  const auto assignments = kShort + Words{"epochs=6", "policy.gnn.temperature=10", "checkpoint.keep_last=10",
                                          compiled ? "policy.gnn.compile=true" : "policy.gnn.compile=false"};
  REQUIRE(train(kDigits, whole, assignments).exit_code == 0);
  CHECK(values_of(whole, "tamiyo.gnn.compile_enabled") == std::vector<double>(compiled ? 6 : 0, 1));
  const auto names = checkpoints_of(whole);
  REQUIRE(names.size() >= 3);
  copy_run_until(whole, names[1], room.run("resumed"));
  const Finished finished = resume(room.run("resumed"));
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  check_equal(record_of(room.run("resumed")), record_of(whole), Telemetry::kMayLack);

  copy_run_until(whole, names[1], room.run("other"));
  const Finished other = resume(room.run("other"), {"policy.gnn.seed=5"});
  CHECK(other.exit_code != 0);
}

TEST_CASE("a run whose network decides in bf16 is reproduced and resumed bit for bit, or refused by the processor") {
  const RunRoom room;
  const auto exact = room.run("exact"), rounded = room.run("rounded");
  const auto assignments = kShort + Words{"epochs=4", "checkpoint.keep_last=10", "policy.gnn.temperature=10"};
  REQUIRE(train(kDigits, exact, assignments).exit_code == 0);
  const Finished finished = train(kDigits, rounded, assignments + Words{"policy.gnn.bf16=true"});
  INFO(finished.out << finished.err);
  if (finished.exit_code == 7) {
    CHECK_THAT(
        finished.err,
        ContainsSubstring(
            "policy.gnn.bf16: this processor has no bf16 matrix instructions (avx512_bf16, amx_bf16); turn it off"));
    return;
  }
  REQUIRE(finished.exit_code == 0);
  CHECK(values_of(rounded, "tamiyo.policy.value_estimate") != values_of(exact, "tamiyo.policy.value_estimate"));
  CHECK(run_esper({"policy", "replay", rounded.string()}).exit_code == 0);
  copy_run_until(rounded, checkpoints_of(rounded)[1], room.run("resumed"));
  REQUIRE(resume(room.run("resumed")).exit_code == 0);
  check_equal(record_of(room.run("resumed")), record_of(rounded), Telemetry::kMayLack);
}

TEST_CASE("a policy file that is none is named, with the way out") {
  const RunRoom room;
  const auto file = room.write("policy.safetensors", "not weights");
  for (const auto& path : {file, file + ".missing"}) {
    const Finished finished = train(kDigits, room.run("none"), kShort + Words{"policy.file=" + path});
    CHECK(finished.exit_code == 7);
    CHECK_THAT(finished.err, ContainsSubstring("policy.file: "));
    CHECK_THAT(finished.err, ContainsSubstring(path));
    CHECK_THAT(finished.err, ContainsSubstring("leave it empty for an untrained network"));
    CHECK_FALSE(fs::exists(room.run("none")));
  }
}

}  // namespace esper::test::gnn_policy_test
