// esper drill: the project's own drills, and drills that fail.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>

#include "integration/run/run_record.h"
#include "integration/run/run_room.h"
#include "support/comes_true.h"

namespace esper::test::drills_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

constexpr const char* kMine = R"(about: The disk is full once.
run: small.yaml
set: [epochs=3, step.lane=replay]
faults: [storage.publish@2]
expect: {events: [tolaria.save_paused=1]}
)";

// Drills that do nothing for most of their time but wait for a deadline.
const std::set<std::string> kWaiting{"compile_worker_hangs", "data_hangs"};

void check_scorecard(const Finished& finished, std::size_t drills) {
  const json scorecard = json_of(finished);
  INFO(finished.err);
  REQUIRE(scorecard.is_object());
  REQUIRE(scorecard["drills"].size() == drills);
  for (const auto& one : scorecard["drills"]) {
    INFO(one.dump(1));
    CHECK(one["failures"].empty());
  }
  CHECK(scorecard["failed"] == 0);
  CHECK(scorecard["passed"].get<std::size_t>() + scorecard["skipped"].get<std::size_t>() == drills);
  CHECK(finished.exit_code == 0);
}

// A drill of this text on a tiny network, in a folder of its own.
Finished drill(const RunRoom& room, const std::string& text, const Words& more = {}) {
  room.write("drills/run/small.yaml", growing_config());
  std::string with_run = text;
  if (const auto at = with_run.find("small.yaml"); at != std::string::npos) with_run.insert(at, "run/");
  room.write("drills/mine.yaml", with_run);
  return run_esper(Words{"drill", "--drills", room.path / "drills"} + more, {"TMPDIR=" + room.path.string()});
}

}  // namespace

TEST_CASE("each of the project's drills comes out as its file says") {
  std::filesystem::current_path(ESPER_SOURCE_DIR);  // where the policy of one of them is
  const RunRoom room;
  Words waiting, others;
  const json listed = json_of(run_esper({"drill", "all", "--list", "--json"}));
  REQUIRE(listed.is_object());
  for (const auto& one : listed["drills"]) {
    const std::string name = one["name"];
    (kWaiting.contains(name) ? waiting : others).push_back(name);
  }
  REQUIRE(waiting.size() == kWaiting.size());
  RunningProgram beside(Words{binary(), "drill", "--json"} + waiting);
  const auto finished =
      run_program(Words{binary(), "drill", "--json", "--output", room.path / "scorecard.json"} + others);
  check_scorecard(finished, others.size());
  CHECK(json_of(finished) == read_json(room.path / "scorecard.json"));
  check_scorecard(beside.wait(), waiting.size());
}

TEST_CASE("a drill that does not come out as expected says what did not, and its run is kept") {
  const RunRoom room;
  CHECK_THAT(drill(room, kMine, {"mine", "mine"}).out, ContainsSubstring("1 of 1 drills passed"));
  std::string text = kMine;
  text.replace(text.find("save_paused=1"), 13, "save_paused=2");
  const auto finished = drill(room, text, {"mine"});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 1);
  CHECK_THAT(finished.out, ContainsSubstring("FAILED") &&
                               ContainsSubstring("tolaria.save_paused was reported 1 times, not 2") &&
                               ContainsSubstring("0 of 1 drills passed") && ContainsSubstring("runs: "));
  text = std::string(kMine) + "then: resume\n";
  text.replace(text.find("storage.publish@2"), 17, "tolaria.training.kill@10");
  const auto killed = drill(room, text, {"all"});
  CHECK(killed.exit_code == 1);
  CHECK_THAT(killed.out, ContainsSubstring("it ended with signal 9, not 0"));
}

TEST_CASE("other bits than those of the run without faults fail a drill") {
  const RunRoom room;
  const auto finished = drill(room,
                              "about: A batch is passed over.\nrun: small.yaml\n"
                              "set: [epochs=3, step.lane=replay, policy.kind=none, growth.enabled=false]\n"
                              "faults: [tolaria.nan_input@10]\n");
  CHECK(finished.exit_code == 1);
  CHECK_THAT(finished.out, ContainsSubstring("parameters and buffers: "));
}

TEST_CASE("a scorecard whose file cannot be written any more is one JSON object, with the reason") {
  const RunRoom room;
  room.write("drills/run/small.yaml", growing_config());
  std::string text = kMine;
  room.write("drills/mine.yaml", text.insert(text.find("small.yaml"), "run/"));
  const auto scratch = room.path / "scratch", output = room.path / "output";
  for (const auto& folder : {scratch, output}) std::filesystem::create_directories(folder);
  RunningProgram program({binary(), "drill", "--drills", room.path / "drills", "--json", "--output", output / "card"},
                         {"TMPDIR=" + scratch.string()});
  // The first training's files are there: whether the output can be written was looked at before.
  const auto trains = [&] {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(scratch))
      if (!std::filesystem::is_empty(entry.path(), ignored)) return true;
    return false;
  };
  REQUIRE(comes_true([&] { return trains() || program.has_ended(); }));
  std::filesystem::remove_all(output);
  const auto finished = program.wait();
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 6);
  const json scorecard = json_of(finished);
  REQUIRE(scorecard.is_object());
  CHECK(scorecard["drills"].size() == 1);
  REQUIRE(scorecard.contains("error"));
  CHECK(scorecard["error"]["exit_code"] == 6);
  CHECK_THAT(finished.err, ContainsSubstring("card"));
}

TEST_CASE("mistakes in drills are reported at once, and nothing is trained") {
  const RunRoom room;
  const auto finished = drill(room, "about: x\nrun: small.yaml\nfalts: [a@1]\nexpect: {events: [no.event]}\n");
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.err, ContainsSubstring("mine.yaml:3") && ContainsSubstring("did you mean faults") &&
                               ContainsSubstring("no event has the name no.event"));
  CHECK_THAT(drill(room, kMine, {"mini"}).err, ContainsSubstring("did you mean mine?"));
  CHECK(run_esper({"drill", "--drills", room.path / "empty"}).exit_code == 2);
  CHECK(drill(room, "about: x\nrun: no.yaml\n").exit_code == 2);
  CHECK_THAT(drill(room, kMine, {"--list"}).out, ContainsSubstring("The disk is full once."));
}

}  // namespace esper::test::drills_test
