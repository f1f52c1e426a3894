#include "sweep/run_file.h"

#include <catch2/catch_test_macros.hpp>

#include "sweep/sweep_file.h"

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
