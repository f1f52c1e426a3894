// A run that is stopped while its step is being compiled.
#include <signal.h>

#include <catch2/catch_test_macros.hpp>

#include "integration/lanes/lane_run.h"
#include "support/patience.h"

namespace esper::test::compile_stop_test {

using namespace esper::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

// A run whose compiler hangs, at the moment when it does.
struct Compiling {
  LaneRunRoom room;
  std::unique_ptr<RunningProgram> program;

  Compiling() {
    const fs::path called = room.path / "called";
    program = std::make_unique<RunningProgram>(
        room.command("run", "compiled"),
        room.environment({"CXX=" + room.compiler("touch " + called.string() + "; sleep 3000")}));
    REQUIRE(comes_to([&] { return fs::exists(called) || program->has_ended(); }, kLongPatience));
    REQUIRE_FALSE(program->has_ended());
    REQUIRE_FALSE(room.workers().empty());
  }
};

}  // namespace

TEST_CASE("nothing is left soon after a run was killed while it compiled, and it can be resumed") {
  need_python_with_torch();
  Compiling run;
  run.program->send(SIGKILL);
  CHECK(run.program->wait(kPatience).exit_code == 128 + SIGKILL);
  CHECK(run.room.workers_are_gone());
}

TEST_CASE("SIGINT and SIGTERM during the wait for a compilation save the state and end the run at once") {
  need_python_with_torch();
  for (const int signal : {SIGINT, SIGTERM}) {
    Compiling run;
    run.program->send(signal);
    const Finished finished = run.program->wait(kPatience);
    INFO(finished.err);
    CHECK_FALSE(finished.timed_out);
    CHECK(finished.exit_code == 128 + signal);
    CHECK(run.room.workers_are_gone());
    const auto folder = run.room.run("run");
    const auto summary = read_json(folder / "summary.json");
    CHECK(summary["status"] == "interrupted");
    REQUIRE_FALSE(checkpoints_of(folder).empty());
    CHECK(state_of(folder, checkpoints_of(folder).back())["progress"]["step"] == summary["steps"]);
    CHECK(summary["steps"] == 2);  // warm-up, and the step that was recorded
    CHECK(failures_of(folder).empty());

    // It goes on from there, and ends as if it had never stopped.
    REQUIRE(run.room.train("eager", "eager").exit_code == 0);
    const Finished resumed =
        run_program(resume_command(folder, {"step.lane=eager"}), run.room.environment(), kLongPatience);
    INFO(resumed.err);
    REQUIRE(resumed.exit_code == 0);
    check_equal(record_of(folder), record_of(run.room.run("eager")), Telemetry::kMayLack);
  }
}

TEST_CASE(
    "a step that waits for the compiler is left to the next process, however many signals end the wait in a row") {
  need_python_with_torch();
  struct Stop {
    std::string faults;
    int exit_code;
  };
  const std::vector<Stop> stops{{"tolaria.compiling.term@1", 128 + SIGTERM},
                                {"tolaria.compiling.int@1", 128 + SIGINT},
                                {"tolaria.compiling.term@1,tolaria.compiling.int@1", 128 + SIGINT},
                                {"tolaria.compiling.kill@1", 128 + SIGKILL}};
  const CompilingRoom room;
  const fs::path run = room.run("run");
  const auto after = [&](std::size_t stopped) { return room.run("after-" + std::to_string(stopped)); };
  for (std::size_t i = 0; i < stops.size(); ++i) {
    const auto& [faults, exit_code] = stops[i];
    CAPTURE(i, faults);
    const Words command = i == 0 ? room.command("run", "compiled") : resume_command(run);
    const Finished stopped = run_program(command, room.environment({"ESPER_FAULTS=" + faults}), kLongPatience);
    INFO(stopped.err);
    REQUIRE(stopped.exit_code == exit_code);
    CHECK(room.workers_are_gone());
    REQUIRE_FALSE(checkpoints_of(run).empty());
    // Warm-up, and the step that was recorded. The next one is that in which the program is compared.
    CHECK(state_of(run, checkpoints_of(run).back())["progress"]["step"] == 2);
    fs::create_directories(after(i + 1).parent_path());
    fs::copy(run, after(i + 1), fs::copy_options::recursive);
  }
  CHECK(room.entries().empty());  // so that who goes on waits, too

  // The first one that goes on compiles the program, and the others find it.
  for (std::size_t stopped = stops.size(); stopped > 0; --stopped) {
    CAPTURE(stopped);
    const Finished resumed = run_program(resume_command(after(stopped)), room.environment(), kLongPatience);
    INFO(resumed.err);
    REQUIRE(resumed.exit_code == 0);
    CHECK(failures_of(after(stopped)).empty());
    CHECK(events_of(after(stopped), "tolaria.compile_finished").size() == (stopped == stops.size() ? 1 : 0));
  }
  REQUIRE(room.train("whole", "compiled").exit_code == 0);
  CHECK(compiled_steps(room.run("whole")) > 60);
  for (std::size_t stopped = 1; stopped <= stops.size(); ++stopped) {
    CAPTURE(stopped);
    CHECK(compiled_steps(after(stopped)) == compiled_steps(room.run("whole")));
    check_equal(record_of(after(stopped)), record_of(room.run("whole")), Telemetry::kMayLack);
  }
}

}  // namespace esper::test::compile_stop_test
