#include "sweep/sweep_file.h"

#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "support/temporary_folder.h"
#include "sweep/expand.h"

namespace esper::test::sweep_file_test {

using namespace esper;
using namespace esper::sweep;

namespace {

const std::string kFile = ESPER_SOURCE_DIR "/configs/sweep/unit.yaml";

// With a run file that trains digits for 90 epochs from seed 1337.
LoadedSweep read(const std::string& text) {
  LoadedSweep loaded = read_sweep_text("config: ../run/digits.yaml\n" + text, kFile);
  for (const auto& problem : loaded.problems) UNSCOPED_INFO(to_string(problem));
  return loaded;
}

}  // namespace

TEST_CASE("the example is a grid of nine configurations with three seeds") {
  const auto loaded = read_sweep(ESPER_SOURCE_DIR "/configs/sweep/digits_lr.yaml");
  REQUIRE(loaded.problems.empty());
  const Sweep& sweep = loaded.sweep;
  CHECK(sweep.settings.name == "digits-lr");
  CHECK(sweep.settings.max_running == 2);
  CHECK(sweep.seeds == std::vector<std::uint64_t>{1, 2, 3});
  const auto trials = expand(sweep);
  REQUIRE(trials.size() == 27);
  CHECK(trials[26].assignments ==
        std::vector<std::string>{"training.optimizer.lr=0.08", "host.base_channels=32", "seed=3"});
}

TEST_CASE("what a sweep file leaves out is the run file's") {
  const auto loaded = read("parameters: {training.optimizer.lr: [0.1, 0.2]}\n");
  REQUIRE(loaded.problems.empty());
  const Sweep& sweep = loaded.sweep;
  CHECK(sweep.settings.name == "sweep");
  CHECK(sweep.settings.method == Method::kGrid);
  CHECK(sweep.settings.metric == config::Metric::kAccuracy);
  CHECK(sweep.settings.goal == Goal::kMaximize);
  CHECK(sweep.settings.halving.max_epochs == 90);
  CHECK(sweep.settings.max_running == 0);
  CHECK(sweep.seeds == std::vector<std::uint64_t>{1337});
}

TEST_CASE("less is better of a loss, unless the sweep file says otherwise") {
  const std::string parameters = "parameters: {training.optimizer.lr: [0.1, 0.2]}\n";
  CHECK(read("metric: loss\n" + parameters).sweep.settings.goal == Goal::kMinimize);
  CHECK(read("metric: f1\n" + parameters).sweep.settings.goal == Goal::kMaximize);
  CHECK(read("metric: f1\ngoal: minimize\n" + parameters).sweep.settings.goal == Goal::kMinimize);
}

TEST_CASE("values and ranges have a short and a long form, and any type of the run file") {
  const auto loaded = read(
      "method: random\nsamples: 5\nseed: 7\nparameters:\n"
      "  training.optimizer.lr: {min: 1e-4, max: 1e-1, scale: log}\n"
      "  data.batch_size: {values: [32, 0x]}\n");
  REQUIRE(loaded.problems.size() == 1);
  const auto good = read(
      "method: random\nsamples: 5\nseed: 7\nparameters:\n"
      "  training.optimizer.lr: {scale: log, min: 1e-4, max: 1e-1}\n"
      "  training.label_smoothing: {min: 0, max: 0.5}\n"
      "  host.base_channels: {min: 8, max: 32}\n"
      "  data.batch_size: {values: [32, 64]}\n"
      "  training.optimizer.nesterov: [true, false]\n"
      "  training.optimizer.kind: [sgd]\n"
      "  growth.blueprints: [[conv_heavy], [conv_light, conv_heavy]]\n");
  REQUIRE(good.problems.empty());
  const auto& parameters = good.sweep.parameters;
  REQUIRE(parameters.size() == 7);
  CHECK(parameters[0].range->scale == Range::Scale::kLog);
  CHECK(parameters[0].range->numbers == Range::Numbers::kReal);
  CHECK(parameters[0].range->min == 1e-4);
  CHECK(parameters[1].range->scale == Range::Scale::kLinear);
  CHECK(parameters[2].range->numbers == Range::Numbers::kWhole);
  CHECK(parameters[3].values == std::vector<std::string>{"32", "64"});
  CHECK(parameters[4].values == std::vector<std::string>{"true", "false"});
  CHECK(parameters[6].values == std::vector<std::string>{R"(["conv_heavy"])", R"(["conv_light", "conv_heavy"])"});
  CHECK(expand(good.sweep).size() == 5);
}

TEST_CASE("more samples than there are configurations: all are taken, with a warning") {
  const auto loaded = read("method: random\nsamples: 9\nparameters: {host.base_channels: {min: 8, max: 10}}\n");
  REQUIRE(loaded.problems.empty());
  REQUIRE(loaded.warnings.size() == 1);
  CHECK(to_string(loaded.warnings[0]) ==
        kFile + ":3:10: samples: the parameters have 3 different configurations, so 3 are trained instead of 9");
  CHECK(expand(loaded.sweep).size() == 3);
}

TEST_CASE("too few samples for the last rung are a warning") {
  const std::string rest =
      "method: halving\nparameters: {training.optimizer.lr: {min: 0.01, max: 0.1}, growth.enabled: [false]}\n";
  CHECK(read(rest + "samples: 27\nhalving: {max_epochs: 27}\n").warnings.empty());
  const auto loaded = read(rest + "samples: 26\nhalving: {max_epochs: 27}\n");
  REQUIRE(loaded.problems.empty());
  REQUIRE(loaded.warnings.size() == 1);
  CHECK(loaded.warnings[0].text ==
        "no configuration reaches the last rung, of 27 epochs: 27 are needed for that, and there are 26");
}

TEST_CASE("the run file is looked up in the sweep file's folder") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "run.yaml") << "epochs: 4\nseed: 5\n";
  std::ofstream(folder / "sweep.yaml") << "config: run.yaml\nparameters: {epochs: [1, 2]}\n";
  const auto loaded = read_sweep(folder / "sweep.yaml");
  REQUIRE(loaded.problems.empty());
  const Sweep& sweep = loaded.sweep;
  CHECK(sweep.settings.config == folder / "run.yaml");
  CHECK(sweep.seeds == std::vector<std::uint64_t>{5});
}

TEST_CASE("a sweep file that cannot be read is one problem") {
  CHECK(read_sweep("/nonexistent/sweep.yaml").problems.size() == 1);
}

}  // namespace esper::test::sweep_file_test
