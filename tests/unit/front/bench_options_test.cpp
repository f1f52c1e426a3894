#include "esper/bench/bench_options.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "base/error.h"
#include "base/gpu_present.h"
#include "base/text/problem.h"
#include "esper/bench/scenarios.h"
#include "esper/version.h"

namespace esper {

std::string build_commit() { return "0123456789ab"; }

namespace test::bench_options_test {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Words = std::vector<std::string>;

namespace {

BenchOptions parse(Words words) {
  BenchOptions options;
  CLI::App command;
  add_workload_options(command, options);
  add_lane_options(command, options);
  std::reverse(words.begin(), words.end());
  command.parse(words);
  return options;
}

config::RunConfig config_of(const Words& words) { return job_of(parse(words)).config; }

}  // namespace

TEST_CASE("every flag of the reference sets its field") {
  CHECK(config_of({"--compile-mode", "max-autotune"}).step.compile.mode == config::CompileMode::kMaxAutotune);
  CHECK(config_of({"--compile-dynamic"}).step.compile.dynamic);
  CHECK(config_of({"--compile-warmup-steps", "5"}).step.compile.warmup_steps == 5);
  CHECK(config_of({"--graph-warmup-batches", "7"}).step.graph.warmup_batches == 7);
  CHECK(config_of({"--no-compile"}).step.lane == config::Lane::kEager);
  CHECK(assignments_of(parse({"--enable-graphs"})) == Words{"step.lane=graph"});
  CHECK(config_of({"--enable-gpu-prefetch"}).data.gpu_prefetch);
  CHECK(config_of({"--gpu-dataset"}).data.gpu_dataset == config::Resident::kOn);
  CHECK(config_of({"--dataloader-workers", "2"}).data.workers == 2);
  CHECK(config_of({"--prefetch-factor", "4"}).data.prefetch == 4);
  CHECK_FALSE(config_of({"--no-persistent-workers"}).data.persistent_workers);
  CHECK_FALSE(config_of({"--no-pin-memory"}).data.pin_memory);
  CHECK(config_of({"--threads", "3"}).device.threads == 3);
  CHECK(config_of({"--epochs", "17"}).epochs == 17);
}

TEST_CASE("a value that a field refuses is reported with the flag that it came by") {
  const auto check_refused = [](const Words& words, const std::string& flag) {
    CAPTURE(words);
    CHECK_THROWS_MATCHES(config_of(words), base::ConfigError, MessageMatches(ContainsSubstring("\n  " + flag + ": ")));
  };
  check_refused({"--compile-mode", "fastest"}, "--compile-mode fastest");
  check_refused({"--dataloader-workers", "-1"}, "--dataloader-workers -1");
  check_refused({"--prefetch-factor", "2", "--set", "data.prefetch=0"}, "--set data.prefetch=0");
}

TEST_CASE("what cannot train on this machine is refused with the flag or the assignment that asks for it") {
  CHECK_THROWS_MATCHES(config_of({"--enable-graphs", "--set", "device.kind=cpu"}), base::ConfigError,
                       MessageMatches(ContainsSubstring("\n  --enable-graphs: step.lane: graph cannot run with")));
  if (base::gpu_present()) SKIP("this machine has a GPU");
  CHECK_THROWS_MATCHES(config_of({"--set", "step.lane=graph"}), base::ConfigError,
                       MessageMatches(ContainsSubstring("\n  --set step.lane=graph: step.lane: graph cannot run")));
  CHECK_THROWS_MATCHES(config_of({"--set", "device.kind=cuda"}), base::MissingResource,
                       MessageMatches(ContainsSubstring("--set device.kind=cuda: device.kind: cuda needs a GPU")));
}

TEST_CASE("without flags the reference workload runs as its file says, on one thread") {
  const auto comparison = comparison_of(parse({}));
  CHECK(comparison.scenario == "reference");
  CHECK(comparison.built_in);
  CHECK(comparison.lanes == Words{"eager", "replay", "compiled", "auto"});
  CHECK(comparison.rounds == 21);
  CHECK(comparison.commit == "0123456789ab");
  const auto config = config_of({});
  CHECK(config.device.threads == 1);
  CHECK(config.data.batch_size == 4);
  CHECK(config.step.lane == config::Lane::kAuto);
}

TEST_CASE("--set has the last word") {
  CHECK(config_of({"--dataloader-workers", "2", "--set", "data.workers=5"}).data.workers == 5);
}

TEST_CASE("flags choose the lanes, and --lanes overrules them") {
  CHECK(lanes_of(parse({"--no-compile"})) == Words{"eager", "replay"});
  CHECK(lanes_of(parse({"--enable-graphs"})) == Words{"eager", "replay", "graph"});
  CHECK(lanes_of(parse({"--enable-graphs", "--lanes", "compiled,eager"})) == Words{"compiled", "eager"});
  CHECK_THROWS_MATCHES(lanes_of(parse({"--lanes", "eager,warp"})), base::Error,
                       MessageMatches(ContainsSubstring("warp") && ContainsSubstring("compiled")));
}

TEST_CASE("entries of --lanes that are empty, come twice or contradict another flag are named") {
  struct Case {
    Words words;
    std::string expected;
  };
  for (const Case& c : {Case{{"--lanes", "eager,,replay"}, "entry 2 is empty"},
                        Case{{"--lanes", ""}, "entry 1 is empty"}, Case{{"--lanes", "eager,"}, "entry 2 is empty"},
                        Case{{"--lanes", "eager,replay,eager"}, "eager is listed twice"},
                        Case{{"--no-compile", "--lanes", "eager,compiled"}, "--no-compile excludes compiled"},
                        Case{{"--no-compile", "--lanes", "auto"}, "--no-compile excludes auto"}}) {
    CAPTURE(c.words);
    CHECK_THROWS_MATCHES(lanes_of(parse(c.words)), base::Error, MessageMatches(ContainsSubstring(c.expected)));
  }
}

TEST_CASE("the scenario that grows is Esper's own of that name alone") {
  CHECK(is_growth(comparison_of(parse({"--scenario", "growth"}))));
  CHECK_FALSE(is_growth(comparison_of(parse({}))));
  Comparison of_a_file = comparison_of(parse({"--scenario", "growth"}));
  of_a_file.built_in = false;
  CHECK_FALSE(is_growth(of_a_file));
}

TEST_CASE("without a compiler the scenario of the policy has no compiled network, and others are as they were") {
  CHECK(is_policy(comparison_of(parse({"--scenario", "policy"}))));
  CHECK_FALSE(is_policy(comparison_of(parse({"--scenario", "growth"}))));
  CHECK(config_of({"--scenario", "policy"}).policy.gnn.compile);
  const auto without = config_of({"--scenario", "policy", "--no-compile"});
  CHECK_FALSE(without.policy.gnn.compile);
  CHECK(without.step.lane == config::Lane::kEager);
  CHECK(assignments_of(parse({"--scenario", "mlp", "--no-compile"})) == Words{"step.lane=eager"});
}

TEST_CASE("every scenario loads, and each file of configs/bench is one") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(ESPER_SOURCE_DIR) + "/configs/bench")) {
    CAPTURE(entry.path());
    const auto config = config_of({"--scenario", entry.path().stem().string()});
    CHECK(config.device.threads == 1);
    CHECK_FALSE(config.checkpoint.keep_best);
    ++files;
  }
  CHECK(files == scenarios().size());
}

TEST_CASE("a scenario that there is not is named with the nearest") {
  CHECK_THROWS_MATCHES(comparison_of(parse({"--scenario", "mlp_wid"})), base::Error,
                       MessageMatches(ContainsSubstring("did you mean mlp_wide")));
  CHECK_THROWS_AS(config_of({"--compile-mode", "fastest"}), base::ConfigError);
}

}  // namespace test::bench_options_test
}  // namespace esper
