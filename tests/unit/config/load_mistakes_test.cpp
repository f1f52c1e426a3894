#include <catch2/catch_test_macros.hpp>

#include "config/loading/load.h"

namespace esper::test::load_mistakes_test {

using namespace esper::base;
using namespace esper::config;

TEST_CASE("ten different mistakes are reported at once, in the order of the file") {
  const std::string text =
      "name: on\n"
      "seed: -3\n"
      "epohcs: 5\n"
      "epochs: 012\n"
      "data:\n"
      "  kind: cvs\n"
      "  batch_size: 0\n"
      "  standardize: yes\n"
      "host:\n"
      "  kind: cnn\n"
      "  kernel: 4\n"
      "training:\n"
      "  optimizer: {lr: .nan}\n"
      "safety:\n"
      "  policy_deadline: 2\n"
      "seed: 4\n";
  const std::string expected =
      R"(10 problems in the configuration
  bad.yaml:1:7: name: expected text, found "on", which reads as a boolean; put it in quotes
  bad.yaml:2:7: seed: must be >= 0, but is -3
  bad.yaml:3:1: epohcs: unknown key; did you mean epochs? Known here: name, seed, epochs, runs_dir, task, device, data, host, training, step, growth, policy, safety, checkpoint, telemetry
  bad.yaml:4:9: epochs: expected a whole number, found "012"; it could be octal: write it in decimal, without a leading zero
  bad.yaml:6:9: data.kind: expected one of digits, csv, mnist, cifar10, images, npy, text, synthetic, table, parquet, datasets, webdataset, tokens, process, found "cvs"; did you mean csv?
  bad.yaml:7:15: data.batch_size: must be 1 to 1000000, but is 0
  bad.yaml:8:16: data.standardize: expected true or false, found "yes"
  bad.yaml:11:11: host.kernel: must be odd, but is 4
  bad.yaml:13:19: training.optimizer.lr: expected a finite number, found ".nan"
  bad.yaml:15:20: safety.policy_deadline: expected a duration with its unit, like 500ms, 2s or 1h, found "2")";
  LoadedConfig loaded = read_run_config_text(text.substr(0, text.rfind("seed")), "bad.yaml");
  CHECK(ConfigError(loaded.problems).what() == expected);
  CHECK(ConfigError(loaded.problems).code() == ExitCode::kConfig);
  CHECK(read_run_config_text(text, "bad.yaml").problems.size() == 11);
}

TEST_CASE("a rule says nothing about fields that could not be read") {
  const LoadedConfig loaded = read_run_config_text("data: {kind: txt}\nhost: {kind: transformer}\n", "f");
  REQUIRE(loaded.problems.size() == 1);
  CHECK(loaded.problems[0].path == "data.kind");
}

}  // namespace esper::test::load_mistakes_test
