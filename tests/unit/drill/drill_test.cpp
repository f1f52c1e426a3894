#include "drill/drill.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "config/loading/load.h"

namespace esper::test::drill_test {
namespace {

// The problems as "line: path: text".
std::vector<std::string> problems_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const auto& problem : drill::read_drill_text(text, "drills/mine.yaml").problems)
    lines.push_back(std::to_string(problem.place.line) + ": " + problem.path + ": " + problem.text);
  return lines;
}

bool has(const std::vector<std::string>& lines, const std::string& part) {
  for (const auto& line : lines) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a drill is read with its run file's place, and named after its file") {
  const auto loaded = drill::read_drill_text(
      "about: The disk is full.\nrun: ../run/a.yaml\nset: [epochs=3]\nfaults: [storage.publish@2x3]\n"
      "expect: {events: [tolaria.save_paused, tolaria.save_resumed=1]}\n",
      "drills/mine.yaml");
  REQUIRE(loaded.problems.empty());
  CHECK(loaded.drill.name == "mine");
  CHECK(loaded.drill.run == "run/a.yaml");
  CHECK(loaded.drill.set == std::vector<std::string>{"epochs=3"});
  CHECK(loaded.drill.then == drill::Then::kNothing);
  CHECK(loaded.drill.expect.same_bits);
}

TEST_CASE("a problem of an assignment is at its entry in the drill's file, others stay where they are") {
  const auto drill = drill::read_drill_text("about: x\nrun: a.yaml\nset:\n  - epochs=3\n  - epochs=many\n  - epochs\n",
                                            "drills/mine.yaml")
                         .drill;
  const auto loaded = config::read_run_config_text("seed: x\n", "a.yaml", drill.set);
  std::vector<std::string> lines;
  for (const auto& problem : loaded.problems) lines.push_back(to_string(drill::at_own_place(problem, drill)));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].starts_with("a.yaml:1:7: seed: "));
  CHECK(lines[1].starts_with("drills/mine.yaml:5:5: set: epochs=many: epochs: expected a whole number"));
  CHECK(lines[2].starts_with("drills/mine.yaml:6:5: set: epochs: write key=value"));
}

TEST_CASE("an event is expected at least once, or so many times") {
  CHECK_FALSE(drill::parse_expected_event("tolaria.diverged").value().times);
  CHECK(drill::parse_expected_event("tolaria.diverged=3").value().times == 3);
  for (const char* wrong : {"tolaria.diverged=", "tolaria.diverged=0", "tolaria.diverged=-1", "tolaria.diverged=x",
                            "tolaria.diverged=3x", "tolaria.diverge", "", "=1", "tolaria.training.loss"})
    CHECK_FALSE(drill::parse_expected_event(wrong).has_value());
}

TEST_CASE("all mistakes of a drill are reported at once, each with its line and a way out") {
  const auto lines = problems_of(
      "run: a.yaml\nfaults: [storage.publish]\ndamage: flip_bit\nexpect:\n  exit_status: 137\n"
      "  events: [no.such_event]\n  absent: [tolaria.nothing]\n  exit: 3\n");
  CHECK(has(lines, "about: is missing"));
  CHECK(has(lines, "2: faults: cannot read \"storage.publish\""));
  CHECK(has(lines, "3: damage: has no effect with then: nothing"));
  CHECK(has(lines, "6: expect.events: no event has the name no.such_event"));
  CHECK(has(lines, "7: expect.absent: no event has the name tolaria.nothing"));
  CHECK(has(lines, "8: expect.exit"));
  CHECK(has(lines, "expect.same_bits: a run that does not end has no result to compare"));
  const std::string begin = "about: x\nrun: a.yaml\nfaults: ";
  CHECK(has(problems_of(begin + "[data.batch@1, data.batch@2]\n"), "3: faults: the point data.batch is given twice"));
  CHECK(has(problems_of(begin + "['data.batch@1,storage.publish@2']\n"), "write one per entry"));
  CHECK(problems_of("about: [1]\nrun: a.yaml\n").size() == 1);  // of the wrong type, and not missing
}

TEST_CASE("what cannot be read as a drill at all is one problem") {
  for (const char* text : {"about: \"x\n", "\x01"}) {
    INFO(text);
    CHECK(problems_of(text).size() == 1);
  }
}

TEST_CASE("a process without a run folder is expected neither to report nor to end with the same bits") {
  const std::string begin = "about: x\nrun: a.yaml\nexpect: {exit_status: 143, run_folder: false";
  CHECK(problems_of(begin + ", same_bits: false}\n").empty());
  CHECK(has(problems_of(begin + ", same_bits: false, events: [tolaria.resumed]}\n"), "expect.run_folder"));
  CHECK(has(problems_of(begin + "}\n"), "expect.run_folder"));
}

TEST_CASE("a fault point that does not exist is refused before anything is trained") {
  const std::string begin = "about: x\nrun: a.yaml\nfaults: ";
  CHECK(has(problems_of(begin + "[tolaria.nan_inputs@3]\n"),
            "there is no fault point tolaria.nan_inputs; did you mean tolaria.nan_input?"));
  CHECK(has(problems_of(begin + "[elsewhere@3]\n"), "docs/drills.md has all of them"));
  CHECK(problems_of(begin + "[tolaria.saving.kill@9, data.batch@1x*]\n").empty());
}

TEST_CASE("expectations that cannot all be met are refused") {
  const std::string begin = "about: x\nrun: a.yaml\nexpect:\n";
  CHECK(has(problems_of(begin + "  events: [tolaria.diverged]\n  absent: [tolaria.diverged]\n"), "is named twice"));
  CHECK(has(problems_of(begin + "  events: [tolaria.diverged=1, tolaria.diverged=2]\n"), "is named twice"));
}

TEST_CASE("documents that are no drill are refused") {
  for (const char* text : {"", "- a\n", "about: [1\n", "about: x\nabout: y\nrun: z\n", "exit_status: 3\n"})
    CHECK_FALSE(problems_of(text).empty());
}

TEST_CASE("the drills of the project are valid") {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(ESPER_SOURCE_DIR "/configs/drill")) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  }
  const auto drills = drill::load_drills(paths);
  CHECK(drills.size() > 20);
  for (const auto& one : drills) CHECK(std::filesystem::exists(one.run));
}

}  // namespace esper::test::drill_test
