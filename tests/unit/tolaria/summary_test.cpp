#include "tolaria/summary.h"

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/run_fixture.h"

namespace esper::test::summary_test {

using tolaria::exit_code_of;
using tolaria::list_checkpoints;
using tolaria::RunOutcome;
using tolaria::summarize;

namespace {

using base::ExitCode;
using leyline::Decision;
using leyline::Observation;
using Kind = RunOutcome::Kind;
using nlohmann::ordered_json;

std::vector<std::string> keys_of(const ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

}  // namespace

TEST_CASE("a summary has every field that it promises, with the run's figures") {
  SmallRun it(small_config(), [](const Observation& seen) {
    return seen.current_epoch == 2 ? Decision{{germination(seen)}, ""} : Decision{};
  });
  const auto outcome = it.go();
  const auto summary = summarize(it.run, outcome, "/run");
  CHECK(keys_of(summary) == std::vector<std::string>{"run_dir", "status", "exit_code", "reason", "epochs", "steps",
                                                     "wall_s", "parameters", "train", "validation", "best", "seeds",
                                                     "checkpoints"});
  CHECK(summary["run_dir"] == "/run");
  CHECK(summary["status"] == "done");
  CHECK(summary["exit_code"] == 0);
  CHECK(summary["epochs"] == 3);
  CHECK(summary["steps"] == 18);
  CHECK(summary["wall_s"] > 0.0);
  CHECK(summary["train"] ==
        ordered_json{{"loss", it.run.progress.train.loss}, {"accuracy", it.run.progress.train.score}});
  CHECK(summary["validation"]["loss"] == it.run.progress.validation->loss);
  CHECK(keys_of(summary["best"]) ==
        std::vector<std::string>{"epoch", "loss", "accuracy", "top5", "precision", "recall", "f1"});
  CHECK(summary["best"]["loss"] <= summary["validation"]["loss"]);

  REQUIRE(summary["seeds"].size() == 1);
  const auto& seed = summary["seeds"][0];
  CHECK(keys_of(seed) ==
        std::vector<std::string>{"seed_id", "slot", "blueprint", "stage", "alpha", "params", "contribution"});
  CHECK(seed["seed_id"] == "seed-0001");
  CHECK(seed["stage"] == "GERMINATED");
  CHECK(seed["alpha"] == 0.0);
  CHECK(seed["params"].is_number_integer());
  CHECK(seed["contribution"].is_null());
  CHECK(summary["parameters"] == 247 + seed["params"].get<int>());

  const auto listed = list_checkpoints(it.files, kCheckpoints);
  REQUIRE(summary["checkpoints"].size() == listed.size());
  for (std::size_t i = 0; i < listed.size(); ++i) {
    CHECK(summary["checkpoints"][i] ==
          ordered_json{{"path", listed[i].path}, {"epoch", listed[i].epoch}, {"step", listed[i].step}});
  }
}

TEST_CASE("before the first epoch there is no best one, and numbers that are not finite are null in the text") {
  SmallRun it;
  it.run.progress.train.loss = std::numeric_limits<double>::quiet_NaN();
  it.run.progress.validation = {std::numeric_limits<double>::infinity(), 0.5};
  const auto summary = summarize(it.run, {Kind::kDiverged, 0, "the training loss is not finite"}, "/run");
  CHECK(summary["best"].is_null());
  CHECK(summary["checkpoints"] == ordered_json::array());
  const auto text = summary.dump(2);
  CHECK(text.find("nan") == std::string::npos);
  const auto back = ordered_json::parse(text);
  CHECK(back["train"]["loss"].is_null());
  CHECK(back["validation"]["loss"].is_null());
  CHECK(back["status"] == "diverged");
  CHECK(back["exit_code"] == 4);
  CHECK(back["reason"] == "the training loss is not finite");
}

TEST_CASE("each way for a run to end has its status and its exit code") {
  SmallRun it;
  const auto check = [&](const RunOutcome& outcome, const char* status, ExitCode code) {
    CHECK(exit_code_of(outcome) == code);
    const auto summary = summarize(it.run, outcome, "/run");
    CHECK(summary["status"] == status);
    CHECK(summary["exit_code"] == static_cast<int>(code));
  };
  check({Kind::kDone, 0, ""}, "done", ExitCode::kDone);
  check({Kind::kEarlyStopped, 0, ""}, "early_stopped", ExitCode::kDone);
  check({Kind::kInterrupted, SIGINT, ""}, "interrupted", ExitCode::kInterrupted);
  check({Kind::kInterrupted, SIGTERM, ""}, "interrupted", ExitCode::kTerminated);
  check({Kind::kInterrupted, SIGHUP, ""}, "interrupted", ExitCode::kHungUp);
  check({Kind::kDiverged, 0, ""}, "diverged", ExitCode::kDiverged);
  check({Kind::kNotSaved, SIGTERM, ""}, "not_saved", ExitCode::kResources);
}

}  // namespace esper::test::summary_test
