#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "support/temporary_folder.h"
#include "sweep/sweep_file.h"

namespace esper::test::sweep_file_mistakes_test {

using namespace esper;
using namespace esper::base;
using namespace esper::sweep;

namespace {

const std::string kFile = ESPER_SOURCE_DIR "/configs/sweep/bad.yaml";
const std::string kHead = "config: ../run/digits.yaml\n";

// Each as "LINE:COLUMN: PATH: TEXT".
std::vector<std::string> problems_of(const std::string& text) {
  std::vector<std::string> shown;
  for (const Problem& problem : read_sweep_text(text, kFile).problems) {
    const std::string line = to_string(problem);
    shown.push_back(line.starts_with(kFile + ":") ? line.substr(kFile.size() + 1) : line);
  }
  return shown;
}

// Of a sweep file with one mistake.
std::string problem_of(const std::string& text) {
  const auto problems = problems_of(kHead + text);
  for (const auto& problem : problems) UNSCOPED_INFO(problem);
  REQUIRE(problems.size() == 1);
  return problems[0];
}

std::string problem_of_parameter(const std::string& method, const std::string& parameter) {
  return problem_of(method + "\nparameters:\n  " + parameter + "\n");
}

}  // namespace

TEST_CASE("all mistakes of a sweep file are reported at once, in the order of the file") {
  const std::string text =
      "name: a b\n"
      "config: ../run/nowhere.yaml\n"
      "methd: grid\n"
      "samples: 0\n"
      "seeds: [1, 2, 1]\n"
      "metric: acuracy\n"
      "halving: {factr: 2}\n"
      "parameters:\n"
      "  training.optimiser.lr: [1]\n"
      "  host.base_channels: [8, wide, 8]\n"
      "  training.optimizer: [1]\n";
  const auto problems = problems_of(text);
  const std::vector<std::string> starts{
      "1:7: name: must be 1 to 100 letters, digits, '.', '_' or '-'",
      "2:9: config: " ESPER_SOURCE_DIR "/configs/sweep/../run/nowhere.yaml cannot be opened: No such file",
      "3:1: methd: unknown key; did you mean method? Known here: name, config, method,",
      "4:10: samples: must be 1 to 10000, but is 0",
      "4:10: samples: a grid has every combination and draws none",
      "5:15: seeds[2]: the same as seeds[0]; remove it",
      "6:9: metric: expected one of loss, accuracy, top5, precision, recall, f1, mae, r2, perplexity, found "
      "\"acuracy\"; did you mean accuracy?",
      "7:10: halving: has no effect with method: grid",
      "7:11: halving.factr: unknown key; did you mean factor? Known here: min_epochs, factor, max_epochs",
      "9:3: parameters.training.optimiser.lr: not a field of the run file; did you mean training.optimizer.lr?",
      "10:27: parameters.host.base_channels[1]: expected a whole number, found \"wide\"",
      "10:33: parameters.host.base_channels[2]: 8 is given already; remove it",
      "11:3: parameters.training.optimizer: is a section of the run file; name one of its fields"};
  REQUIRE(problems.size() == starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) CHECK(problems[i].substr(0, starts[i].size()) == starts[i]);
}

TEST_CASE("what is missing is named, with an example") {
  const auto problems = problems_of("method: random\n");
  REQUIRE(problems.size() == 3);
  CHECK(
      problems[0].ends_with("parameters: is missing; name fields of the run file with values, like "
                            "training.optimizer.lr: [0.1, 0.01]"));
  CHECK(problems[1].ends_with("samples: method: random needs the number of configurations to draw, like samples: 20"));
  CHECK(problems[2].ends_with("config: is missing; name the run file, relative to the folder of this one"));
  CHECK(problems_of("").size() == 1);
  CHECK(problems_of("[1, 2]").front().starts_with("1:1: expected lines of \"key: value\"; known keys: name, config"));
}

TEST_CASE("duplicate keys are refused") {
  CHECK(problem_of("parameters: {epochs: [1]}\nparameters: {epochs: [2]}\n") ==
        "3:1: duplicate key \"parameters\"; it is given in line 2 already");
  CHECK(problem_of("parameters: {epochs: [1], epochs: [2]}\n") ==
        "2:27: duplicate key \"epochs\"; it is given in line 2 already");
}

TEST_CASE("bad values of a parameter are reported at their place") {
  const auto grid = [](const std::string& parameter) { return problem_of_parameter("method: grid", parameter); };
  CHECK(grid("epochs: []") == "4:11: parameters.epochs: expected at least one value, like [1, 2]");
  CHECK(grid("epochs: {values: []}") == "4:20: parameters.epochs: expected at least one value, like [1, 2]");
  CHECK(grid("epochs: {values: 3}") == "4:20: parameters.epochs: expected at least one value, like [1, 2]");
  CHECK(grid("epochs: 3").starts_with("4:11: parameters.epochs: expected a list of values, like [1, 2], or a range"));
  CHECK(grid("epochs:").starts_with("4:3: parameters.epochs: expected a list of values"));
  CHECK(grid("epochs: [0]") == "4:12: parameters.epochs[0]: must be 1 to 1000000, but is 0");
  CHECK(grid("epochs: [\"3\"]").ends_with("expected a whole number, found \"3\" in quotes; remove the quotes"));
  CHECK(grid("training.optimizer.lr: [0.1, 1e-1]") ==
        "4:32: parameters.training.optimizer.lr[1]: 0.1 is given already; remove it");
  CHECK(grid("host.hidden: [32]").starts_with("4:17: parameters.host.hidden[0]: expected a list, like [64, 64]"));
  CHECK(grid("epochs: {value: [1]}") ==
        "4:12: parameters.epochs.value: unknown key; did you mean values? Known here: values, or min, max and scale");
  CHECK(grid("base_channels: [1]") ==
        "4:3: parameters.base_channels: not a field of the run file; did you mean host.base_channels?");
  CHECK(grid("policy.reports.retention: [24h]").starts_with("4:3: parameters.policy.reports.retention: was removed"));
  CHECK(grid("extends: [a.yaml]").starts_with("4:3: parameters.extends: not a field of the run file"));
  CHECK(grid("seed: [1, 2]").starts_with("4:3: parameters.seed: seeds repeat a configuration and are not a parameter"));
  CHECK(grid("name: [a]").starts_with("4:3: parameters.name: changes nothing in a run"));
}

TEST_CASE("bad ranges are reported") {
  const auto random = [](const std::string& range) {
    return problem_of("method: random\nsamples: 3\nparameters: {training.optimizer.lr: " + range + "}\n");
  };
  const std::string path = "parameters.training.optimizer.lr";
  CHECK(random("{min: 2, max: 1}").ends_with(path + ": min must be below max, but min is 2 and max 1"));
  CHECK(random("{min: 1, max: 1}").ends_with(path + ": min must be below max, but min is 1 and max 1"));
  CHECK(random("{min: 0, max: 1, scale: log}").ends_with(path + ": scale: log needs min > 0, but it is 0"));
  CHECK(random("{min: 1e-310, max: 1, scale: log}").ends_with(path + ": min and max are too far apart"));
  CHECK(random("{min: 0}").ends_with(path + ".max: is missing; a range has min and max"));
  CHECK(random("{min: 0, max: 1001}").ends_with(path + ".max: must be 0 to 1000, but is 1001"));
  CHECK(random("{min: a, max: 1}").ends_with(path + ".min: expected a number, found \"a\""));
  CHECK(random("{min: 0, max: 1, scale: lgo}")
            .ends_with(path + ".scale: expected one of linear, log, found \"lgo\"; did you mean log?"));
  CHECK(random("{values: [0.1], max: 1}").ends_with(path + ".max: give values or a range, not both"));
  const auto of = [](const std::string& parameter) {
    return problem_of("method: random\nsamples: 3\nparameters: {" + parameter + "}\n");
  };
  CHECK(of("device.kind: {min: 1, max: 2}").ends_with("takes text, so it has no range; write values: [...]"));
  CHECK(of("data.split_seed: {min: 1, max: 9007199254740992}").ends_with(".max: must be below 2^53 in size"));
  CHECK(of("host.base_channels: {min: 1.5, max: 2}").find("min: expected a whole number, found \"1.5\"") !=
        std::string::npos);
  CHECK(problem_of("parameters: {epochs: {min: 1, max: 2}}\n")
            .ends_with("a grid needs values: [...]; ranges are for method: random and halving"));
}

TEST_CASE("bad seeds are reported") {
  const std::string rest = "\nparameters: {epochs: [1, 2]}\n";
  const auto seeds = [&](const std::string& text) { return problem_of("seeds: " + text + rest); };
  CHECK(seeds("[]") == "2:8: seeds: expected whole numbers, like [1, 2, 3] or 1..3");
  CHECK(seeds("3") == "2:8: seeds: expected whole numbers, like [1, 2, 3] or 1..3, found \"3\"");
  CHECK(seeds("5..1") == "2:8: seeds: 5..1 is empty; write the smaller one first");
  CHECK(seeds("1..x") == "2:8: seeds: expected a whole number, found \"x\"");
  CHECK(seeds("0..10000") == "2:8: seeds: at most 10000 seeds, found 0..10000");
  CHECK(seeds("0..18446744073709551615").ends_with("at most 10000 seeds, found 0..18446744073709551615"));
  CHECK(seeds("[-1]") == "2:9: seeds[0]: must be >= 0, but is -1");
}

TEST_CASE("limits: jobs, parameters and values") {
  std::string values;
  for (int i = 1; i <= 101; ++i) values += std::to_string(i) + (i < 101 ? ", " : "");
  const std::string two = "parameters: {host.base_channels: [" + values + "], data.batch_size: [" + values + "]}\n";
  CHECK(
      problem_of(two).ends_with("10201 configurations with 1 seed each are more than the 10000 jobs that a sweep may "
                                "have; give fewer, or method: random with samples"));
  CHECK(
      problem_of("method: random\nsamples: 100\nseeds: 1..101\n" + two)
          .ends_with("100 configurations with 101 seeds each are more than the 10000 jobs that a sweep may have; give "
                     "fewer, or method: random with samples"));
  std::string many = "1";
  for (int i = 2; i <= 1001; ++i) many += ", " + std::to_string(i);
  CHECK(problem_of("parameters: {epochs: [" + many + "]}\n").ends_with("at most 1000 values, found 1001"));
  std::string keys;
  for (int i = 0; i < 65; ++i) keys += "  k" + std::to_string(i) + ": [1]\n";
  CHECK(problem_of("parameters:\n" + keys).ends_with("at most 64 parameters, found 65"));
}

TEST_CASE("a grid of more combinations than can be counted is too large, and is not built") {
  std::string values = "1";
  for (int i = 2; i <= 100; ++i) values += ", " + std::to_string(i);
  std::string parameters = "parameters:\n";
  for (const char* key :
       {"epochs", "data.batch_size", "data.synthetic.samples", "data.context", "data.prefetch", "host.base_channels",
        "training.schedule.step_epochs", "checkpoint.keep_last", "telemetry.segment_mb", "telemetry.queue"}) {
    parameters += std::string("  ") + key + ": [" + values + "]\n";
  }
  const auto problems = problems_of(kHead + parameters);
  REQUIRE_FALSE(problems.empty());
  UNSCOPED_INFO(problems.front());
  CHECK(std::ranges::any_of(problems, [](const auto& one) { return one.find("more than 2^63") != std::string::npos; }));
}

TEST_CASE("halving needs rungs, and runs that can go on") {
  const std::string parameters = "parameters: {training.optimizer.lr: [0.1, 0.2, 0.3]}\n";
  const auto halving = [&](const std::string& section) {
    return problem_of("method: halving\nsamples: 3\nhalving: " + section + "\n" + parameters);
  };
  CHECK(halving("{factor: 1}") == "4:19: halving.factor: must be 2 to 1000, but is 1");
  CHECK(halving("{min_epochs: 0}") == "4:23: halving.min_epochs: must be 1 to 1000000, but is 0");
  CHECK(halving("{min_epochs: 31}") ==
        "4:10: halving: one rung only: max_epochs (90, the run file's) must be at least factor (3) times min_epochs "
        "(31)");
  CHECK(halving("{min_epochs: 3, max_epochs: 8}") ==
        "4:10: halving: one rung only: max_epochs (8) must be at least factor (3) times min_epochs (3)");
  CHECK(problem_of("method: halving\nsamples: 3\nparameters: {epochs: [1, 2]}\n")
            .find("parameters.epochs: halving sets the epochs") != std::string::npos);
  CHECK(
      problem_of("method: halving\nsamples: 3\nparameters: {training.schedule.kind: [step, cosine]}\n")
          .find("method: halving continues runs with more epochs, but how this run trains depends on its last epoch") !=
      std::string::npos);
}

TEST_CASE("a metric that the run has not is refused") {
  CHECK(
      problem_of("metric: r2\nparameters: {training.optimizer.lr: [0.1]}\n") ==
      "2:9: metric: runs of task classification have no r2; their figures: loss, accuracy, top5, precision, recall, f1 "
      "(with training.optimizer.lr=0.1)");
}

TEST_CASE("values that the run file refuses only together are reported once, with the configuration") {
  const auto alone = problem_of("parameters: {host.kernel: [3, 4, 5], training.optimizer.lr: [0.1, 0.2]}\n");
  CHECK(alone == "2:31: parameters.host.kernel: must be odd, but is 4 (with host.kernel=4, training.optimizer.lr=0.1)");
}

TEST_CASE(
    "a configuration that training refuses is reported at the value that makes it so, or else at the parameters") {
  const auto lanes = [](const std::string& kinds) {
    return problems_of(kHead + "parameters: {step.lane: [replay, graph], device.kind: " + kinds + "}\n");
  };
  CHECK(lanes("[cuda, auto]").empty());
  const auto graph = lanes("[auto, cpu]");
  REQUIRE(graph.size() == 1);
  CHECK(graph[0].starts_with("2:34: parameters.step.lane: graph cannot run with device.kind: cpu"));
  CAPTURE(graph[0]);
  CHECK(graph[0].ends_with("(with step.lane=graph, device.kind=\"cpu\")"));

  const test::TemporaryFolder folder;
  std::ofstream(folder / "run.yaml") << "step: {lane: graph}\ndevice: {kind: cpu}\n";
  const std::string file = folder / "sweep.yaml";
  const auto shown_of = [&](const std::string& parameters) {
    std::ofstream(file) << "config: run.yaml\nparameters: {" << parameters << "}\n";
    std::vector<std::string> shown;
    for (const Problem& problem : read_sweep(file).problems) shown.push_back(to_string(problem));
    return shown;
  };
  const auto of_file = shown_of("training.optimizer.lr: [0.1, 0.2]");
  REQUIRE(of_file.size() == 1);
  CHECK(
      of_file[0].starts_with(file + ":2:13: parameters: " + (folder / "run.yaml") + ":1:14: step.lane: graph cannot"));
  CHECK(shown_of("step.lane: [replay, eager]").empty());  // the run file's own lane is trained by no configuration
}

TEST_CASE("a value that does not fit the run file's own fields is reported with the place in the run file") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "run.yaml") << "host:\n  kind: cnn\n  kernel: 5\ngrowth:\n  enabled: true\n  slots: [r0c1]\n";
  const std::string file = folder / "sweep.yaml";
  std::ofstream(file) << "config: run.yaml\nparameters:\n  host.blocks: [3, 1]\n";
  const auto loaded = read_sweep(file);
  REQUIRE(loaded.problems.size() == 1);
  const std::string shown = to_string(loaded.problems[0]);
  CHECK(shown.starts_with(file + ":3:3: parameters: " + (folder / "run.yaml") + ":6:11: growth.slots[0]: "));
  CHECK(shown.ends_with("(with host.blocks=1)"));
}

TEST_CASE("problems of the run file come with those of the sweep file") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "run.yaml") << "epochs: 0\nseeds: 3\n";
  const std::string file = folder / "sweep.yaml";
  std::ofstream(file) << "config: run.yaml\nname: on\nparameters: {epochs: [1]}\n";
  const auto loaded = read_sweep(file);
  REQUIRE(loaded.problems.size() == 3);
  CHECK(to_string(loaded.problems[0]).starts_with(file + ":2:7: name: expected text"));
  CHECK(to_string(loaded.problems[1]) == (folder / "run.yaml") + ":1:9: epochs: must be 1 to 1000000, but is 0");
  CHECK(to_string(loaded.problems[2]).starts_with((folder / "run.yaml") + ":2:1: seeds: unknown key"));
}

TEST_CASE("nothing is shown of a file that is no run file, and no stream is read") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "secret") << "user: me\npassword_of_mine: 12345\n";
  const std::string rest = "\nparameters: {epochs: [1]}\n";
  const auto secret = problems_of("config: " + (folder / "secret") + rest);
  REQUIRE(secret.size() == 1);
  CHECK(secret[0].find("secret is not a run file (line 1)") != std::string::npos);
  CHECK(secret[0].find("password") == std::string::npos);
  const auto stream = problems_of("config: /dev/stdin" + rest);
  REQUIRE(stream.size() == 1);
  CHECK(stream[0].starts_with("1:9: config: /dev/stdin "));
}

}  // namespace esper::test::sweep_file_mistakes_test
