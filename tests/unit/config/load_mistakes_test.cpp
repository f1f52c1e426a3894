#include <catch2/catch_test_macros.hpp>

#include "config/loading/load.h"
#include "unit/config/problem_case.h"

namespace esper::test::load_mistakes_test {

using namespace esper::base;
using namespace esper::config;
using Cases = std::vector<esper::test::ProblemCase>;

namespace {

Cases unknown_keys() {
  return {
      {"Epochs: 3\n", "f:1:1: Epochs: unknown key; did you mean epochs?"},
      {"polcy: {kind: none}\n", "f:1:1: polcy: unknown key; did you mean policy?"},
      {"data:\n  batchsize: 3\n", "f:2:3: data.batchsize: unknown key; did you mean batch_size?"},
      {"training:\n  optimizer:\n    momentun: 1\n",
       "f:3:5: training.optimizer.momentun: unknown key; did you mean momentum?"},
      {"growth: {gates: {min_training_epoch: 8}}\n",
       "f:1:18: growth.gates.min_training_epoch: unknown key; did you mean min_training_epochs?"},
      {"training: {optimizer.lr: 1}\n", "f:1:12: training.optimizer.lr: unknown key; did you mean optimizer?"},
      {"warmup_steps: 3\n",
       "f:1:1: warmup_steps: unknown key; there is training.schedule.warmup_steps, step.compile.warmup_steps, "
       "growth.seed_schedule.warmup_steps. Known here: name"},
      {"kind: csv\n", "f:1:1: kind: unknown key; known here: name"},
      {"on: 1\n", "f:1:1: on: unknown key; known here: name"},
      {"\"\": 1\n", "f:1:1: unknown key; known here: name"},
      {"n\xD0\xB0me: a\n", "f:1:1: n\xD0\xB0me: unknown key; known here: name"},  // the letter a of another alphabet
      {std::string(300, 'k') + ": 1\n", "f:1:1: " + std::string(60, 'k') + "...: unknown key; known here: name"},
  };
}

Cases wrong_types() {
  return {
      {"training: {optimizer: sgd}\n", "f:1:23: training.optimizer: expected a section"},
      {"training:\n  optimizer:\n  huber_delta: 1\n", "f:2:3: training.optimizer: expected a section"},
      {"policy:\n  - kind: none\n", "f:2:3: policy: expected a section"},
      {"device: {tf32: NO}\n", "f:1:16: device.tf32: expected true or false, found \"NO\""},
      {"telemetry: {jsonl: ~}\n", "f:1:13: telemetry.jsonl: expected true or false, found nothing"},
      {"telemetry: {jsonl: \"\"}\n", "f:1:20: telemetry.jsonl: expected true or false, found \"\""},
      {"data: {augment: {flip: [true]}}\n", "f:1:24: data.augment.flip: expected true or false, found a list"},
      {"data: {kind: NO}\n", "f:1:14: data.kind: expected one of digits, csv"},
      {"task: Regression\n",
       "f:1:7: task: expected one of classification, multilabel, regression, language, found "
       "\"Regression\"; did you mean regression?"},
      {"step: {compile: {mode: reduce_overhead}}\n",
       "f:1:24: step.compile.mode: expected one of default, reduce-overhead, max-autotune, found "
       "\"reduce_overhead\"; did you mean reduce-overhead?"},
      {"step:\n  lane: turbo\n",
       "f:2:9: step.lane: expected one of auto, eager, replay, graph, compiled, found \"turbo\""},
      {"step: {lane: {a: 1}}\n",
       "f:1:14: step.lane: expected one of auto, eager, replay, graph, compiled, found a section"},
      {"task:\n", "f:1:1: task: expected one of classification, multilabel, regression, language, found nothing"},
      {"runs_dir: {a: b}\n", "f:1:11: runs_dir: expected text, found a section"},
      {"growth: {slots: r0c0}\n", "f:1:17: growth.slots: expected a list, like [a, b], found \"r0c0\""},
      {"growth:\n  blueprints:\n    - no\n",
       "f:3:7: growth.blueprints[0]: expected text, found \"no\", which reads as a boolean; put it in quotes"},
      {"growth: {blueprints: [norm, ~]}\n", "f:1:29: growth.blueprints[1]: expected text, found nothing"},
      {"policy: {schedule: [2: r0c0=mlp]}\n", "f:1:21: policy.schedule[0]: expected text, found a section"},
      {"host: {hidden: \"[8, 8]\"}\n", "f:1:16: host.hidden: expected a list, like [64, 64], found \"[8, 8]\""},
      {"training: {class_weights: [1, null]}\n", "f:1:31: training.class_weights[1]: expected a number, found nothing"},
      {"training: {label_smoothing: [0.1]}\n", "f:1:29: training.label_smoothing: expected a number, found a list"},
      {"safety: {budget: {epoch: ~}}\n",
       "f:1:19: safety.budget.epoch: expected a duration with its unit, like 500ms, 2s or 1h, found nothing"},
      {"checkpoint: {every: {epochs: 3}}\n",
       "f:1:21: checkpoint.every: expected a number of epochs or steps, like 3 epochs or 200 steps, found a section"},
  };
}

Cases wrong_numbers() {
  return {
      {"epochs: +5\n", "f:1:9: epochs: expected a whole number, found \"+5\""},
      {"epochs: 1,000\n", "f:1:9: epochs: expected a whole number, found \"1,000\"; use digits only"},
      {"epochs: 2001-01-01\n", "f:1:9: epochs: expected a whole number, found \"2001-01-01\"; use digits only"},
      {"epochs: .nan\n", "f:1:9: epochs: expected a whole number, found \".nan\""},
      {"epochs: \"\"\n", "f:1:9: epochs: expected a whole number, found \"\""},
      {"epochs: -0\n", "f:1:9: epochs: must be 1 to 1000000, but is -0"},
      {"epochs: \xD9\xA1\n",
       "f:1:9: epochs: expected a whole number, found \"\xD9\xA1\""},  // the digit 1 of another script
      {"host: {hidden: [8, 010]}\n",
       "f:1:20: host.hidden[1]: expected a whole number, found \"010\"; it could be octal"},
      {"host:\n  hidden:\n    - 8\n    - 65537\n", "f:4:7: host.hidden[1]: must be 1 to 65536, but is 65537"},
      {"data: {workers: -2147483649}\n", "f:1:17: data.workers: does not fit into 32 bits: \"-2147483649\""},
      {"data: {max_samples: 9223372036854775808}\n", "f:1:21: data.max_samples: does not fit into 64 bits"},
      {"seed: -99999999999999999999\n", "f:1:7: seed: must be >= 0, but is -99999999999999999999"},
      {"seed: " + std::string(400, '9') + "\n",
       "f:1:7: seed: does not fit into 64 bits: \"" + std::string(60, '9') + "...\""},
      {"training: {label_smoothing: 1_0.5}\n", "f:1:29: training.label_smoothing: expected a number, found \"1_0.5\""},
      {"training: {label_smoothing: 1:30.5}\n",
       "f:1:29: training.label_smoothing: expected a number, found \"1:30.5\""},
      {"training:\n  label_smoothing: 0,1\n", "f:2:20: training.label_smoothing: expected a number, found \"0,1\""},
      {"training: {label_smoothing: 10%}\n", "f:1:29: training.label_smoothing: expected a number, found \"10%\""},
      {"training: {label_smoothing: 1e}\n", "f:1:29: training.label_smoothing: expected a number, found \"1e\""},
      {"training: {label_smoothing: \".nan\"}\n",
       "f:1:29: training.label_smoothing: expected a number, found \".nan\""},
      {"training: {label_smoothing: -1e400}\n",
       "f:1:29: training.label_smoothing: expected a finite number, found \"-1e400\""},
      {"training: {label_smoothing: 0.9900000001}\n",
       "f:1:29: training.label_smoothing: must be 0 to 0.99, but is 0.9900000001"},
      {"training: {class_weights: [1, +.Inf]}\n",
       "f:1:31: training.class_weights[1]: expected a finite number, found \"+.Inf\""},
      {"training: {class_weights: [-1e-9]}\n", "f:1:28: training.class_weights[0]: must be 0 to 1000000, but is -1e-9"},
  };
}

Cases wrong_times() {
  const std::string duration =
      "safety.policy_deadline: expected a duration with its unit, like 500ms, 2s or 1h, found ";
  const std::string length =
      "checkpoint.every: expected a number of epochs or steps, like 3 epochs or 200 steps, found ";
  Cases cases = {{"safety:\n  budget:\n    epoch: 3 minutes\n", "f:3:12: safety.budget.epoch: expected a duration"},
                 {"safety: {policy_deadline: 0s}\n", "f:1:27: safety.policy_deadline: must be > 0"},
                 {"policy: {every: 5s}\n", "f:1:17: policy.every: expected a number of epochs or steps"}};
  for (const std::string value : {"2min", "2S", "1h30m", "1:30", "0x10s", "1e400s", "nans", "99999999999999h"}) {
    cases.push_back({"safety: {policy_deadline: " + value + "}\n", "f:1:27: " + duration + "\"" + value + "\""});
  }
  for (const std::string value :
       {"1.5 epochs", "-1 epochs", "3 epoches", "3epochs", "1_000 steps", "inf steps", "99999999999999999999 steps"}) {
    cases.push_back({"checkpoint: {every: " + value + "}\n", "f:1:21: " + length + "\"" + value + "\""});
  }
  return cases;
}

}  // namespace

TEST_CASE("each single mistake in a run file is reported with its place and the way out") {
  for (const auto part : {unknown_keys, wrong_types, wrong_numbers, wrong_times}) {
    for (const auto& c : part()) check_problem(c);
  }
}

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
