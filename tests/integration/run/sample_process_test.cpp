// Whole runs on samples that a program produces.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::sample_process_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

const std::string kFolder = ESPER_SOURCE_DIR "/data/examples/process";

struct DataRoom : RunRoom {
  fs::path folder = run("run"), ran = path / "ran";
  // The example, which leaves a file behind when it is started.
  std::string script = write("samples_of_run.py", "import sys; sys.path.insert(0, '" + kFolder +
                                                      "'); sys.dont_write_bytecode = True\nopen('" + ran.string() +
                                                      "', 'a').write('x')\nimport samples\nsamples.main()\n");
  std::string config =
      write("small.yaml",
            "epochs: 3\nseed: 3\ndevice: {kind: cpu, threads: 1}\nhost: {kind: mlp, hidden: [8]}\n"
            "data: {kind: process, batch_size: 40, command: [python3, " +
                script + "]}\ngrowth: {enabled: false}\ncheckpoint: {every: 3 steps, keep_last: 100}\n");

  Finished as_user(const std::string& user, const Words& arguments) const {
    fs::remove(ran);
    return run_program(Words{binary()} + arguments, {"XDG_STATE_HOME=" + (path / user).string()},
                       std::chrono::minutes(2));
  }
};

}  // namespace

TEST_CASE("a run on samples from a program learns, and is resumed in the middle of an epoch as it was") {
  const DataRoom room;
  const Finished trained = room.as_user("alice", {"train", "--config", room.config, "--run-dir", room.folder});
  INFO(trained.out << trained.err);
  REQUIRE(trained.exit_code == 0);
  const auto whole = record_of(room.folder);
  CHECK(whole.summary["validation"]["accuracy"].get<double>() > 0.8);
  const auto names = checkpoints_of(room.folder);
  REQUIRE(names.size() > 3);
  copy_run_until(room.folder, names.at(2), room.run("resumed"));
  const Finished resumed = room.as_user("alice", {"train", "--resume", room.run("resumed")});
  INFO(resumed.out << resumed.err);
  REQUIRE(resumed.exit_code == 0);
  check_equal(record_of(room.run("resumed")), whole, Telemetry::kMayLack);
}

TEST_CASE("a program that a run folder names for its data is started where its user named it, or trusts it") {
  const DataRoom room;
  REQUIRE(room.as_user("alice", {"train", "--config", room.config, "--run-dir", room.folder}).exit_code == 0);
  for (const Words& command :
       {Words{"train", "--resume", room.folder, "--set", "epochs=4"}, Words{"evaluate", room.folder},
        Words{"train", "--config", room.folder / "config.yaml", "--run-dir", room.run("again")}}) {
    CAPTURE(command);
    const Finished refused = room.as_user("bob", command);
    INFO(refused.out << refused.err);
    CHECK(refused.exit_code == 7);
    CHECK_THAT(refused.err, ContainsSubstring("data.command: the run folder names the program") &&
                                ContainsSubstring("--trust-program"));
    CHECK_FALSE(fs::exists(room.ran));
  }
  const Finished trusting =
      room.as_user("bob", {"train", "--resume", room.folder, "--trust-program", "--set", "epochs=4"});
  INFO(trusting.out << trusting.err);
  CHECK(trusting.exit_code == 0);
  CHECK(room.as_user("bob", {"evaluate", room.folder}).exit_code == 0);
}

TEST_CASE("a program that dies in the middle of a run ends it with the data's exit code") {
  const DataRoom room;
  const auto dying = room.write("dying.py", "import sys; sys.path.insert(0, '" + kFolder +
                                                "'); sys.dont_write_bytecode = True\nimport os, samples\n"
                                                "batch = samples.Samples.batch\n"
                                                "def dies(self, epoch, first, size):\n"
                                                "    if epoch == 1 and first == 80: os._exit(9)\n"
                                                "    return batch(self, epoch, first, size)\n"
                                                "samples.Samples.batch = dies\nsamples.main()\n");
  const Finished finished = room.as_user("alice", {"train", "--config", room.config, "--run-dir", room.folder, "--set",
                                                   "data.command=[python3, " + dying + "]"});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 3);
  CHECK_THAT(finished.err, ContainsSubstring("(train): it has ended") && ContainsSubstring("exit status 9"));
}

}  // namespace esper::test::sample_process_test
