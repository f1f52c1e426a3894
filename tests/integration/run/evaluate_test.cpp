#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::evaluate_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

json figures_of(const Finished& finished, const char* part = "validation") {
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK(json_of(finished)["part"] == part);
  json figures = json_of(finished)[part];
  figures.erase("samples");
  return figures;
}

}  // namespace

TEST_CASE("evaluate gives the run's own validation figures, to the last digit") {
  // Nothing changes the network after the last validation: its seeds are fossils by then.
  const Words assignments = GENERATE(Words{}, Words{"training.ema_decay=0.9"}, perceptron());
  CAPTURE(assignments);
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), assignments).exit_code == 0);
  const std::string run = room.run("run");
  const json summary = read_json(run + "/summary.json");
  const auto newest = checkpoints_of(run).back();

  const Finished finished = run_esper({"evaluate", run, "--json"});
  const json report = json_of(finished);
  CHECK(figures_of(finished) == summary["validation"]);
  CHECK(report["run_dir"] == run);
  CHECK(report["checkpoint"] == run + "/checkpoints/" + newest);
  CHECK(report["validation"]["samples"] == 240);
  CHECK(figures_of(run_esper({"evaluate", run, "--json", "--checkpoint", newest})) == summary["validation"]);

  const json by_sample = json_of(run_esper({"evaluate", run, "--json", "--by-sample"}));
  CHECK(by_sample["validation"] == report["validation"]);
  for (const char* figure : {"loss", "accuracy"}) {
    const auto values = by_sample["by_sample"][figure].get<std::vector<double>>();
    REQUIRE(values.size() == 240);
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 240;
    CHECK(std::abs(mean - report["validation"][figure].get<double>()) < 1e-5);
  }
  CHECK(run_esper({"evaluate", run, "--by-sample"}).exit_code == 2);

  const Finished text = run_esper({"evaluate", run});
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, ContainsSubstring(newest) && ContainsSubstring("part: validation\nvalidation loss"));
}

TEST_CASE("a network is measured in another precision than its run had, whatever it had") {
  const std::string precision = GENERATE("fp16", "fp32");
  CAPTURE(precision);
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Words assignments = perceptron() + Words{"device.precision=" + precision, "epochs=2", "growth.enabled=false"};
  REQUIRE(train(config, room.run("run"), assignments).exit_code == 0);
  const std::string run = room.run("run");
  const auto measured_in = [&](const std::string& other) {
    return figures_of(run_esper({"evaluate", run, "--json", "--set", "device.precision=" + other}));
  };
  const json half = measured_in("fp16"), full = measured_in("fp32");
  CHECK((precision == "fp16" ? half : full) == read_json(run + "/summary.json")["validation"]);
  CHECK(half != full);
  CHECK(std::abs(half["loss"].get<double>() - full["loss"].get<double>()) < 0.02);
}

TEST_CASE("the best checkpoint is the one of the best epoch") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  // So long that the best epoch is not among the last ones kept.
  REQUIRE(train(config, room.run("run"),
                {"growth.enabled=false", "training.optimizer.lr=0.5", "epochs=30", "checkpoint.keep_last=1"})
              .exit_code == 0);
  const std::string run = room.run("run");
  json best = read_json(run + "/summary.json")["best"];
  const Finished finished = run_esper({"evaluate", run, "--json", "--checkpoint", "best"});
  const json epoch = best["epoch"];
  best.erase("epoch");
  CHECK(figures_of(finished) == best);
  const auto name = json_of(finished)["checkpoint"].get<std::string>();
  CHECK(state_of(run, name.substr(name.rfind('/') + 1))["progress"]["epoch"] == epoch);
  CHECK(finished.err.empty());
}

TEST_CASE("the best checkpoint has the figures of the best epoch where seeds come and go") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Words assignments{"data.max_samples=480",
                          "training.optimizer.lr=0.2",
                          "epochs=5",
                          "growth.training=blended",
                          "growth.alpha_ticks=1",
                          "growth.gates.evidence=control",
                          "growth.gates.min_worth_loss=50",
                          "growth.gates.min_worth_points=100",
                          "growth.control.budget=1",
                          "policy.kind=schedule",
                          "policy.schedule=[1:r0c1=conv_heavy]"};
  REQUIRE(train(config, room.run("run"), assignments).exit_code == 0);
  const std::string run = room.run("run");
  const json summary = read_json(run + "/summary.json");
  REQUIRE(summary["seeds"].empty());  // what grew was culled again
  json best = summary["best"];
  best.erase("epoch");
  CHECK(figures_of(run_esper({"evaluate", run, "--json", "--checkpoint", "best"})) == best);
}

TEST_CASE("a best checkpoint that cannot be read is not replaced by another one in silence") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), {"growth.enabled=false", "epochs=3", "checkpoint.keep_last=3"}).exit_code ==
          0);
  const auto names = checkpoints_of(room.run("run"));
  REQUIRE(state_of(room.run("run"), names.back())["progress"]["best"]["epoch"] == 3);  // each epoch was the best so far
  fs::remove(room.run("run") / "checkpoints" / names.back() / "run.json");
  const Finished finished = run_esper({"evaluate", room.run("run"), "--json", "--checkpoint", "best"});
  CHECK(finished.exit_code == 0);
  CHECK_THAT(json_of(finished)["checkpoint"].get<std::string>(), !ContainsSubstring(names.back()));
  CHECK_THAT(finished.err, ContainsSubstring("names " + names.back() + " as the best checkpoint"));
}

TEST_CASE("an unknown checkpoint exits 2 and lists those that there are; a folder without any has its own text") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), {"epochs=1"}).exit_code == 0);
  const std::string run = room.run("run");
  const Finished finished = run_esper({"evaluate", run, "--checkpoint", "epoch-9999", "--json"});
  CHECK(finished.exit_code == 2);
  CHECK_THAT(json_of(finished)["error"]["text"].get<std::string>(),
             ContainsSubstring("no checkpoint epoch-9999") && ContainsSubstring(checkpoints_of(run).back()));
  std::filesystem::remove_all(run + "/checkpoints");
  std::filesystem::create_directory(run + "/checkpoints");
  CHECK(run_esper({"evaluate", run}).exit_code == 5);
}

TEST_CASE("classes whose names are no UTF-8 stay different in what evaluate and data show print") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += std::to_string(i) + ",1,a\xff\n" + std::to_string(-i) + ",2,a\xfe\n";
  const Words data = {"data.kind=csv", "data.path=" + room.write("two.csv", lines), "data.shape=[2]"};
  const Words network = {"host.kind=mlp", "host.hidden=[4]", "growth.enabled=false", "epochs=1"};
  REQUIRE(train(config, room.run("run"), data + network).exit_code == 0);
  const Finished evaluated = run_esper({"evaluate", room.run("run"), "--json"});
  INFO(evaluated.err);
  const json measured = json_of(evaluated)["classes"];
  const json shown = json_of(run_esper(Words{"data", "show", "--json"} + sets(data)))["classes"];
  for (const json& classes : {measured, shown}) {
    REQUIRE(classes.size() == 2);
    CHECK(classes[0]["name"] == "a\\xfe");
    CHECK(classes[1]["name"] == "a\\xff");
  }
}

}  // namespace esper::test::evaluate_test
