// Whole runs on samples that a program produces.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "run_record.h"
#include "run_room.h"
#include "support/comes_true.h"

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

TEST_CASE("averages' statistics that a checkpoint lacks are computed from a program's samples where it is trusted") {
  const DataRoom room;
  const auto script = room.write("images.py", "import sys; sys.path.insert(0, '" + kFolder +
                                                  "'); sys.dont_write_bytecode = True\nopen('" + room.ran.string() +
                                                  "', 'a').write('x')\nimport samples\n"
                                                  "layout = samples.Samples.layout\n"
                                                  "def of_images(self):\n"
                                                  "    return {**layout(self), 'inputs': {'type': 'float32', 'shape': "
                                                  "[2, 1, 1]}}\n"
                                                  "samples.Samples.layout = of_images\nsamples.main()\n");
  const auto whole = room.run("whole");
  const auto command = [&](const fs::path& run, const std::string& every) {
    return Words{"train", "--config", room.config, "--run-dir", run} +
           sets({"data.command=[python3, " + script + "]", "host.kind=cnn", "host.blocks=1", "host.pool_layers=0",
                 "training.ema_decay=0.9", "epochs=2", "checkpoint.every=" + every});
  };
  REQUIRE(room.as_user("alice", command(whole, "1 steps")).exit_code == 0);
  const Finished stopped =
      run_program(Words{binary()} + command(room.folder, "1 epochs"),
                  {"XDG_STATE_HOME=" + (room.path / "alice").string(), "ESPER_FAULTS=tolaria.training.term@3"});
  INFO(stopped.out << stopped.err);
  REQUIRE(stopped.exit_code == 143);
  const auto name = checkpoints_of(room.folder).back();
  const auto exporting = [&](const std::string& user, const fs::path& run, const std::string& out) {
    return room.as_user(user,
                        {"export", run, "--checkpoint", name, "--format", "safetensors", "--out", room.path / out});
  };
  const Finished refused = exporting("bob", room.folder, "out");
  CHECK(refused.exit_code == 5);
  CHECK_THAT(refused.err, ContainsSubstring("data.command: the run folder names the program") &&
                              ContainsSubstring("esper train --resume"));
  CHECK_FALSE(fs::exists(room.ran));
  REQUIRE(exporting("alice", whole, "from-whole").exit_code == 0);
  CHECK_FALSE(fs::exists(room.ran));
  const Finished exported = exporting("alice", room.folder, "out");
  INFO(exported.err);
  REQUIRE(exported.exit_code == 0);
  CHECK(fs::exists(room.ran));
  CHECK(contents_of(room.path / "out/weights.safetensors") ==
        contents_of(room.path / "from-whole/weights.safetensors"));
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

TEST_CASE("a signal while a batch is waited for saves and stops at once, and the run goes on with that batch") {
  const std::string workers = GENERATE("data.workers=0", "data.workers=2");
  CAPTURE(workers);
  const DataRoom room;
  const fs::path hang = room.path / "hang", hangs = room.path / "hangs";
  const auto script = room.write("hanging.py", "import sys; sys.path.insert(0, '" + kFolder +
                                                   "'); sys.dont_write_bytecode = True\nimport os, time, samples\n"
                                                   "batch = samples.Samples.batch\n"
                                                   "def hanging(self, epoch, first, size):\n"
                                                   "    if epoch == 1 and first == 80 and os.path.exists('" +
                                                   hang.string() + "'):\n        open('" + hangs.string() +
                                                   "', 'w').close()\n        time.sleep(3600)\n"
                                                   "    return batch(self, epoch, first, size)\n"
                                                   "samples.Samples.batch = hanging\nsamples.main()\n");
  const Words settings = {"--set", "data.command=[python3, " + script + "]", workers};
  REQUIRE(
      room.as_user("alice", Words{"train", "--config", room.config, "--run-dir", room.folder} + settings).exit_code ==
      0);
  std::ofstream{hang};
  const auto stopped = room.run("stopped");
  RunningProgram program(Words{binary(), "train", "--config", room.config, "--run-dir", stopped} + settings,
                         {"XDG_STATE_HOME=" + (room.path / "alice").string()});
  REQUIRE(comes_true([&] { return fs::exists(hangs) || program.has_ended(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // until the batches before are trained
  const auto begin = std::chrono::steady_clock::now();
  program.send(SIGTERM);
  const Finished finished = program.wait();
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 143);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));  // safety.data_deadline is a minute
  REQUIRE_FALSE(checkpoints_of(stopped).empty());
  const auto progress = state_of(stopped, checkpoints_of(stopped).back())["progress"];
  CHECK(progress["epoch"] == 1);
  CHECK(progress["batch"] == 2);
  fs::remove(hang);
  REQUIRE(room.as_user("alice", {"train", "--resume", stopped}).exit_code == 0);
  check_equal(record_of(stopped), record_of(room.folder), Telemetry::kMayLack);
}

}  // namespace esper::test::sample_process_test
