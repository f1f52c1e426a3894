// What can be wrong around the daemon: its folder, its database, other daemons, trainers that do not listen.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <memory>

#include "base/text/child_process.h"
#include "http/event_reader.h"
#include "jobs/database/database.h"
#include "stub_daemon.h"

namespace esper::test::fault_test {

using namespace esper::test;
using namespace std::chrono_literals;
using esper::base::ExitCode;

namespace {

const StubJob kEndless{"endless", 600};

int end_of_start(StubDaemon& daemon) {
  daemon.start();
  return daemon.wait_for_end();
}

}  // namespace

TEST_CASE("a database that another program holds is refused for now, and one of a newer version for good") {
  StubDaemon daemon;
  daemon.start();
  const int job = daemon.submit({"one"});
  REQUIRE(daemon.wait_for_state(job, "succeeded"));
  REQUIRE(daemon.stop() == 0);
  const std::string path = daemon.options.state_dir + "/jobs.db";
  {
    esper::jobs::Database other(path);
    other.run("BEGIN EXCLUSIVE");
    CHECK(end_of_start(daemon) == static_cast<int>(ExitCode::kTryAgain));
  }
  daemon.start();
  CHECK(daemon.job(job)["state"] == "succeeded");
  REQUIRE(daemon.stop() == 0);
  esper::jobs::Database(path).run("PRAGMA user_version = 99");
  CHECK(end_of_start(daemon) == static_cast<int>(ExitCode::kCheckpoint));
}

TEST_CASE("clients hear that the daemon begins to drain") {
  StubDaemon daemon;
  daemon.start();
  const esper::http::UnixEndpoint endpoint{esper::jobs::socket_of(daemon.options.state_dir)};
  auto events = esper::http::EventReader::open(endpoint, "/v1/events", 30s);
  REQUIRE(events);
  REQUIRE(daemon.ask("POST", "/v1/daemon/drain"));
  const auto event = events->next(30s);
  REQUIRE(event);
  REQUIRE(*event);
  CHECK((*event)->name == "daemon");
  CHECK(nlohmann::json::parse((*event)->data) == nlohmann::json{{"draining", true}});
}

TEST_CASE("of many daemons that start at once for one folder, one lives") {
  StubDaemon daemon;
  std::vector<std::unique_ptr<RunningProgram>> programs;
  const Words command{binary(), "daemon", "--state-dir", daemon.options.state_dir};
  for (int number = 0; number < 8; ++number) programs.push_back(std::make_unique<RunningProgram>(command));
  const auto alive = [&] {
    return std::ranges::count_if(programs, [](const auto& program) { return !program->has_ended(); });
  };
  REQUIRE(comes_true([&] { return alive() == 1 && daemon.ask("GET", "/v1/daemon"); }));
  const auto status = nlohmann::json::parse(daemon.ask("GET", "/v1/daemon")->body);
  for (const auto& program : programs) {
    if (!program->has_ended()) {
      CHECK(status["pid"] == program->process());
      program->send(SIGTERM);
      CHECK(program->wait().exit_code == 0);
    } else {
      CHECK(program->wait().exit_code == static_cast<int>(ExitCode::kTryAgain));
    }
  }
}

TEST_CASE("a daemon starts although a child of the one that was killed holds the lock for a moment more") {
  StubDaemon daemon;
  std::filesystem::create_directories(daemon.options.state_dir);
  const std::string path = daemon.options.state_dir + "/lock";
  const auto try_lock = [&] {
    return ::flock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), LOCK_EX | LOCK_NB) == 0;
  };
  std::array<int, 2> locked{};
  REQUIRE(::pipe(locked.data()) == 0);
  const pid_t holder = ::fork();
  REQUIRE(holder >= 0);
  if (holder == 0) {
    const char held = try_lock() ? 'y' : 'n';
    if (::write(locked[1], &held, 1) != 1) ::_exit(1);
    ::usleep(200'000);
    ::_exit(held == 'y' ? 0 : 1);
  }
  char held = 'n';
  REQUIRE(::read(locked[0], &held, 1) == 1);
  REQUIRE(held == 'y');
  daemon.start();
  CHECK(daemon.process() != 0);
  int status = 0;
  CHECK(::waitpid(holder, &status, 0) == holder);
  CHECK(status == 0);
}

TEST_CASE("what an earlier daemon left of its lock and its socket keeps no daemon from starting") {
  StubDaemon daemon;
  daemon.start();
  daemon.kill();
  CHECK(std::filesystem::is_socket(daemon.options.state_dir + "/daemon.sock"));
  std::ofstream(daemon.options.state_dir + "/lock") << ::getpid();  // of a process that lives
  daemon.start();
  CHECK(daemon.process() != 0);
}

TEST_CASE("a trainer that does not hear is killed after its time, also one whose shim is gone") {
  StubDaemon daemon;
  daemon.options.config.stop_grace = 300ms;
  daemon.start();
  StubJob deaf{"deaf", 600};
  deaf.ignores_signals = true;
  const int job = daemon.submit(deaf);
  daemon.wait_for_begin(deaf);
  REQUIRE(daemon.wait_for_state(job, "running"));
  const auto processes = esper::jobs::read_process(daemon.folder_of(job), 1);
  REQUIRE(processes);
  SECTION("with its shim") {}
  SECTION("without its shim") {
    REQUIRE(esper::jobs::send_signal(processes->shim, SIGKILL, esper::jobs::SignalTarget::kProcess));
  }
  REQUIRE(daemon.ask("POST", fmt::format("/v1/jobs/{}/cancel", job))->status == 200);
  REQUIRE(daemon.wait_for_state(job, "cancelled"));
  CHECK(esper::jobs::try_lock(daemon.folder_of(job)).is_open());
}

TEST_CASE("after a start of the machine a job begins again, and no process is taken for its own") {
  StubDaemon daemon;
  daemon.start();
  const StubJob one{"one", 2};
  const int job = daemon.submit(one);
  daemon.wait_for_begin(one);
  REQUIRE(daemon.wait_for_state(job, "running"));
  daemon.kill();
  const auto folder = daemon.folder_of(job);
  auto processes = *esper::jobs::read_process(folder, 1);
  esper::jobs::send_signal(processes.shim, SIGKILL, esper::jobs::SignalTarget::kProcess);
  esper::jobs::send_signal(processes.trainer, SIGKILL, esper::jobs::SignalTarget::kGroup);
  REQUIRE(comes_true([&] { return esper::jobs::try_lock(folder).is_open(); }));
  // What the record says is true of another process now.
  const pid_t innocent = esper::base::start_child({.command = {"sleep", "600"}, .files = {}});
  processes.shim = processes.trainer = *esper::jobs::identity_of(innocent);
  processes.shim.boot = processes.trainer.boot = "an earlier one";
  esper::jobs::write_record(folder.process(), esper::base::to_json(processes));
  daemon.start();
  CHECK(daemon.wait_for_state(job, "succeeded"));
  CHECK(daemon.begins(one) == 2);
  CHECK(::kill(innocent, SIGKILL) == 0);
  int status = 0;
  CHECK(::waitpid(innocent, &status, 0) == innocent);
  CHECK(WTERMSIG(status) == SIGKILL);
}

TEST_CASE("a job whose folder was deleted before it began fails with the reason") {
  StubDaemon daemon;
  daemon.start();
  const auto folder = daemon.room.path / "work";
  std::filesystem::create_directories(folder);
  const int job = daemon.submit({"one"}, {{"folder", folder.string()}, {"hold", true}});
  std::filesystem::remove(folder);
  REQUIRE(daemon.ask("POST", fmt::format("/v1/jobs/{}/resume", job))->status == 200);
  REQUIRE(daemon.wait_for_state(job, "failed"));
  CAPTURE(daemon.job(job)["reason"]);
  CHECK(daemon.job(job)["reason"].get<std::string>().find(folder.string() + ", is gone") != std::string::npos);
}

TEST_CASE("where the folder that daemon and shim share was deleted, the job begins again and the daemon lives") {
  StubDaemon daemon;
  daemon.start();
  const StubJob one{"one", 2};
  const int job = daemon.submit(one);
  daemon.wait_for_begin(one);
  REQUIRE(daemon.wait_for_state(job, "running"));
  std::filesystem::remove_all(daemon.folder_of(job).path);
  CHECK(daemon.wait_for_state(job, "succeeded"));
  CHECK(daemon.job(job)["attempts"] == 2);
  CHECK(daemon.process() != 0);
}

TEST_CASE("a run file that is none, an unknown job to come after, and a circle are refused and leave nothing") {
  StubDaemon daemon;
  daemon.start();
  auto document = daemon.submission({"one"});
  document["config"] = "no_such_field: 1\n";
  CHECK(daemon.ask("POST", "/v1/jobs", document)->status == 400);
  document = daemon.submission({"one"});
  document["after"] = {1};  // the id that it would get itself
  CHECK(daemon.ask("POST", "/v1/jobs", document)->status == 400);
  CHECK(nlohmann::json::parse(daemon.ask("GET", "/v1/jobs")->body)["jobs"].empty());
  CHECK(daemon.submit(kEndless) == 1);
}

}  // namespace esper::test::fault_test
