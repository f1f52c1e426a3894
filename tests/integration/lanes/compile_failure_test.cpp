// Compiling goes wrong in every way it can: the run goes on as if nothing had been asked for, and says so once.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <set>

#include "integration/cli/cli.h"
#include "integration/lanes/lane_run.h"
#include "support/patience.h"

namespace esper::test::compile_failure_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

void check_as_eager(const LaneRunRoom& room, const std::string& name) {
  if (!fs::exists(room.run("eager"))) REQUIRE(room.train("eager", "eager").exit_code == 0);
  check_equal(record_of(room.run(name)), record_of(room.run("eager")));
  CHECK(compiled_steps(room.run(name)) == 0);
}

// Went to its end in eager, told the one reason, left no process.
void check_fell_back(const LaneRunRoom& room, const std::string& name, const Finished& finished,
                     const std::string& kind, const std::string& reason) {
  CAPTURE(name);
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK(room.workers_are_gone());
  const auto failures = failures_of(room.run(name));
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].event == "tolaria.compile_fallback");
  CHECK(failures[0].kind == kind);
  CHECK_THAT(failures[0].reason, ContainsSubstring(reason));
  CHECK(failures[0].reason.size() < 2000);
  check_as_eager(room, name);
}

}  // namespace

TEST_CASE("without Python, or with an invalid one, the run trains in eager and reports it once") {
  const LaneRunRoom room;
  for (const std::string lane : {"compiled", "auto"}) {
    check_fell_back(room, "none-" + lane, room.train("none-" + lane, lane, {"ESPER_PYTHON=/nonexistent"}),
                    "unavailable", "Python");
  }
  check_fell_back(room, "text", room.train("text", "compiled", {"ESPER_PYTHON=/etc/passwd"}), "no_python",
                  "/etc/passwd");
}

TEST_CASE("a compiler that fails, hangs, is missing: the run trains in eager and reports why") {
  need_python_with_torch();
  const LaneRunRoom room, hanging;
  // Half a minute long, beside the others.
  const std::string hangs = "CXX=" + hanging.compiler("sleep 3000");
  RunningProgram hang(hanging.command("hang", "compiled", {"step.compile.deadline=3s"}), hanging.environment({hangs}));
  check_fell_back(room, "false", room.train("false", "compiled", {"CXX=/bin/false"}), "no_compiler", "/bin/false");
  check_fell_back(room, "missing", room.train("missing", "compiled", {"CXX=/nowhere/g++"}), "no_compiler",
                  "/nowhere/g++");
  const std::string fails = "CXX=" + room.compiler("echo the compiler is out of order; exit 1");
  check_fell_back(room, "fails", room.train("fails", "compiled", {fails}), "failed", "out of order");
  check_fell_back(hanging, "hang", hang.wait(kLongPatience), "timeout", "step.compile.deadline");
}

namespace {

// A benchmark of the compiled lane, whose compiler takes ten seconds to fail.
struct WaitingBenchmark {
  LaneRunRoom room;
  RunningProgram program{
      {binary(), "bench", "--scenario", "reference", "--rounds", "3", "--lanes", "compiled", "--counts"},
      room.environment({"CXX=" + room.compiler("sleep 10; echo out of order; exit 1")})};
};

std::vector<std::string> waited_for(const fs::path& run) {
  std::vector<std::string> found;
  for (const auto& event : events_of(run, "tolaria.compile_waiting")) {
    CHECK(std::stod(event["attributes"]["waited_s"].get<std::string>()) >= 5);
    found.push_back(event["attributes"]["waits_for"]);
  }
  return found;
}

}  // namespace

TEST_CASE(
    "a run that waits for the compiler, or for another run that compiles the same, reports it until the end; so does a "
    "benchmark") {
  need_python_with_torch();
  WaitingBenchmark benchmark;  // beside the runs, with a cache of its own
  const LaneRunRoom room;
  const fs::path called = room.path / "called", go = room.path / "go";
  const std::string holds = "touch " + called.string() + "; while ! [ -e " + go.string() +
                            " ]; do sleep 0.1; done; echo out of order; exit 1";
  const Words environment = room.environment({"CXX=" + room.compiler(holds)});
  const Words plain = {"telemetry.console=plain"};
  RunningProgram one(room.command("one", "compiled", plain), environment);
  REQUIRE(comes_to([&] { return fs::exists(called) || one.has_ended(); }, kLongPatience));
  RunningProgram two(room.command("two", "compiled", plain), environment);
  const auto has_waited = [&](const std::string& name) {
    return contents_of(room.run(name) / "telemetry.jsonl").find("compile_waiting") != std::string::npos;
  };
  // The events are in the file while the runs still wait.
  CHECK(comes_to([&] { return has_waited("one") && has_waited("two"); }, kLongPatience));
  CHECK_FALSE(one.has_ended());
  CHECK_FALSE(two.has_ended());
  std::ofstream(go) << "now";
  const std::vector<Finished> both = {one.wait(kLongPatience), two.wait(kLongPatience)};
  for (const Finished& finished : both) {
    INFO(finished.err);
    CHECK(finished.exit_code == 0);
    CHECK_THAT(finished.err, ContainsSubstring("tolaria.compile_waiting"));
  }
  // The first has the compiler, which makes its headers first; the second waits for the first, and then tries itself.
  for (const std::string& what : waited_for(room.run("one"))) {
    CHECK((what.starts_with("the compiler") || what.starts_with("the compile worker")));
  }
  CHECK(waited_for(room.run("two")).front() == "another process, which compiles this program");

  const Finished measured = benchmark.program.wait(kLongPatience);
  INFO(measured.out << measured.err);
  CHECK(measured.exit_code == 0);
  CHECK_THAT(measured.err, ContainsSubstring("bench: waits for the comp"));  // the compiler, or the compile worker
}

TEST_CASE("a worker that is killed repeatedly is abandoned, and the run trains in eager") {
  need_python_with_torch();
  const LaneRunRoom room;
  const fs::path called = room.path / "called";
  RunningProgram program(
      room.command("killed", "compiled"),
      room.environment({"CXX=" + room.compiler("echo $PPID >> " + called.string() + "; sleep 3000")}));
  for (int kills = 0; kills < 4 && !program.has_ended(); ++kills) {
    REQUIRE(comes_to([&] { return fs::exists(called) || program.has_ended(); }, kLongPatience));
    if (program.has_ended()) break;
    for (const pid_t worker : room.workers()) ::kill(worker, SIGKILL);
    REQUIRE(room.workers_are_gone());
    fs::remove(called);
  }
  check_fell_back(room, "killed", program.wait(kLongPatience), "crashed", "exited (signal 9)");
}

TEST_CASE("a cache folder that cannot be used leaves the run in eager") {
  need_python_with_torch();
  const LaneRunRoom room;
  SECTION("others can write to it") {
    fs::create_directories(room.cache() / "programs");
    ::chmod((room.cache() / "programs").c_str(), 0777);
    check_fell_back(room, "open", room.train("open", "compiled"), "unavailable", "others can write");
  }
  SECTION("it belongs to another user") {
    fs::create_directories(room.cache() / "programs");
    if (::chown((room.cache() / "programs").c_str(), 65534, 65534) != 0) SKIP("only root can give a folder away");
    check_fell_back(room, "other", room.train("other", "compiled"), "unavailable", "another user");
  }
  SECTION("it is a file") {
    std::ofstream(room.cache() / "programs") << "no folder";
    check_fell_back(room, "file", room.train("file", "compiled"), "unavailable", "is not a folder");
  }
  SECTION("a group can write to a folder below it") {
    const auto entries = room.cache() / "programs/entries";
    fs::create_directories(entries);
    for (const auto& folder : {entries.parent_path(), entries}) ::chmod(folder.c_str(), 0700);
    ::chmod(entries.c_str(), 0770);
    for (const std::string lane : {"compiled", "auto"}) {
      check_fell_back(room, "below-" + lane, room.train("below-" + lane, lane), "unavailable",
                      entries.string() + " cannot be used: a group can write");
    }
    CHECK_FALSE(fs::exists(room.cache() / "programs/worker"));  // nothing was compiled
  }
  SECTION("ESPER_CACHE is a relative path") {
    const auto finished = room.train("relative", "compiled", {"ESPER_CACHE=cache"});
    check_fell_back(room, "relative", finished, "unavailable", "ESPER_CACHE is not an absolute path: cache");
  }
}

namespace {

// The run with a file system of these mount options at its cache folder, seen by its own processes alone.
Finished train_with_mount(const LaneRunRoom& room, const std::string& name, const std::string& options) {
  fs::create_directories(room.cache() / "programs");
  const std::string script = "mount -t tmpfs -o mode=0700," + options + " none " +
                             (room.cache() / "programs").string() + " || exit 99; exec \"$@\"";
  Words command{"/usr/bin/unshare", "-m", "/bin/sh", "-c", script, "sh"};
  const Finished finished = run_program(command + room.command(name, "compiled"), room.environment(), kLongPatience);
  if (finished.exit_code == 99 || (finished.exit_code != 0 && finished.err.find("unshare") != std::string::npos) ||
      finished.exit_code == 127) {
    SKIP("no file system can be mounted here: " + finished.err);
  }
  return finished;
}

}  // namespace

TEST_CASE("a full disk under the cache folder leaves the run in eager") {
  need_python_with_torch();
  const LaneRunRoom room;
  check_fell_back(room, "full", train_with_mount(room, "full", "size=64k"), "disk_full", "space");
}

TEST_CASE("a cache folder that cannot be written to leaves the run in eager") {
  need_python_with_torch();
  const LaneRunRoom room;
  check_fell_back(room, "readonly", train_with_mount(room, "readonly", "ro"), "cache_refused", "ESPER_CACHE");
}

TEST_CASE("two runs share a cold cache; a damaged program in it is detected, reported once, and replaced") {
  need_python_with_torch();
  const CompilingRoom room;
  RunningProgram one(room.command("one", "compiled"), room.environment());
  RunningProgram two(room.command("two", "compiled"), room.environment());
  const std::vector<Finished> both = {one.wait(kLongPatience), two.wait(kLongPatience)};
  for (const Finished& finished : both) {
    INFO(finished.out << finished.err);
    CHECK(finished.exit_code == 0);
  }
  CHECK(room.workers_are_gone());
  std::multiset<std::string> compiled_by;
  for (const std::string name : {"one", "two"}) {
    CHECK(failures_of(room.run(name)).empty());
    CHECK(compiled_steps(room.run(name)) >= 60);
    const auto finished = events_of(room.run(name), "tolaria.compile_finished");
    REQUIRE(finished.size() == 1);
    compiled_by.insert(finished[0]["attributes"]["compiled_by"]);
  }
  CHECK(compiled_by == std::multiset<std::string>{"another process", "this run"});
  check_equal(record_of(room.run("one")), record_of(room.run("two")));

  REQUIRE(room.train("hit", "compiled", {"CXX=/bin/false"}).exit_code == 0);  // nothing is left to compile
  CHECK(failures_of(room.run("hit")).empty());
  check_equal(record_of(room.run("hit")), record_of(room.run("one")));

  REQUIRE(room.entries().size() == 1);
  {
    std::fstream entry(room.entries().front(), std::ios::in | std::ios::out | std::ios::binary);
    entry.seekp(5000);
    entry.write("\1\2\3\4\5\6\7\10", 8);
  }
  const Finished finished = room.train("damaged", "compiled");
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  const auto failures = failures_of(room.run("damaged"));
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].event == "tolaria.compile_runtime_fallback");
  CHECK_THAT(failures[0].kind, ContainsSubstring("damaged"));
  CHECK(events_of(room.run("damaged"), "tolaria.compile_finished").size() == 1);
  check_equal(record_of(room.run("damaged")), record_of(room.run("one")));
  CHECK(room.workers_are_gone());

  // Nothing can be compiled, and the only program is damaged again: eager.
  fs::resize_file(room.entries().front(), 3000);
  const Finished without = room.train("without", "compiled", {"CXX=/bin/false"});
  REQUIRE(without.exit_code == 0);
  CHECK(failures_of(room.run("without")).size() == 2);  // the damage, and why there is no other
  check_as_eager(room, "without");
}

TEST_CASE("a lack of memory in a compiled step is answered as in eager: its program stays, and torch prints nothing") {
  need_python_with_torch();
  const CompilingRoom room;
  const Words wide = {"host.kind=mlp", "host.hidden=[512]"};  // else its values lie on the stack
  REQUIRE(room.train("whole", "compiled", {}, wide).exit_code == 0);
  REQUIRE(room.entries().size() == 1);
  // In a step of the fourth epoch. Nothing else can be compiled.
  const Finished lacking =
      room.train("lacking", "compiled", {"ESPER_FAULTS=step.allocation@300", "CXX=/bin/false"}, wide);
  INFO(lacking.out << lacking.err);
  CHECK(lacking.exit_code == 0);
  CHECK(lacking.err.find("frame #") == std::string::npos);
  const auto splits = events_of(room.run("lacking"), "tolaria.batches_split");
  REQUIRE(splits.size() == 1);
  CHECK_THAT(splits[0]["attributes"]["reason"].get<std::string>(),
             ContainsSubstring("the compiled program failed: DefaultCPUAllocator: can't allocate memory"));
  CHECK(events_of(room.run("lacking"), "tolaria.compile_runtime_fallback").empty());
  CHECK(room.entries().size() == 1);
}

TEST_CASE("a GPU's late error between two steps ends a run with the ways out, with a compiled program and without") {
  need_python_with_torch();
  const CompilingRoom room;
  const Words long_epoch = {"data.synthetic.samples=2000"};  // of 400 steps, so that the error comes within the first
  const auto fails = [&](const std::string& lane) {
    const Finished finished = room.train(lane, lane, {"ESPER_FAULTS=device.late_error@300"}, long_epoch);
    CAPTURE(lane);
    CHECK(finished.exit_code == 70);
    CHECK_THAT(finished.err, ContainsSubstring("the GPU failed: CUDA error: an illegal memory access was encountered"));
    CHECK_THAT(finished.err, ContainsSubstring("esper train --resume RUN"));
    return finished.err;
  };
  const std::string text = fails("compiled");
  REQUIRE(room.entries().size() == 1);
  CHECK_THAT(text, ContainsSubstring(room.entries().front().filename().string() + " and resume with"));
  CHECK_THAT(text, ContainsSubstring("--set step.lane=replay"));
  CHECK_THAT(fails("replay"), !ContainsSubstring("compiled program"));
}

}  // namespace esper::test::compile_failure_test
