#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "config/loading/load.h"
#include "unit/config/problem_case.h"

namespace esper::test::read_value_test {

using namespace esper::base;
using namespace esper::config;
using Catch::Matchers::ContainsSubstring;
using esper::test::check_problem;
using esper::test::problem_of;
using Case = esper::test::ProblemCase;

TEST_CASE("values of every type are read") {
  const LoadedConfig loaded = read_run_config_text(
      "seed: 18446744073709551615\n"
      "data: {kind: csv, path: x.csv, max_samples: 9000000000, shape: [1, 8, 8], standardize: false}\n"
      "training: {optimizer: {kind: adamw, lr: 1e-3, eps: 1E-9, weight_decay: +1e-400}}\n"
      "host: {kind: mlp, hidden: [8, 8]}\n"
      "growth: {slots: [r0c1, \"r0c0\"], max_seeds: 2}\n"
      "safety: {policy_deadline: 1.5s}\n"
      "checkpoint: {every: 200 steps}\n",
      "f");
  REQUIRE(loaded.problems.empty());
  const RunConfig& config = loaded.config;
  CHECK(config.seed == UINT64_MAX);
  CHECK(config.data.kind == DataKind::kCsv);
  CHECK(config.data.max_samples == 9'000'000'000);
  CHECK(config.data.shape == std::vector<std::int64_t>{1, 8, 8});
  CHECK_FALSE(config.data.standardize);
  CHECK(config.training.optimizer.lr == 1e-3);
  CHECK(config.training.optimizer.eps == 1e-9);
  CHECK(config.training.optimizer.weight_decay == 0);
  CHECK(config.growth.slots == std::vector<std::string>{"r0c1", "r0c0"});
  CHECK(config.safety.policy_deadline == std::chrono::milliseconds(1500));
  CHECK(config.checkpoint.every == Length{200, Length::Unit::kSteps});
  CHECK(config.epochs == RunConfig{}.epochs);
}

TEST_CASE("a wrong value is refused with its place, its path and the way out") {
  const Case c = GENERATE(
      Case{"epochs: 010\n", "f:1:9: epochs: expected a whole number, found \"010\"; it could be octal"},
      Case{"epochs: 0o17\n", "f:1:9: epochs: expected a whole number, found \"0o17\"; it could be octal"},
      Case{"epochs: 0x10\n", "f:1:9: epochs: expected a whole number, found \"0x10\"; use digits only"},
      Case{"epochs: 1_000\n", "f:1:9: epochs: expected a whole number"},
      Case{"epochs: 1e3\n", "f:1:9: epochs: expected a whole number"},
      Case{"epochs: 1.0\n", "f:1:9: epochs: expected a whole number"},
      Case{"epochs: 1:30\n", "f:1:9: epochs: expected a whole number"}, Case{"epochs: -\n", "f:1:"},
      Case{"epochs: \"10\"\n", "f:1:9: epochs: expected a whole number, found \"10\" in quotes; remove the quotes"},
      Case{"epochs: \"ten\"\n", "f:1:9: epochs: expected a whole number, found \"ten\""},
      Case{"epochs:\n", "f:1:1: epochs: expected a whole number, found nothing"},
      Case{"epochs: ~\n", "f:1:1: epochs: expected a whole number, found nothing"},
      Case{"epochs: [1]\n", "f:1:9: epochs: expected a whole number, found a list"},
      Case{"epochs: {a: 1}\n", "f:1:9: epochs: expected a whole number, found a section"},
      Case{"epochs: 0\n", "f:1:9: epochs: must be 1 to 1000000, but is 0"},
      Case{"epochs: 99999999999\n", "f:1:9: epochs: does not fit into 32 bits"},
      Case{"seed: -1\n", "f:1:7: seed: must be >= 0, but is -1"},
      Case{"seed: 18446744073709551616\n", "f:1:7: seed: does not fit into 64 bits"},
      Case{"data: {max_samples: -1}\n", "f:1:21: data.max_samples: must be >= 0, but is -1"},
      Case{"data: {standardize: yes}\n", "f:1:21: data.standardize: expected true or false, found \"yes\""},
      Case{"data: {standardize: on}\n", "f:1:21: data.standardize: expected true or false"},
      Case{"data: {standardize: True}\n", "f:1:21: data.standardize: expected true or false"},
      Case{"data: {standardize: \"true\"}\n", "f:1:21: data.standardize: expected true or false"},
      Case{"data: {standardize: 1}\n", "f:1:21: data.standardize: expected true or false"},
      Case{"name: no\n", "f:1:7: name: expected text, found \"no\", which reads as a boolean"},
      Case{"name: Off\n", "f:1:7: name: expected text"}, Case{"name: true\n", "f:1:7: name: expected text"},
      Case{"name:\n", "f:1:1: name: expected text, found nothing; write \"\" for none"},
      Case{"name: [a]\n", "f:1:7: name: expected text, found a list"},
      Case{"device: {precision: fp23}\n",
           "f:1:21: device.precision: expected one of auto, fp32, bf16, fp16, found \"fp23\"; did you mean fp32?"},
      Case{"training: {optimizer: {kind: SGD}}\n",
           "f:1:30: training.optimizer.kind: expected one of sgd, adamw, found \"SGD\"; did you mean sgd?"},
      Case{"device: {precision: [fp32]}\n", "f:1:21: device.precision: expected one of"},
      Case{"training: {optimizer: {lr: .nan}}\n", "f:1:28: training.optimizer.lr: expected a finite number"},
      Case{"training: {optimizer: {lr: -.inf}}\n", "f:1:28: training.optimizer.lr: expected a finite number"},
      Case{"training: {optimizer: {lr: nan}}\n", "f:1:28: training.optimizer.lr: expected a finite number"},
      Case{"training: {optimizer: {lr: inf}}\n", "f:1:28: training.optimizer.lr: expected a finite number"},
      Case{"training: {optimizer: {lr: 1e999}}\n", "f:1:28: training.optimizer.lr: expected a finite number"},
      Case{"training: {optimizer: {lr: lots}}\n", "f:1:28: training.optimizer.lr: expected a number"},
      Case{"training: {optimizer: {lr: 0x1p3}}\n", "f:1:28: training.optimizer.lr: expected a number"},
      Case{"training: {optimizer: {lr: 00.5}}\n", "f:1:28: training.optimizer.lr: expected a number"},
      Case{"training: {optimizer: {lr: '0.5'}}\n", "f:1:28: training.optimizer.lr: expected a number"},
      Case{"training: {optimizer: {lr: -1}}\n", "f:1:28: training.optimizer.lr: must be 0 to 1000, but is -1"},
      Case{"host: {hidden: 64}\n", "f:1:16: host.hidden: expected a list, like [64, 64], found \"64\""},
      Case{"host: {hidden: [64, big]}\n", "f:1:21: host.hidden[1]: expected a whole number"},
      Case{"host: {hidden: [64, 0]}\n", "f:1:21: host.hidden[1]: must be 1 to 65536, but is 0"},
      Case{"growth: {slots: [r0c0, [r0c1]]}\n", "f:1:24: growth.slots[1]: expected text, found a list"},
      Case{"safety: {policy_deadline: 2}\n", "f:1:27: safety.policy_deadline: expected a duration with its unit"},
      Case{"safety: {policy_deadline: -2s}\n", "f:1:27: safety.policy_deadline: expected a duration"},
      Case{"checkpoint: {every: 3}\n", "f:1:21: checkpoint.every: expected a number of epochs or steps"});
  check_problem(c);
}

TEST_CASE("quotes are only to be removed where a number is in them") {
  CHECK(problem_of("epochs: \"ten\"\n") == "f:1:9: epochs: expected a whole number, found \"ten\"");
  CHECK(problem_of("epochs: \"1.5\"\n") == "f:1:9: epochs: expected a whole number, found \"1.5\"");
  CHECK_THAT(problem_of("training: {optimizer: {lr: '0.5'}}\n"), ContainsSubstring("in quotes; remove the quotes"));
}

TEST_CASE("a name or a path with a control character is refused, and the character is not printed") {
  const std::string text = GENERATE("runs_dir: \"a\\0b\"\n", "data: {kind: csv, path: \"a\\e[31m\"}\n",
                                    "data: {kind: csv, path: x, validation_path: \"\\x9b\"}\n",
                                    "growth: {slots: [\"r0c0\\n\"]}\n", "device: {kind: \"cpu\\x7f\"}\n");
  CAPTURE(text);
  const std::string problem = problem_of(text);
  CHECK_THAT(problem, ContainsSubstring(": expected text without control characters, found U+00"));
  for (const char c : problem) CHECK((static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f));
  CHECK(read_run_config_text("data: {kind: csv, path: \"Stra\\xdfe/\\u4e2d.csv\"}\n", "f").problems.empty());
}

}  // namespace esper::test::read_value_test
