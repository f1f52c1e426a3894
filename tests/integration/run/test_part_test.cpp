// A test part of its own: training neither opens nor sees it, esper evaluate reports it.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <sstream>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::test_part_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const Words kShort{"growth.enabled=false", "epochs=2"};

json report_of(const Finished& finished) {
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  return json_of(finished);
}

json without_samples(json figures) {
  figures.erase("samples");
  return figures;
}

// As a run folder of an earlier version has it.
void remove_fields(const fs::path& file, const Words& keys) {
  std::istringstream lines(contents_of(file));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const bool removed = std::ranges::any_of(keys, [&](const auto& key) { return line.starts_with("  " + key + ":"); });
    if (!removed) kept += line + "\n";
  }
  std::ofstream(file) << kept;
}

// The numbers of an IDX file: its sizes, then values that differ with `seed`.
std::string idx(std::initializer_list<int> sizes, unsigned most, unsigned seed) {
  std::string text{0, 0, 8, static_cast<char>(sizes.size())};
  int count = 1;
  for (const int size : sizes) {
    text += {0, 0, 0, static_cast<char>(size)};
    count *= size;
  }
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    text += static_cast<char>((seed >> 16) % most);
  }
  return text;
}

// Data that bring a test part along.
std::string write_mnist(const RunRoom& room, const std::string& name) {
  const auto seed = static_cast<unsigned>(name.size());
  constexpr int kTraining = 60, kTest = 20, kSide = 8, kClasses = 4, kPixels = 251;
  room.write(name + "/train-images-idx3-ubyte", idx({kTraining, kSide, kSide}, kPixels, seed));
  room.write(name + "/train-labels-idx1-ubyte", idx({kTraining}, kClasses, seed));
  room.write(name + "/t10k-images-idx3-ubyte", idx({kTest, kSide, kSide}, kPixels, seed + 1));
  room.write(name + "/t10k-labels-idx1-ubyte", idx({kTest}, kClasses, seed + 1));
  return room.path / name;
}

}  // namespace

TEST_CASE("evaluate reports the test part where the run names one, and the validation part on request") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), kShort + Words{"data.test_fraction=0.1"}).exit_code == 0);
  const std::string run = room.run("run");
  const json report = report_of(run_esper({"evaluate", run, "--json"}));
  CHECK(report["part"] == "test");
  CHECK(report["test"]["samples"] == 180);
  CHECK(!report.contains("validation"));
  CHECK(report_of(run_esper({"evaluate", run, "--json", "--part", "test", "--checkpoint", "best"}))["part"] == "test");
  CHECK_THAT(run_esper({"evaluate", run}).out, ContainsSubstring("part: test\ntest loss"));

  const json validated = report_of(run_esper({"evaluate", run, "--json", "--part", "validation"}));
  CHECK(validated["part"] == "validation");
  CHECK(without_samples(validated["validation"]) == read_json(run + "/summary.json")["validation"]);
  CHECK(report["test"]["loss"] != validated["validation"]["loss"]);
}

TEST_CASE("a test part that may hold training samples is not measured") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), kShort).exit_code == 0);
  const std::string run = room.run("run");
  const Finished split = run_esper({"evaluate", run, "--set", "data.test_fraction=0.1"});
  CHECK(split.exit_code == 5);
  CHECK_THAT(split.err, ContainsSubstring("could hold samples that it was trained on") &&
                            ContainsSubstring("measured with --set data.test_path=PATH"));
  // The validation samples are the same, but scaled as the other training part says.
  CHECK(run_esper({"evaluate", run, "--part", "validation", "--set", "data.test_fraction=0.1"}).exit_code == 5);
}

TEST_CASE(
    "test data named to evaluate leave a run's validation part as it is, also where its own test part validated") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const std::string data = write_mnist(room, "data"), other = write_mnist(room, "other");
  const std::string run = room.run("run");
  REQUIRE(
      train(config, run, kShort + Words{"data.kind=mnist", "data.path=" + data, "data.shape=[1, 8, 8]"}).exit_code ==
      0);
  const json validated = read_json(run + "/summary.json")["validation"];
  for (const std::string& named : {data, data + "/t10k-images-idx3-ubyte", other}) {
    INFO(named);
    const Words set{"--set", "data.test_path=" + named};
    const json report = report_of(run_esper(Words{"evaluate", run, "--json", "--part", "validation"} + set));
    CHECK(without_samples(report["validation"]) == validated);
    const Finished tested = run_esper(Words{"evaluate", run, "--json"} + set);
    if (named == other) {
      CHECK(report_of(tested)["test"]["samples"] == 20);
      continue;
    }
    CHECK(tested.exit_code == 2);
    CHECK_THAT(tested.out + tested.err, ContainsSubstring("was validated on these test samples") &&
                                            ContainsSubstring("use --part validation, or name other data"));
  }
  const Finished trained = run_esper({"evaluate", run, "--set", "data.test_path=" + data + "/train-images-idx3-ubyte"});
  CHECK(trained.exit_code == 2);
  CHECK_THAT(trained.err, ContainsSubstring("train-images-idx3-ubyte is also the training data"));
  const Finished resumed = resume(run, {"epochs=3", "data.test_path=" + other});
  CHECK(resumed.exit_code == 5);
  CHECK_THAT(resumed.out + resumed.err, ContainsSubstring("If data.test_path was added") &&
                                            ContainsSubstring("esper evaluate --set data.test_path=PATH"));
}

TEST_CASE("other images with labels are measured by their folder and their file of labels") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const std::string examples = ESPER_SOURCE_DIR "/data/examples/images_labelled", run = room.run("run");
  const auto trained = train(config, run,
                             kShort + Words{"data.kind=images", "data.path=" + examples + "/pictures", "data.shape=[]",
                                            "data.labels=" + examples + "/labels.csv", "data.columns.target=[colour]"});
  INFO(trained.err);
  REQUIRE(trained.exit_code == 0);
  const std::string other = room.path / "other";
  const auto labels = room.write("other.csv", "file,colour\na.png,blue\nb.png,green\n");
  fs::create_directory(other);
  fs::copy_file(examples + "/pictures/0.png", other + "/a.png");
  fs::copy_file(examples + "/pictures/1.png", other + "/b.png");
  const json report =
      report_of(run_esper({"evaluate", run, "--json", "--set", "data.path=" + other, "data.labels=" + labels}));
  CHECK(report["part"] == "test");
  CHECK(report["test"]["samples"] == 2);
  const auto gone = run_esper({"evaluate", run, "--set", "data.path=" + other, "data.labels=" + other + "/none.csv"});
  CHECK(gone.exit_code == 3);
  CHECK_THAT(gone.err, ContainsSubstring("/none.csv: does not exist; data.labels names it"));
}

TEST_CASE("the test part of a run that names none is refused with the way out") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), kShort).exit_code == 0);
  const std::string run = room.run("run");
  remove_fields(room.run("run") / "config.yaml", {"test_path", "test_fraction"});
  CHECK(report_of(run_esper({"evaluate", run, "--json"}))["part"] == "validation");
  const Finished refused = run_esper({"evaluate", run, "--part", "test"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("names no test data; name them with --set data.test_path=PATH"));
  const auto test = room.write("test.csv.gz", contents_of(ESPER_SOURCE_DIR "/data/digits/digits.csv.gz"));
  const json named =
      report_of(run_esper({"evaluate", run, "--json", "--part", "test", "--set", "data.test_path=" + test}));
  CHECK(named["test"]["samples"] == 240);
  CHECK(run_esper({"evaluate", run, "--part", "training"}).exit_code == 2);
  const Finished resumed = resume(room.run("run"), {"epochs=3"});
  INFO(resumed.err);
  CHECK(resumed.exit_code == 0);
}

TEST_CASE("training does not open the test file: a growing run is the same to the last bit without it") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("without")).exit_code == 0);
  const auto test = room.write("test.csv.gz", "no samples at all");
  REQUIRE(train(config, room.run("with"), {"data.test_path=" + test}).exit_code == 0);
  check_equal(record_of(room.run("with")), record_of(room.run("without")));

  const std::string run = room.run("with");
  const Finished unreadable = run_esper({"evaluate", run});
  CHECK(unreadable.exit_code == 3);
  CHECK_THAT(unreadable.err, ContainsSubstring(test));
  room.write("test.csv.gz", contents_of(ESPER_SOURCE_DIR "/data/digits/digits.csv.gz"));
  CHECK(report_of(run_esper({"evaluate", run, "--json"}))["test"]["samples"] == 240);
}

TEST_CASE("test data that do not exist end training before it begins, and evaluation, with the way out") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Finished missing = train(config, room.run("none"), kShort + Words{"data.test_path=/nonexistent.csv"});
  CHECK(missing.exit_code == 3);
  CHECK_THAT(missing.out + missing.err, ContainsSubstring("/nonexistent.csv: does not exist; data.test_path names it"));
  CHECK(!fs::exists(room.run("none")));
  const auto test = room.write("test.csv", "no samples at all");
  REQUIRE(train(config, room.run("run"), kShort + Words{"data.test_path=" + test}).exit_code == 0);
  fs::remove(test);
  const Finished moved = run_esper({"evaluate", room.run("run")});
  CHECK(moved.exit_code == 3);
  CHECK_THAT(moved.err, ContainsSubstring("If the data was moved: the same command with --set data.test_path=NEW"));
}

}  // namespace esper::test::test_part_test
