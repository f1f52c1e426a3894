// Tasks other than classification: whole runs, from files of numbers to their figures.

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <sstream>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::task_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

constexpr int kSamples = 200, kFeatures = 4;

std::string npy(int rows, int columns, const std::function<float(int, int)>& value) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                       std::to_string(columns) + "), }";
  header.resize(117, ' ');
  header += '\n';
  std::string text = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
  for (int i = 0; i < rows; ++i) {
    for (int k = 0; k < columns; ++k) {
      const float number = value(i, k);
      char bytes[sizeof(number)];
      std::memcpy(bytes, &number, sizeof(number));
      text.append(bytes, sizeof(number));
    }
  }
  return text;
}

float input(int sample, int feature) { return static_cast<float>(std::sin(12.9898 * (sample * kFeatures + feature))); }

// Two numbers, or whether each is above zero.
float number(int sample, int output) {
  return 3 * input(sample, output) - 2 * input(sample, output + 1) * input(sample, output + 2);
}
float label(int sample, int output) { return number(sample, output) > 0 ? 1 : 0; }

std::string config_for(const RunRoom& room, const std::string& task, float (*target)(int, int), int outputs = 2) {
  room.write("data/x.npy", npy(kSamples, kFeatures, input));
  room.write("data/y.npy", npy(kSamples, outputs, target));
  return room.write("task.yaml",
                    "epochs: 6\ndevice: {kind: cpu, threads: 1}\ntask: " + task +
                        "\ndata: {kind: npy, path: " + (room.path / "data").string() +
                        ", batch_size: 32}\nhost: {kind: mlp, hidden: [16]}\n"
                        "training: {optimizer: {kind: adamw, lr: 0.02}}\nstep: {lane: replay}\n"
                        "policy: {kind: schedule, schedule: [\"1:r0c0=mlp\"]}\ntelemetry: {console: none}\n");
}

// Why it names no number of classes.
void check_top_refused(const RunRoom& room, const std::string& run, const std::string& task) {
  for (const char* top : {"1", "2"}) {
    const Finished refused = run_esper({"predict", run, room.path / "data/x.npy", "--top", top});
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, ContainsSubstring("--top is for classification; this run was trained for " + task));
  }
}

json figures_of(const json& report) {
  json figures = report["validation"];
  figures.erase("samples");
  return figures;
}

float large_number(int sample, int output) { return 1000 * number(sample, output); }

// The second of them in another unit.
float price(int sample, int output) {
  return output == 0 ? 500000 + 100000 * number(sample, 0) : 3 + number(sample, 1) / 100;
}

constexpr char kStandardized[] = "data.standardize_targets=true";

// Of lines of JSON, by sample.
std::vector<json> predictions_of(const std::string& run, const std::string& inputs) {
  const Finished finished = run_esper({"predict", run, inputs, "--format", "jsonl"});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  std::vector<json> values;
  std::istringstream text(finished.out);
  for (std::string line; std::getline(text, line);) values.push_back(json::parse(line)["values"]);
  return values;
}

// Over both numbers of all samples.
double mean_price_error(const std::vector<json>& predictions) {
  double sum = 0;
  for (int i = 0; i < kSamples; ++i) {
    const json& said = predictions[static_cast<std::size_t>(i)];
    for (int k = 0; k < 2; ++k) sum += std::abs(said["value_" + std::to_string(k)].get<double>() - price(i, k));
  }
  return sum / (2 * kSamples);
}

}  // namespace

TEST_CASE("a regression whose targets are large begins with a warning that names the first of them") {
  const RunRoom room;
  const auto config = config_for(room, "regression", large_number);
  CHECK_THAT(train(config, room.run("large"), {"epochs=2"}).err,
             ContainsSubstring("the numbers of target \"0\" are large") &&
                 ContainsSubstring("targets are not standardised") &&
                 ContainsSubstring("set data.standardize_targets: true"));
  CHECK_THAT(train(config, room.run("standardised"), {"epochs=2", kStandardized}).err,
             !ContainsSubstring("targets are not standardised"));
  CHECK_THAT(train(config_for(room, "regression", number), room.run("small"), {"epochs=2"}).err,
             !ContainsSubstring("targets are not standardised"));
}

TEST_CASE("prices are learned where targets are standardised, and all that is seen of them is in the data's units") {
  const RunRoom room;
  const auto config = config_for(room, "regression", price);
  REQUIRE(train(config, room.run("plain"), {"epochs=30"}).exit_code == 0);
  CHECK(read_json(room.run("plain") / "summary.json")["validation"]["r2"] < 0);
  const std::string run = room.run("run");
  const Finished finished = train(config, run, {"epochs=30", kStandardized});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  const json summary = read_json(run + "/summary.json");
  CHECK(summary["validation"]["r2"] > 0.5);
  CHECK(summary["validation"]["loss"] < 1);
  CHECK(figures_of(json_of(run_esper({"evaluate", run, "--json"}))) == summary["validation"]);

  const auto predictions = predictions_of(run, room.path / "data/x.npy");
  REQUIRE(predictions.size() == kSamples);
  const double error = mean_price_error(predictions);
  CHECK(error < 100000);
  CHECK(std::abs(predictions[0]["value_1"].get<double>() - price(0, 1)) < 0.1);
  std::filesystem::copy(room.path / "data", room.path / "all");
  const json all =
      json_of(run_esper({"evaluate", run, "--json", "--set", "data.test_path=" + (room.path / "all").string()}));
  CHECK(std::abs(all["test"]["mae"].get<double>() / error - 1) < 1e-4);
  CHECK(all["rmse"].get<double>() > error);

  const std::string out = room.path / "torch";
  const json exported = json_of(run_esper({"export", run, "--format", "pytorch", "--out", out, "--json"}));
  CHECK(exported["difference"].get<double>() < 1e-5);
  CHECK_THAT(contents_of(out + "/model.py"), ContainsSubstring("return self.target_units("));
  const json preprocessing = read_json(out + "/preprocessing.json");
  CHECK(std::abs(preprocessing["target_mean"][0].get<double>() - 500000) < 100000);
  CHECK(preprocessing["target_deviation"][0] > 100000);
}

TEST_CASE("a run with standardised targets is resumed to the same bits, and keeps the setting") {
  const RunRoom room;
  const auto config = config_for(room, "regression", price);
  const Words settings{kStandardized, "checkpoint.every=3 steps", "checkpoint.keep_last=100"};
  REQUIRE(train(config, room.run("whole"), settings).exit_code == 0);
  const auto names = checkpoints_of(room.run("whole"));
  copy_run_until(room.run("whole"), names[names.size() / 2], room.run("resumed"));
  const Finished other = resume(room.run("resumed"), {"data.standardize_targets=false"});
  CHECK(other.exit_code != 0);
  CHECK_THAT(other.err, ContainsSubstring("data.standardize_targets"));
  const Finished finished = resume(room.run("resumed"));
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  check_equal(record_of(room.run("resumed")), record_of(room.run("whole")), Telemetry::kMayLack);
}

TEST_CASE("a regression trains, grows and is judged by R2, and its figures come back from its checkpoint") {
  const RunRoom room;
  const auto config = config_for(room, "regression", number, GENERATE(1, 2));
  const Finished finished = train(config, room.run("run"), {"checkpoint.best_metric=r2", "training.loss=huber"});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  const std::string run = room.run("run");
  const json summary = read_json(run + "/summary.json");
  CHECK(summary["train"].size() == 1);
  CHECK(summary["validation"].size() == 3);
  CHECK(summary["validation"]["r2"] > 0.5);
  CHECK(summary["best"]["r2"] >= summary["validation"]["r2"]);
  REQUIRE(summary["seeds"].size() == 1);
  CHECK(summary["seeds"][0]["stage"] != "GERMINATED");
  const json report = json_of(run_esper({"evaluate", run, "--json", "--by-sample"}));
  CHECK(figures_of(report) == summary["validation"]);
  CHECK(report["rmse"] > 0);
  CHECK_FALSE(report.contains("confusion"));
  check_top_refused(room, run, "regression");
  double mean = 0;
  for (const double one : report["by_sample"]["r2"].get<std::vector<double>>()) mean += one / 40;
  CHECK(std::abs(mean - summary["validation"]["r2"].get<double>()) < 1e-4);
}

TEST_CASE("labels are judged by F1, one by one and all together, and class weights change what is learned") {
  const RunRoom room;
  const auto config = config_for(room, "multilabel", label);
  REQUIRE(train(config, room.run("plain")).exit_code == 0);
  REQUIRE(train(config, room.run("weighted"), {"training.class_weights=[1, 2]"}).exit_code == 0);
  const json summary = read_json(room.run("plain") / "summary.json");
  CHECK(summary["validation"]["f1"] > 0.6);
  CHECK(summary["train"]["accuracy"] > 0.3);
  CHECK(summary["validation"] != read_json(room.run("weighted") / "summary.json")["validation"]);
  const json report = json_of(run_esper({"evaluate", room.run("plain"), "--json"}));
  CHECK(figures_of(report) == summary["validation"]);
  CHECK(report["classes"].size() == 2);
  CHECK(report["micro"]["f1"] > 0.6);
  const Finished text = run_esper({"evaluate", room.run("plain")});
  CHECK_THAT(text.out, ContainsSubstring("all together"));
  check_top_refused(room, room.run("plain"), "multilabel");
}

TEST_CASE("weights for other classes than the data have are refused once the data are read") {
  const RunRoom room;
  const auto config = config_for(room, "multilabel", label);
  const Finished finished = train(config, room.run("run"), {"training.class_weights=[1, 2, 3]"});
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.err, ContainsSubstring("training.class_weights: has 3 weights, but the data have 2 classes"));
}

TEST_CASE("classes have their figures and a confusion matrix of all validation samples") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), {"epochs=2", "growth.enabled=false"}).exit_code == 0);
  const json report = json_of(run_esper({"evaluate", room.run("run"), "--json"}));
  REQUIRE(report["classes"].size() == 10);
  REQUIRE(report["confusion"].size() == 10);
  int all = 0, hits = 0;
  for (int i = 0; i < 10; ++i) {
    for (int j = 0; j < 10; ++j) all += report["confusion"][i][j].get<int>();
    hits += report["confusion"][i][i].get<int>();
  }
  CHECK(all == report["validation"]["samples"]);
  CHECK(std::abs(static_cast<double>(hits) / all - report["validation"]["accuracy"].get<double>()) < 1e-12);
}

}  // namespace esper::test::task_test
