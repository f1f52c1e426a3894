// What a run does where nobody reads its standard streams, and what it says on them when it fails.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <thread>

#include "base/descriptor.h"
#include "run_record.h"
#include "run_room.h"
#include "support/patience.h"

namespace esper::test::streams_test {

using namespace std::chrono_literals;
using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A pipe with a name that is full, and that somebody holds open without reading it.
struct FullPipe {
  explicit FullPipe(const RunRoom& room) : path(room.path / "full") {
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    end = esper::base::Descriptor(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    REQUIRE(end.is_open());
    const std::string block(4096, 'x');
    while (write(end.number(), block.data(), block.size()) > 0) {
    }
  }
  fs::path path;
  esper::base::Descriptor end;
};

// The command with one of its streams ("1", "2") in that pipe.
Words with_stream(const char* stream, const FullPipe& pipe, const Words& command) {
  return Words{"/bin/sh", "-c", std::string("to=$1; shift; exec \"$@\" ") + stream + ">\"$to\"", "sh", pipe.path} +
         command;
}

bool wait_for_file(const fs::path& path) {
  const auto until = std::chrono::steady_clock::now() + kLongPatience;
  while (!fs::exists(path) && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(5ms);
  return fs::exists(path);
}

}  // namespace

TEST_CASE("a standard error that nobody reads costs no line of telemetry.jsonl, and the run ends in time") {
  const RunRoom room;
  const FullPipe pipe(room);
  const auto config = room.write("small.yaml", growing_config());
  const auto run = room.run("run");
  const Finished finished =
      run_program(with_stream("2", pipe, train_command(config, run, {"telemetry.console=plain"})));
  CHECK_FALSE(finished.timed_out);
  CHECK(finished.exit_code == 0);
  std::size_t epochs = 0;
  int errors_of_console = 0;  // as the file itself says in the end
  for (const auto& packet : packets_of(run)) {
    for (const auto& metric : packet["metrics"]) {
      epochs += metric["name"] == "tolaria.training.loss" ? 1 : 0;
      if (metric["name"] != "nissa.sink_errors_total") continue;
      CHECK(metric["attributes"]["sink"] == "console");
      errors_of_console = metric["value"];
    }
  }
  CHECK(epochs == 24);
  const json telemetry = read_json(run / "summary.json")["telemetry"];
  REQUIRE((telemetry.contains("jsonl") && telemetry.contains("console")));
  CHECK(telemetry["jsonl"]["lost"] == 0);
  CHECK(telemetry["console"]["lost"].get<int>() > 24);
  CHECK(telemetry["console"]["lost"] == errors_of_console);
}

TEST_CASE("a signal ends a run at once that has trained and whose result nobody reads") {
  const RunRoom room;
  const FullPipe pipe(room);
  const auto config = room.write("small.yaml", growing_config());
  RunningProgram program(with_stream("1", pipe, train_command(config, room.run("run"), {"epochs=1"})));
  REQUIRE(wait_for_file(room.run("run") / "summary.json"));
  CHECK_FALSE(program.has_ended());
  program.send(SIGTERM);
  const Finished finished = program.wait(kPatience);
  CHECK_FALSE(finished.timed_out);
  CHECK(finished.exit_code == 143);
  CHECK(read_json(room.run("run") / "summary.json")["status"] == "done");
}

TEST_CASE("a run that a signal stops ends with its state saved, also where nobody reads its result") {
  const RunRoom room;
  const FullPipe pipe(room);
  const auto config = room.write("small.yaml", growing_config());
  const auto run = room.run("run");
  RunningProgram program(with_stream("1", pipe, train_command(config, run, {"epochs=100000"})));
  REQUIRE(wait_for_checkpoint_after("", run, program));
  program.send(SIGTERM);
  const Finished finished = program.wait(kPatience);
  CHECK_FALSE(finished.timed_out);
  CHECK(finished.exit_code == 143);
  CHECK_THAT(finished.err, ContainsSubstring("could not be written to standard output: it was not read in time"));
  CHECK(read_json(run / "summary.json")["status"] == "interrupted");
}

TEST_CASE("a hang-up that is ignored at the start, as under nohup, stops nothing") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto run = room.run("run");
  RunningProgram program(Words{"/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh"} + train_command(config, run));
  REQUIRE(wait_for_checkpoint_after("", run, program));
  program.send(SIGHUP);
  CHECK(program.wait().exit_code == 0);
  CHECK(read_json(run / "summary.json")["epochs"] == 24);
}

TEST_CASE("nothing that a run prints can steer the terminal") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto folder = room.path / "a\x1b[2J\xC2\x9b\x9b" / "run";
  fs::create_directories(folder.parent_path());
  auto command = train_command(config, folder, {"epochs=1", "telemetry.console=plain"});
  std::erase(command, "--json");
  const Finished trained = run_program(command);
  CAPTURE(trained.out, trained.err);
  const Finished shown = run_esper({"topo", "show", folder.string()});
  const Finished refused = run_esper({"train", "--config", "no\x1b[2Jne\n.yaml", "--set", "x\x1b[2J\x7f=1"});
  CHECK((trained.exit_code == 0 && shown.exit_code == 0 && refused.exit_code == 2));
  for (const auto* program : {&trained, &shown, &refused}) {
    for (const std::string& text : {program->out, program->err}) {
      CHECK(text.find_first_of("\x1b\x07\x7f\x9b") == std::string::npos);
    }
  }
  CHECK_THAT(trained.out, ContainsSubstring("a\\x1b[2J\\u009b\\x9b"));
}

}  // namespace esper::test::streams_test
