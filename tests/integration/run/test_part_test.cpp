// A test part of its own: training neither opens nor sees it, esper evaluate reports it.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <sstream>

#include "run_record.h"
#include "run_room.h"

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
                            ContainsSubstring("use --part validation"));
  CHECK(run_esper({"evaluate", run, "--part", "validation", "--set", "data.test_fraction=0.1"}).exit_code == 0);
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
