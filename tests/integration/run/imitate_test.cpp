// From recorded runs to a policy file, and to a run that it decides.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::imitate_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

const std::string kDigits = ESPER_SOURCE_DIR "/configs/run/digits.yaml";
const Words kShort = {"epochs=5", "device.kind=cpu", "telemetry.console=none", "safety.policy_deadline=60s"};

std::filesystem::path record(const RunRoom& room, const std::string& name, const Words& more) {
  const auto run = room.run(name);
  const Finished finished = train(kDigits, run, kShort + more);
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  return run;
}

}  // namespace

TEST_CASE("a network learns from recorded runs; its file says so, and decides") {
  const RunRoom room;
  const Words periodic = {"policy.kind=periodic", "policy.periodic.every_epochs=2"};
  const auto one = record(room, "one", periodic + Words{"seed=1"});
  const auto other = record(room, "other", periodic + Words{"seed=2"});
  const auto foreign = record(room, "foreign", {"policy.kind=heuristic", "policy.periodic.every_epochs=2", "seed=3"});
  const auto file = room.run("learned.safetensors").string();
  const Words command = {"policy",         "imitate",  one.string(), other.string(),
                         foreign.string(), "--out",    file,         "--teacher",
                         "periodic",       "--epochs", "2",          "--json"};
  const Finished imitated = run_esper(command);
  INFO(imitated.err);
  REQUIRE(imitated.exit_code == 0);
  CHECK_THAT(imitated.err, ContainsSubstring("epoch 2/2"));
  CHECK(std::filesystem::file_size(file) < 1'500'000);

  const Finished shown = run_esper({"policy", "show", file, "--json"});
  INFO(shown.err);
  REQUIRE(shown.exit_code == 0);
  CHECK(json::parse(shown.out) == json::parse(imitated.out));
  const auto provenance = json::parse(shown.out)["provenance"];
  CHECK(provenance["teacher"] == "periodic");
  CHECK_THAT(provenance["command"].get<std::string>(), ContainsSubstring("--teacher periodic --epochs 2"));
  REQUIRE(provenance["runs"].size() == 3);
  int held_out = 0;
  for (const auto& run : provenance["runs"]) {
    CHECK(run["decisions"] == 5);
    CHECK(run["germinations"] > 0);  // of the heuristic's run, what periodic would have done there
    held_out += run["part"] == "held_out";
  }
  CHECK(held_out == 1);
  CHECK(provenance["held_out"].contains("balanced_accuracy"));
  CHECK_THAT(run_esper({"policy", "show", file}).out, ContainsSubstring("method: imitation; teacher: periodic"));

  const Finished again = run_esper(command);
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.err, ContainsSubstring("replace it with --replace"));

  record(room, "decided", {"policy.kind=gnn", "policy.file=" + file, "seed=4"});
  CHECK(run_esper({"policy", "replay", room.run("decided").string()}).exit_code == 0);
}

TEST_CASE("a file that appears while a network learns stays") {
  const RunRoom room;
  const auto run = record(room, "periodic", {"policy.kind=periodic", "policy.periodic.every_epochs=2", "seed=1"});
  const auto file = (room.path / "learned.safetensors").string(), said = (room.path / "said").string();
  RunningProgram imitates({"/bin/sh", "-c",
                           "exec '" + binary() + "' policy imitate '" + run.string() + "' --out '" + file +
                               "' --teacher periodic --epochs 100 2> '" + said + "'"});
  while (!imitates.has_ended() && contents_of(said).find("epoch 1/100") == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  room.write("learned.safetensors", "mine");
  CHECK(imitates.wait().exit_code == 2);
  CHECK_THAT(contents_of(said), ContainsSubstring("exists already"));
  CHECK(contents_of(file) == "mine");
}

TEST_CASE("what cannot be imitated or shown is refused with the reason") {
  const RunRoom room;
  const auto run = record(room, "waits", {"policy.kind=heuristic", "epochs=2"});
  const auto file = room.run("learned.safetensors").string();
  const auto problem = [&](Words words) {
    const Finished finished = run_esper(std::move(words));
    CHECK(finished.exit_code != 0);
    CHECK(!std::filesystem::exists(file));
    return finished.err;
  };
  CHECK_THAT(problem({"policy", "imitate", run.string(), "--out", file}), ContainsSubstring("germinated nothing"));
  CHECK_THAT(problem({"policy", "imitate", run.string(), run.string(), "--out", file}),
             ContainsSubstring("name each once"));
  CHECK_THAT(problem({"policy", "imitate", run.string(), "--out", file, "--teacher", "oracle"}),
             ContainsSubstring("--teacher \"oracle\" is not a policy that decides by itself"));
  const auto link = room.path / "link.safetensors";
  std::filesystem::create_symlink(room.write("other.safetensors", ""), link);
  for (const Words& more : {Words{}, Words{"--replace"}}) {
    CHECK_THAT(problem(Words{"policy", "imitate", run.string(), "--out", link} + more),
               ContainsSubstring("is not a regular file") && !ContainsSubstring("--replace"));
  }
  CHECK_THAT(problem({"policy", "show", room.write("policy.safetensors", "not weights")}),
             ContainsSubstring("policy.safetensors: "));
}

}  // namespace esper::test::imitate_test
