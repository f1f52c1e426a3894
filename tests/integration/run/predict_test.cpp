// What was trained can be used without the data that it was trained on.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <sstream>

#include "run_record.h"
#include "run_room.h"
#include "storage/atomic_publish.h"
#include "storage/real_file_system.h"

namespace esper::test::predict_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;
namespace storage = esper::storage;

namespace {

constexpr int kFeatures = 64;

struct Rows {
  std::vector<std::vector<double>> inputs;
  std::vector<std::string> classes;
};

// Three classes around centres of their own; the features differ in scale.
Rows draw(unsigned seed, int count) {
  const std::vector<std::string> names{"bird", "cat", "dog, old"};
  std::mt19937 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() % 1000) / 1000 - 0.5; };
  Rows rows;
  for (int i = 0; i < count; ++i) {
    const int label = i % 3;
    std::vector<double> input;
    for (int f = 0; f < kFeatures; ++f) input.push_back((uniform() + 0.25 * ((f * (label + 2)) % 5) + 3) * (1 + f % 7));
    rows.inputs.push_back(input);
    rows.classes.push_back(names[static_cast<std::size_t>(label)]);
  }
  return rows;
}

enum class Order { kAsDrawn, kSwapped };
enum class Columns { kAll, kInputs };

// Swapped: the first two columns have changed places, under their names.
std::string csv(const Rows& rows, Columns columns, Order order = Order::kAsDrawn) {
  std::vector<int> features;
  for (int f = 0; f < kFeatures; ++f) features.push_back(f);
  if (order == Order::kSwapped) std::swap(features[0], features[1]);
  std::ostringstream text;
  for (const int f : features) text << (f == features.front() ? "" : ",") << "f" << f;
  text << (columns == Columns::kAll ? ",class\n" : "\n");
  for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
    for (const int f : features) {
      text << (f == features.front() ? "" : ",") << rows.inputs[i][static_cast<std::size_t>(f)];
    }
    text << (columns == Columns::kAll ? ",\"" + rows.classes[i] + "\"\n" : "\n");
  }
  return text.str();
}

// A run on such data, which lie beside it.
struct TrainedRun {
  RunRoom room;
  std::string run, data, test, inputs;
  Rows rows = draw(2, 60);

  explicit TrainedRun(const Words& assignments) {
    data = room.write("data.csv", csv(draw(1, 240), Columns::kAll));
    test = room.write("test.csv", csv(rows, Columns::kAll));
    inputs = room.write("inputs.csv", csv(rows, Columns::kInputs));
    run = room.run("run");
    const auto config = room.write("small.yaml", growing_config());
    const auto trained = train(config, run, Words{"data.kind=csv", "data.path=" + data} + assignments);
    INFO(trained.err);
    REQUIRE(trained.exit_code == 0);
  }

  Finished predict(const Words& arguments) const { return run_esper(Words{"predict", run} + arguments); }
  Finished evaluate(const Words& arguments) const { return run_esper(Words{"evaluate", run, "--json"} + arguments); }

  json measured(const std::string& path) const {
    const auto finished = evaluate({"--by-sample", "--set", "data.test_path=" + path});
    INFO(finished.err);
    REQUIRE(finished.exit_code == 0);
    return json_of(finished);
  }
};

const Words kShort{"growth.enabled=false", "epochs=2"};

std::vector<json> lines_of(const Finished& finished) {
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  std::vector<json> lines;
  std::istringstream text(finished.out);
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

void check_figures(const json& a, const json& b) {
  CHECK(a["test"] == b["test"]);
  CHECK(a["by_sample"] == b["by_sample"]);
}

std::string problem_of(const Finished& finished, int exit_code) {
  CHECK(finished.exit_code == exit_code);
  return finished.out + finished.err;
}

// Publishes a checkpoint again, with these contents of its files.
void replace_files(const std::string& checkpoint, const std::map<std::string, std::string>& contents) {
  const json fields = read_json(checkpoint + "/manifest.json")["fields"];
  std::vector<storage::FolderFile> files;
  for (const auto& [name, text] : contents) {
    files.push_back({name, [text = text](const storage::ByteSink& sink) { sink(storage::bytes_of(text)); }});
  }
  fs::remove_all(checkpoint);
  storage::publish_folder(storage::real_file_system(), checkpoint, files, fields);
}

// As earlier versions wrote it.
void forget_preprocessing(const std::string& run) {
  for (const auto& name : checkpoints_of(run)) {
    const std::string folder = run + "/checkpoints/" + name;
    std::map<std::string, std::string> kept;
    for (const auto* file : {"run.json", "state.safetensors"}) kept[file] = contents_of(folder + "/" + file);
    replace_files(folder, kept);
  }
}

// All averages are finite, and so large that a forward with them is not.
void enlarge_averages(const std::string& checkpoint) {
  std::map<std::string, std::string> files;
  for (const auto* file : {"run.json", "state.safetensors", "preprocessing.json"}) {
    files[file] = contents_of(checkpoint + "/" + file);
  }
  std::string& state = files["state.safetensors"];
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, state.data(), sizeof header_size);
  const json header = json::parse(state.substr(sizeof header_size, header_size));
  const float large = std::numeric_limits<float>::max();
  for (const auto& [name, tensor] : header.items()) {
    if (!name.starts_with("ema.")) continue;
    const std::size_t begin = tensor["data_offsets"][0], end = tensor["data_offsets"][1];
    for (std::size_t at = begin; at < end; at += sizeof large) {
      std::memcpy(state.data() + sizeof header_size + header_size + at, &large, sizeof large);
    }
  }
  replace_files(checkpoint, files);
}

}  // namespace

TEST_CASE("predictions are those that evaluate counts, with grown and averaged networks, and need no data") {
  // Averages of a network with batch norm need statistics of their own, which the checkpoint holds.
  const Words assignments = GENERATE(Words{"data.shape=[1, 8, 8]", "training.ema_decay=0.9"}, perceptron());
  CAPTURE(assignments);
  const TrainedRun it(assignments);
  const json measured = it.measured(it.test);
  const auto lines = lines_of(it.predict({it.inputs, "--format", "jsonl", "--top", "3"}));
  REQUIRE(lines.size() == it.rows.classes.size());
  double correct = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const json& classes = lines[i]["classes"];
    REQUIRE(classes.size() == 3);
    const bool hit = classes[0]["class"] == it.rows.classes[i];
    CHECK(hit == (measured["by_sample"]["accuracy"][i] == 1));
    correct += hit;
    double sum = 0;
    for (const auto& one : classes) sum += one["probability"].get<double>();
    CHECK(std::abs(sum - 1) < 1e-5);
    CHECK(lines[i]["sample"] == i);
  }
  CHECK(std::abs(correct / 60 - measured["test"]["accuracy"].get<double>()) < 1e-9);
  CHECK(correct > 30);

  fs::remove(it.data);
  CHECK(lines_of(it.predict({it.inputs, "--format", "jsonl", "--top", "3"})) == lines);
  const auto alone = it.evaluate({"--by-sample", "--set", "data.test_path=" + it.test});
  REQUIRE(alone.exit_code == 0);
  check_figures(json_of(alone), measured);
  CHECK_THAT(alone.err, ContainsSubstring("is not known"));
}

TEST_CASE(
    "the averages' statistics that a checkpoint lacks are computed from the run's data, or the refusal says why") {
  const RunRoom room;
  const Rows rows = draw(2, 60);
  const auto data = room.write("data.csv", csv(draw(1, 240), Columns::kAll));
  const auto test = room.write("test.csv", csv(rows, Columns::kAll));
  const auto inputs = room.write("inputs.csv", csv(rows, Columns::kInputs));
  const auto config = room.write("small.yaml", growing_config());
  const Words settings =
      kShort + Words{"data.kind=csv", "data.path=" + data, "data.shape=[1, 8, 8]", "training.ema_decay=0.9"};
  const auto stopped = room.run("stopped"), whole = room.run("whole");
  REQUIRE(run_program(train_command(config, stopped, settings), {"ESPER_FAULTS=tolaria.training.term@3"}).exit_code ==
          143);
  REQUIRE(train(config, whole, settings + Words{"checkpoint.every=1 steps"}).exit_code == 0);
  const auto name = checkpoints_of(stopped).back();
  const auto predict = [&](const fs::path& run, const Words& more) {
    return run_esper(Words{"predict", run.string(), inputs, "--checkpoint", name} + more);
  };
  const auto predicted = [&](const fs::path& run, const Words& more = {}) {
    return lines_of(predict(run, Words{"--json"} + more));
  };
  const auto expected = predicted(whole);
  CHECK(predicted(stopped) == expected);
  CHECK(predicted(stopped, {"--batch-size", "7"}) == predicted(whole, {"--batch-size", "7"}));
  const Words evaluate{"--json", "--by-sample", "--checkpoint", name, "--set", "data.test_path=" + test};
  const auto measured = run_esper(Words{"evaluate", stopped.string()} + evaluate);
  REQUIRE(measured.exit_code == 0);
  check_figures(json_of(measured), json_of(run_esper(Words{"evaluate", whole.string()} + evaluate)));

  const auto moved = (room.path / "moved.csv").string();
  fs::rename(data, moved);
  const auto check_refusal = [](const Finished& finished, const std::string& way_out) {
    CHECK_THAT(problem_of(finished, 5), ContainsSubstring("holds no batch norm statistics of the averaged model") &&
                                            ContainsSubstring("data.csv: does not exist") &&
                                            ContainsSubstring(way_out + " --set data.path=NEW") &&
                                            ContainsSubstring("continue the run where epochs are left") &&
                                            ContainsSubstring("--checkpoint"));
  };
  check_refusal(predict(stopped, {}), "the same command with");
  check_refusal(run_esper(Words{"evaluate", stopped.string()} + evaluate), "the same command with");
  check_refusal(run_esper({"export", stopped.string(), "--format", "safetensors", "--out", room.path / "out"}),
                "esper train --resume " + stopped.string());
  CHECK(predicted(stopped, {"--set", "data.path=" + moved}) == expected);
  room.write("data.csv", csv(draw(3, 240), Columns::kAll));
  CHECK_THAT(problem_of(predict(stopped, {}), 5), ContainsSubstring("differ from its training data"));

  REQUIRE(resume(stopped, {"data.path=" + moved}).exit_code == 0);
  fs::remove(moved);
  CHECK(run_esper({"predict", stopped.string(), inputs}).exit_code == 0);
}

TEST_CASE("a checkpoint whose averages' statistics are not finite is refused for that, and not for lack of data") {
  const RunRoom room;
  const auto run = room.run("run");
  REQUIRE(run_program(
              train_command(room.write("small.yaml", growing_config()), run, kShort + Words{"training.ema_decay=0.9"}),
              {"ESPER_FAULTS=tolaria.training.term@3"})
              .exit_code == 143);
  enlarge_averages((run / "checkpoints" / checkpoints_of(run).back()).string());
  const auto exported = run_esper({"export", run.string(), "--format", "safetensors", "--out", room.path / "out"});
  CHECK_THAT(problem_of(exported, 5), ContainsSubstring("statistics of the averaged model are not finite") &&
                                          !ContainsSubstring("Make the data available"));
}

TEST_CASE("a prediction is a line of CSV, in a file that is there whole or not at all") {
  const TrainedRun it(kShort + perceptron());
  const auto out = it.room.path / "classes.csv";
  REQUIRE(it.predict({it.inputs, "--out", out}).exit_code == 0);
  std::istringstream text(contents_of(out));
  std::string line;
  std::getline(text, line);
  CHECK(line == "input,sample,class,probability");
  int count = 0;
  for (; std::getline(text, line); ++count) {
    CHECK_THAT(line,
               ContainsSubstring(it.inputs + "," + std::to_string(count) + ",") &&
                   (ContainsSubstring(",bird,") || ContainsSubstring(",cat,") || ContainsSubstring(",\"dog, old\",")));
  }
  CHECK(count == 60);
  CHECK(it.predict({it.inputs}).out == contents_of(out));
  const auto in_sevens = lines_of(it.predict({it.inputs, "--json", "--batch-size", "7"}));
  CHECK(in_sevens.size() == 60);
  CHECK(in_sevens.back()["sample"] == 59);
  CHECK_THAT(it.predict({it.inputs, "--top", "9"}).out, ContainsSubstring("class_3,probability_3\n"));

  const auto broken = it.room.write("broken.csv", csv(it.rows, Columns::kInputs) + "1,2,x\n");
  CHECK_THAT(problem_of(it.predict({it.inputs, broken, "--out", it.room.path / "none.csv"}), 3),
             ContainsSubstring("broken.csv: line 62"));
  CHECK_FALSE(fs::exists(it.room.path / "none.csv"));
}

TEST_CASE("a prediction replaces no link and none of its inputs") {
  const TrainedRun it(kShort + perceptron());
  const auto link = it.room.path / "link.csv";
  fs::create_symlink(it.inputs, link);
  CHECK_THAT(problem_of(it.predict({it.inputs, "--out", link}), 2), ContainsSubstring("is not a regular file"));
  CHECK(fs::is_symlink(link));
  CHECK_THAT(problem_of(it.predict({it.inputs, "--out", it.room.path}), 2), ContainsSubstring("is a folder"));
  const auto before = contents_of(it.inputs);
  CHECK_THAT(problem_of(it.predict({it.inputs, "--out", it.inputs}), 2), ContainsSubstring("is one of the inputs"));
  CHECK(contents_of(it.inputs) == before);
}

TEST_CASE("evaluate measures other data with the run's normaliser, and finds columns by their names") {
  const TrainedRun it(kShort + perceptron());
  const json measured = it.measured(it.test);
  // Each figure is the sample's own: it does not depend on which others are measured with it.
  Rows half = it.rows;
  half.inputs.resize(30);
  half.classes.resize(30);
  const json part = it.measured(it.room.write("half.csv", csv(half, Columns::kAll)));
  for (std::size_t i = 0; i < 30; ++i) CHECK(part["by_sample"]["accuracy"][i] == measured["by_sample"]["accuracy"][i]);

  const auto swapped = it.room.write("swapped.csv", csv(it.rows, Columns::kAll, Order::kSwapped));
  check_figures(it.measured(swapped), measured);
  const auto named = it.room.write("swapped_inputs.csv", csv(it.rows, Columns::kInputs, Order::kSwapped));
  const auto probabilities = [&](const std::string& file) {
    auto lines = lines_of(it.predict({file, "--json"}));
    for (auto& line : lines) line.erase("input");
    return lines;
  };
  CHECK(probabilities(named) == probabilities(it.inputs));

  const auto other = it.evaluate({"--by-sample", "--set", "data.path=" + it.test});
  REQUIRE(other.exit_code == 0);
  CHECK(json_of(other)["part"] == "test");
  check_figures(json_of(other), measured);
  CHECK_THAT(other.err, !ContainsSubstring("are not there"));  // they are, and were not asked for

  const auto moved = it.room.write("moved.csv", contents_of(it.data));
  CHECK(json_of(it.evaluate({"--set", "data.path=" + moved}))["part"] == "validation");
  it.room.write("data.csv", csv(draw(3, 240), Columns::kAll));
  CHECK_THAT(problem_of(it.evaluate({}), 5), ContainsSubstring("differ from those of this checkpoint"));
}

TEST_CASE("data of another kind are refused by name") {
  const TrainedRun it(kShort + perceptron());
  const auto refused = [&](const std::string& text) {
    const auto file = it.room.write("other.csv", text);
    return problem_of(it.evaluate({"--set", "data.test_path=" + file}), 3);
  };
  const auto few = it.room.write("few.csv", "1,2,3,cat\n");
  CHECK_THAT(problem_of(it.evaluate({"--set", "data.test_path=" + few}), 3),
             ContainsSubstring(few + ": samples of shape [3]; the run was trained on [64]"));
  Rows strangers = it.rows;
  strangers.classes[7] = "wolf";
  CHECK_THAT(refused(csv(strangers, Columns::kAll)), ContainsSubstring("class \\\"wolf\\\" does not occur"));
  auto renamed = csv(it.rows, Columns::kAll);
  renamed.replace(renamed.find("f1,"), 3, "g1,");
  CHECK_THAT(refused(renamed), ContainsSubstring("column \\\"f1\\\" of the training data is not there"));
  CHECK_THAT(problem_of(it.evaluate({"--set", "task=regression"}), 2), ContainsSubstring("regression"));
  CHECK_THAT(problem_of(it.predict({it.test}), 0), ContainsSubstring("class,probability"));  // by its names
  CHECK_THAT(problem_of(it.predict({it.room.path / "none.csv"}), 3), ContainsSubstring("none.csv: does not exist"));
  CHECK_THAT(problem_of(it.predict({}), 2), ContainsSubstring("name the files"));
  CHECK_THAT(problem_of(it.predict({"--prompt", "a"}), 2), ContainsSubstring("--prompt is for language models"));
  CHECK_THAT(problem_of(it.predict({it.inputs, "--checkpoint", "none"}), 2), ContainsSubstring("no checkpoint none"));
}

TEST_CASE("a checkpoint of an earlier version is evaluated with its data, and not predicted with") {
  const TrainedRun it(kShort + perceptron());
  const json before = json_of(it.evaluate({"--by-sample"}));
  forget_preprocessing(it.run);
  CHECK(json_of(it.evaluate({"--by-sample"})) == before);
  CHECK_THAT(problem_of(it.predict({it.inputs}), 5),
             ContainsSubstring("holds no preprocessing.json") && ContainsSubstring("esper fork"));
  CHECK(resume(it.run, {"epochs=3"}).exit_code == 0);
  CHECK(it.predict({it.inputs}).exit_code == 0);
}

TEST_CASE("a language model goes on with a text, the same for one seed") {
  const RunRoom room;
  std::string text;
  for (int i = 0; i < 200; ++i) text += "the cat sat on the mat\nthe dog lay by the log\n";
  const auto data = room.write("text.txt", text);
  const auto config = room.write("text.yaml", R"(name: text
seed: 7
epochs: 2
device: {kind: cpu, threads: 1}
data: {kind: text, context: 16}
host: {kind: transformer, layers: 1, embedding: 16, heads: 2}
growth: {enabled: false}
policy: {kind: none}
telemetry: {console: none}
)");
  const std::string run = room.run("run");
  const auto trained = train(config, run, {"data.path=" + data});
  INFO(trained.err);
  REQUIRE(trained.exit_code == 0);
  fs::remove(data);
  const auto go_on = [&](const Words& more) {
    return run_esper(Words{"predict", run, "--prompt", "the ", "--tokens", "40"} + more);
  };
  const auto first = go_on({"--seed", "5"});
  INFO(first.err);
  REQUIRE(first.exit_code == 0);
  CHECK(first.out.starts_with("the "));
  CHECK(first.out.size() == 4 + 40 + 1);
  CHECK(go_on({"--seed", "5"}).out == first.out);
  CHECK(go_on({"--seed", "6"}).out != first.out);
  CHECK(go_on({"--temperature", "0"}).out == go_on({"--top-k", "1", "--seed", "9"}).out);

  const auto prompt = room.write("prompt.txt", "the ");
  CHECK(run_esper({"predict", run, prompt, "--tokens", "40", "--seed", "5"}).out == first.out);
  const json line = json_of(go_on({"--seed", "5", "--json"}));
  CHECK(line["prompt"] == "the ");
  CHECK(line["prompt"].get<std::string>() + line["text"].get<std::string>() + "\n" == first.out);
  const auto unknown = room.write("unknown.txt", "the X");
  CHECK_THAT(problem_of(run_esper({"predict", run, prompt, unknown}), 3), ContainsSubstring(unknown + ": character 5"));
  CHECK_THAT(problem_of(run_esper({"predict", run, "--prompt", "the X"}), 3),
             ContainsSubstring("character 5, \"X\", does not occur"));
  CHECK(run_esper({"predict", run}).exit_code == 2);
  CHECK_THAT(problem_of(go_on({"--top", "3"}), 2),
             ContainsSubstring("--top is for classification; this run was trained for language") &&
                 ContainsSubstring("give --top-k"));
}

}  // namespace esper::test::predict_test
