#include "sweep/run_file.h"

#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "config/writing/write.h"
#include "support/temporary_folder.h"
#include "sweep/sweep_file.h"

namespace esper::test::run_file_test {

using namespace esper;
using namespace esper::sweep;

namespace {

const std::string kFile = ESPER_SOURCE_DIR "/configs/sweep/unit.yaml";

}  // namespace

TEST_CASE("the best run file stands alone: every field, with the configuration's values") {
  const auto loaded = read_sweep_text(
      "config: ../run/digits_static.yaml\nparameters:\n  training.optimizer.lr: [0.5, 0.25]\n  host.blocks: [1, 2]\n",
      kFile);
  REQUIRE(loaded.problems.empty());
  const auto best = config::read_run_config_text(best_run_file(loaded.sweep, 3), "best.yaml");
  REQUIRE(best.problems.empty());
  CHECK(best.config.training.optimizer.lr == 0.25);
  CHECK(best.config.host.blocks == 2);
  CHECK(best.config.epochs == 90);
  CHECK_FALSE(best.config.growth.enabled);
  CHECK(best.config.host.base_channels == 16);  // of the file that it extends
}

TEST_CASE("with halving the best run file has the epochs of the last rung") {
  const auto loaded = read_sweep_text(
      "config: ../run/digits_static.yaml\nmethod: halving\nsamples: 4\nhalving: {max_epochs: 12}\n"
      "parameters: {training.optimizer.lr: {min: 0.1, max: 0.2}}\n",
      kFile);
  REQUIRE(loaded.problems.empty());
  CHECK(config::read_run_config_text(best_run_file(loaded.sweep, 0), "best.yaml").config.epochs == 12);
}

TEST_CASE("halving with runs that grow is a warning, once: a run in one go is another one") {
  const auto warnings_of = [](const std::string& run, const std::string& method) {
    const auto loaded =
        read_sweep_text("config: ../run/" + run + "\nmethod: " + method +
                            "\nsamples: 4\nparameters: {training.optimizer.lr: {min: 0.1, max: 0.2}}\n" +
                            (method == "halving" ? "halving: {max_epochs: 3}\n" : ""),
                        kFile);
    CHECK(loaded.problems.empty());
    return loaded.warnings;
  };
  const auto warnings = warnings_of("digits.yaml", "halving");
  REQUIRE(warnings.size() == 1);
  CHECK(to_string(warnings[0]).starts_with(kFile + ":2:9: method: a run that grows ends at each rung: "));
  CHECK(warnings_of("digits.yaml", "random").empty());
  CHECK(warnings_of("digits_static.yaml", "halving").empty());
}

TEST_CASE("problems of configurations stop at twenty, each once") {
  std::string slots;
  for (int i = 10; i < 40; ++i) slots += "    - [r" + std::to_string(i) + "c0]\n";
  const auto loaded = read_sweep_text(
      "config: ../run/digits.yaml\nparameters:\n  training.optimizer.lr: [0.5, 0.25]\n  growth.slots:\n" + slots,
      kFile);
  REQUIRE(loaded.problems.size() == 20);
  CHECK(loaded.problems[0].place.line == 5);
  CHECK(loaded.problems[1].place.line == 6);
  CHECK(loaded.problems[1].text.ends_with(" (with training.optimizer.lr=0.5, growth.slots=[\"r11c0\"])"));
}

TEST_CASE("a sweep may vary the precision of a run file that sets the loss scaler, which has no effect without fp16") {
  const auto loaded = read_sweep_text(
      "config: ../run/digits.yaml\nparameters:\n  device.precision: [fp32, bf16, fp16]\n"
      "  training.grad_scaler.init_scale: [1024, 4096]\n",
      kFile);
  CHECK(loaded.problems.empty());
  CHECK(configurations(loaded.sweep).size() == 6);
  REQUIRE(loaded.warnings.size() == 2);
  CHECK(to_string(loaded.warnings[0])
            .starts_with(kFile + ":4:37: parameters.training.grad_scaler: has no effect with device.precision fp32: "));
  CHECK(loaded.warnings[1].text.starts_with("has no effect with device.precision bf16: "));
}

TEST_CASE("a setting of the run file without effect is reported once for all configurations, at its place there") {
  const test::TemporaryFolder folder;
  const std::string run = folder / "run.yaml", rest = "parameters: {training.optimizer.lr: [0.1, 0.2]}\n";
  std::ofstream(run) << "training: {grad_scaler: {init_scale: 1024}}\n";
  const auto loaded = read_sweep_text("config: run.yaml\n" + rest, folder / "sweep.yaml");
  CHECK(loaded.problems.empty());
  REQUIRE(loaded.warnings.size() == 1);
  CHECK(to_string(loaded.warnings[0]) == to_string(config::read_run_config(run).warnings.at(0)));
  CHECK(read_sweep_text("config: run.yaml\nparameters: {device.precision: [fp16]}\n", folder / "sweep.yaml")
            .warnings.empty());
}

TEST_CASE("a sweep of a run file without keys is stored with a text that is read as the file is") {
  const test::TemporaryFolder folder;
  const std::string run = folder / "run.yaml";
  std::ofstream(run) << "# nothing yet\n";
  const auto loaded =
      read_sweep_text("config: run.yaml\nparameters: {training.optimizer.lr: [0.1, 0.2]}\n", folder / "sweep.yaml");
  CHECK(loaded.problems.empty());
  const auto read = config::read_run_config(run);
  const auto stored = config::read_run_config_text(run_file_text(read), "f");
  CHECK(stored.problems.empty());
  CHECK(config::config_hash(stored.config) == config::config_hash(read.config));
}

TEST_CASE("a sweep that was stored has the run file of that time, for every configuration") {
  // Defaults follow other fields: host.segments from host.layers, growth.isolate from growth.training.
  const std::string text =
      "config: ../run/digits.yaml\nseeds: [3]\n"
      "parameters: {growth.training: [shadow, straight_through], host.base_channels: [8, 32]}\n";
  const auto file = read_sweep_text(text, kFile);
  REQUIRE(file.problems.empty());
  const std::string run_text = run_file_text(read_with(file.sweep, {}));
  const auto stored = read_stored_sweep({text, run_text}, 100);
  REQUIRE(stored.problems.empty());
  CHECK(stored.sweep.settings.metric == file.sweep.settings.metric);
  for (const auto& configuration : configurations(file.sweep)) {
    const auto from_file = trial_run_file(file.sweep, configuration, 3, std::nullopt);
    CHECK(trial_run_file(stored.sweep, configuration, 3, std::nullopt) == from_file);
    CHECK(from_file.find("seed: 3\n") != std::string::npos);
  }
  CHECK(config::read_run_config_text(trial_run_file(stored.sweep, {"shadow", "8"}, 3, 5), "run").config.epochs == 5);
}

TEST_CASE("problems of a stored sweep and of its run file are found without the files") {
  const std::string text = "config: nowhere.yaml\nmetric: r2\nparameters: {training.optimizer.lr: [0.1, 0.2]}\n";
  CHECK(read_stored_sweep({text, "host: {kind: mlp}\n"}, 100).problems.size() == 1);
  CHECK(read_stored_sweep({text, "host: {kind: mlp}\n"}, 0).problems.empty());
  CHECK(read_stored_sweep({text, "epochs: none"}, 0).problems.size() == 1);
}

}  // namespace esper::test::run_file_test
