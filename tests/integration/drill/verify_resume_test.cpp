// esper verify-resume, as a user runs it.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "integration/lanes/python_with_torch.h"
#include "integration/run/run_record.h"
#include "integration/run/run_room.h"

namespace esper::test::verify_resume_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

Finished verify(const RunRoom& room, const Words& more, const std::vector<std::string>& environment = {}) {
  const auto config = room.write("small.yaml", growing_config());
  return run_esper(Words{"verify-resume", config, "--output", room.path / "certificate.json"} + more, environment);
}

}  // namespace

TEST_CASE("a killed run is proved to be equal, with what was compared and where it was killed") {
  const RunRoom room;
  const auto finished = verify(room, {"--kills", "5", "--json", "--set", "epochs=40", "step.lane=replay"});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  const json certificate = json_of(finished);
  CHECK(certificate == read_json(room.path / "certificate.json"));
  CHECK(certificate["equal"] == true);
  CHECK(certificate["kills"] == 5);
  CHECK(certificate["wanted_kills"] == 5);
  CHECK(certificate["begin"] == "start");
  std::set<std::string> names;
  for (const auto& aspect : certificate["runs"][0]["compared"]) {
    CHECK(aspect["equal"] == true);
    CHECK(aspect["compared"] > 0);
    names.insert(aspect["name"]);
  }
  for (const char* name :
       {"parameters and buffers", "optimizer state", "random number generators", "cursor and progress", "topology",
        "state of the policy", "losses and other metrics of epochs", "decisions and growth, in their order", "outcome"})
    CHECK(names.contains(name));
}

TEST_CASE("where lanes may differ, killed runs begin with the reference's first checkpoint") {
  const RunRoom room;
  const auto finished = verify(room, {"--kills", "2", "--json", "--set", "epochs=40", "step.lane=auto"});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK(json_of(finished)["begin"] == "first_checkpoint");
}

TEST_CASE("runs in lane compiled that are killed from their start have the bits of one that is not") {
  need_python_with_torch();
  const RunRoom room;
  const auto finished = verify(room,
                               {"--kills", "4", "--json", "--keep", "--set", "epochs=40", "step.lane=compiled",
                                "step.check_every=50", "data.batch_size=60"},
                               {"TMPDIR=" + room.path.string()});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  const json certificate = json_of(finished);
  CHECK(certificate["begin"] == "start");
  CHECK(certificate["equal"] == true);
  const std::filesystem::path runs = certificate["runs_kept_in"].get<std::string>();
  CHECK(compiled_steps(runs / "reference" / "run") > 0);
}

TEST_CASE("a run in lane compiled that is stopped right before it grows goes on as one that is not") {
  need_python_with_torch();
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Words compiled{"epochs=8", "step.lane=compiled", "data.batch_size=60"};
  const auto last_state = [&](const std::string& run) {
    return contents_of(room.run(run) / "checkpoints" / checkpoints_of(room.run(run)).back() / "state.safetensors");
  };
  REQUIRE(train(config, room.run("whole"), compiled).exit_code == 0);
  const auto grown = events_of(room.run("whole"), "tolaria.growth_swapped").size();
  CHECK(grown > 0);
  CHECK(compiled_steps(room.run("whole")) > 0);
  for (int epoch = 1; epoch <= 6; ++epoch) {
    CAPTURE(epoch);
    const std::string run = "stopped-" + std::to_string(epoch);
    const auto stopped = run_program(train_command(config, room.run(run), compiled),
                                     {"ESPER_FAULTS=tolaria.validating.term@" + std::to_string(epoch)});
    CHECK(stopped.exit_code == 143);
    const auto resumed = resume(room.run(run));
    INFO(resumed.err);
    REQUIRE(resumed.exit_code == 0);
    CHECK(compiled_steps(room.run(run)) > 0);
    CHECK((last_state(run) == last_state("whole")));
  }
}

TEST_CASE("a policy in a process of its own is resumed with the run") {
  const RunRoom room;
  const auto finished = verify(
      room, {"--kills", "3", "--json", "--set", "epochs=40", "step.lane=replay", "safety.policy_deadline=60s",
             "policy.kind=process", "policy.command=[python3, -B, " ESPER_SOURCE_DIR "/configs/policy/controller.py]"});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  const json certificate = json_of(finished);
  CHECK(certificate["equal"] == true);
  CHECK(certificate["kills"] == 3);
}

TEST_CASE("a killed run with controls is equal, although they took another time") {
  const RunRoom room;
  const auto finished = verify(room,
                               {"--kills", "2", "--json", "--keep", "--set", "epochs=40", "step.lane=replay",
                                "growth.gates.evidence=control", "growth.control.budget=1"},
                               {"TMPDIR=" + room.path.string()});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  const json certificate = json_of(finished);
  CHECK(certificate["equal"] == true);
  const std::filesystem::path runs = certificate["runs_kept_in"].get<std::string>();
  CHECK_FALSE(events_of(runs / "reference" / "run", "tolaria.control_measured").empty());
}

TEST_CASE("a run that is another one after a kill is found out, and kept") {
  const RunRoom room;
  // In each process its second step goes wrong: a killed run passes over other steps than the reference, wherever it
  // was killed.
  const auto finished = verify(
      room, {"--kills", "2", "--set", "epochs=60", "step.lane=replay", "policy.kind=none", "growth.enabled=false"},
      {"ESPER_FAULTS=tolaria.nan_input@2", "TMPDIR=" + room.path.string()});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 1);
  CHECK_THAT(finished.out, ContainsSubstring("DIFFERENT: ") && ContainsSubstring("NOT equal: the runs are kept in "));
  CHECK(read_json(room.path / "certificate.json")["equal"] == false);
}

TEST_CASE("what cannot be verified is refused, with the reason") {
  const RunRoom room;
  CHECK(verify(room, {"--kills", "0"}).exit_code == 2);
  const auto mistyped = verify(room, {}, {"ESPER_FAULTS=storage.publihs@1"});
  CHECK(mistyped.exit_code == 2);
  CHECK_THAT(mistyped.err, ContainsSubstring("did you mean storage.publish?"));
  CHECK(verify(room, {"--set", "epochs=none"}).exit_code == 2);
  CHECK(run_esper({"verify-resume", "no-such-file.yaml"}).exit_code == 2);
  CHECK(verify(room, {"--output", "/dev/null"}).exit_code == 2);
  CHECK(verify(room, {"--output", room.path.string()}).exit_code == 2);
  CHECK(verify(room, {"--output", room.path / "no/such/folder/file"}).exit_code == 2);
  const std::filesystem::path scratch = room.path / "scratch";
  std::filesystem::create_directory(scratch);
  const auto failing = verify(room, {"--set", "data.path=/no/such/folder"}, {"TMPDIR=" + scratch.string()});
  CHECK(failing.exit_code == 3);
  CHECK_FALSE(ContainsSubstring("kept").match(failing.err));  // no run was made
  CHECK(std::filesystem::is_empty(scratch));
  CHECK_THAT(failing.err, ContainsSubstring("a training ended with exit status 3: esper: /no/such/folder"));
}

}  // namespace esper::test::verify_resume_test
