// What users ask of the daemon.
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/descriptor.h"
#include "base/text/json_struct.h"
#include "daemon_room.h"
#include "http/client.h"
#include "http/listening_socket.h"
#include "jobs/daemon/daemon.h"
#include "run_record.h"
#include "support/comes_true.h"

namespace esper::test::daemon_commands_test {

using namespace esper::test;
using namespace std::chrono_literals;
using esper::http::UnixEndpoint;

namespace {

const Words kEndless = sets({"epochs=100000", "device.threads=1"});
const Words kShort = sets({"epochs=2", "device.threads=1"});

struct Submitter {
  DaemonRoom& daemon;
  std::string config = daemon.room.write("growing.yaml", growing_config());
  int number = 0;

  int operator()(const Words& words) {
    const auto run = daemon.room.run("submitted" + std::to_string(++number)).string();
    return daemon.tell(Words{"submit", config, "--run-dir", run} + words)["id"].get<int>();
  }
};

// Waits, for two minutes at most, until the run has a checkpoint whose name sorts behind this one.
void wait_for_checkpoint_after(const std::filesystem::path& run, const std::string& name) {
  const auto deadline = std::chrono::steady_clock::now() + 120s;
  while (std::chrono::steady_clock::now() < deadline) {
    std::error_code none_yet;
    for (const auto& entry : std::filesystem::directory_iterator(run / "checkpoints", none_yet)) {
      const auto found = entry.path().filename().string();
      if (found.starts_with("epoch-") && found.find('.') == std::string::npos && found > name) return;
    }
    std::this_thread::sleep_for(5ms);
  }
  FAIL("there is no checkpoint after " << name);
}

}  // namespace

TEST_CASE("one submit starts a daemon, trains and succeeds") {
  DaemonRoom daemon;
  Submitter submit{daemon};
  REQUIRE(daemon.daemon() == 0);
  const int job = submit(kShort);
  REQUIRE(daemon.daemon() > 0);
  const auto ended = daemon.ask({"job", "wait", std::to_string(job)});
  CHECK(ended.exit_code == 0);
  CHECK(json_of(ended)["state"] == "succeeded");
  CHECK(daemon.ask({"logs", "1"}).out.find("done: 2 epochs") != std::string::npos);
}

TEST_CASE("of several submissions at once without a daemon, each is queued, by the one daemon that starts") {
  DaemonRoom daemon;
  const auto config = daemon.room.write("growing.yaml", growing_config());
  std::vector<std::thread> threads;
  std::vector<int> codes(4, -1);
  for (std::size_t at = 0; at < codes.size(); ++at) {
    threads.emplace_back([&, at] {
      const auto run = daemon.room.run("at_once" + std::to_string(at)).string();
      codes[at] = daemon.ask(Words{"submit", config, "--run-dir", run, "--hold"}).exit_code;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(codes == std::vector<int>(4, 0));
  CHECK(daemon.tell({"jobs"})["jobs"].size() == 4);
}

TEST_CASE("a submission whose daemon ends before it answers is taken by one that is started for it") {
  DaemonRoom daemon;
  daemon.start();
  daemon.stop();
  auto listening = esper::http::listen_on_path(esper::jobs::socket_of(daemon.state_dir()));
  REQUIRE(listening);
  // As a daemon that is killed: what was connected is closed first, and others can still connect for a moment.
  std::thread ending([&] {
    for (int connections = 0; connections < 2; ++connections) {
      pollfd waiting{listening->number(), POLLIN, 0};
      ::poll(&waiting, 1, 120'000);
      const esper::base::Descriptor closed(::accept(listening->number(), nullptr, nullptr));
    }
    listening->reset();
  });
  const auto config = daemon.room.write("growing.yaml", growing_config());
  const auto submitted = daemon.ask({"submit", config, "--run-dir", daemon.room.run("one").string(), "--hold"});
  ending.join();
  CAPTURE(submitted.err);
  CHECK(submitted.exit_code == 0);
  CHECK(daemon.daemon() > 0);
}

TEST_CASE("without a daemon, --no-daemon-start refuses and leaves none") {
  DaemonRoom daemon;
  const auto config = daemon.room.write("growing.yaml", growing_config());
  const auto refused = daemon.ask({"submit", config, "--no-daemon-start"});
  CHECK(refused.exit_code == 75);
  CHECK(daemon.daemon() == 0);
}

TEST_CASE("a second daemon is refused with the first one's process") {
  DaemonRoom daemon;
  daemon.start();
  const auto second = run_esper({"daemon", "--state-dir", daemon.state_dir()});
  CHECK(second.exit_code == 75);
  CHECK(second.err.find("process " + std::to_string(daemon.daemon())) != std::string::npos);
}

TEST_CASE("where the daemon's socket was deleted, commands name it and how to bring it back, and a start does, too") {
  DaemonRoom daemon;
  daemon.start();
  const auto process = std::to_string(daemon.daemon());
  const auto socket = esper::jobs::socket_of(daemon.state_dir());
  std::filesystem::remove(socket);
  const auto config = daemon.room.write("growing.yaml", growing_config());
  for (const auto& refused : {daemon.ask({"jobs"}), daemon.ask({"submit", config, "--hold"}),
                              run_esper({"daemon", "--state-dir", daemon.state_dir()})}) {
    CAPTURE(refused.err);
    CHECK(refused.exit_code == 75);
    CHECK(refused.err.find("its socket " + socket + " does not exist") != std::string::npos);
    CHECK(refused.err.find("kill " + process + ", then esper daemon") != std::string::npos);
    CHECK(refused.err.find("start one") == std::string::npos);
  }
  ::kill(daemon.daemon(), SIGTERM);
  CHECK(comes_true([&] { return daemon.daemon() == 0; }));
  daemon.start();
  CHECK(daemon.ask({"jobs"}).exit_code == 0);
}

TEST_CASE("a paused job goes on where it was, and a cancelled one does not") {
  DaemonRoom daemon({"--threads", "1"});
  daemon.start();
  Submitter submit{daemon};
  const int job = submit(kEndless);
  REQUIRE(daemon.wait_for_state(job, "running"));
  wait_for_checkpoint_after(daemon.room.run("submitted1"), "");
  daemon.tell({"job", "pause", std::to_string(job)});
  REQUIRE(daemon.wait_for_state(job, "paused"));
  CHECK(!daemon.is_alive(job));
  const auto saved = daemon.job(job)["checkpoint"].get<std::string>();
  CHECK(saved != "");
  daemon.tell({"job", "resume", std::to_string(job)});
  REQUIRE(daemon.wait_for_state(job, "running"));
  wait_for_checkpoint_after(daemon.room.run("submitted1"), saved);
  daemon.tell({"job", "cancel", std::to_string(job)});
  REQUIRE(daemon.wait_for_state(job, "cancelled"));
  CHECK(daemon.job(job)["checkpoint"] > saved);
  CHECK(daemon.job(job)["attempts"] == 2);
  CHECK(daemon.ask({"job", "resume", std::to_string(job)}).exit_code == 2);
}

TEST_CASE("a job of higher priority makes a lower one save and yield, which goes on later with equal bits") {
  DaemonRoom daemon({"--threads", "1"});
  daemon.start();
  Submitter submit{daemon};
  const Words long_run = {"epochs=60", "device.threads=1"};
  const int low = submit(sets(long_run));
  wait_for_checkpoint_after(daemon.room.run("submitted1"), "");
  const pid_t trainer = daemon.processes_of(low).trainer;
  REQUIRE(trainer > 0);
  ::kill(trainer, SIGSTOP);  // so that it does not end before the other one is there
  const int high = submit(kShort + Words{"--priority", "5"});
  REQUIRE(daemon.wait_for_state(low, "stopping"));
  ::kill(trainer, SIGCONT);
  REQUIRE(daemon.wait_for_state(high, "succeeded"));
  REQUIRE(daemon.wait_for_state(low, "succeeded"));
  CHECK(daemon.job(low)["attempts"] == 2);
  CHECK(daemon.job(low)["interruptions"] == 0);
  const auto alone = daemon.room.run("alone");
  REQUIRE(train(submit.config, alone, long_run).exit_code == 0);
  check_equal(record_of(daemon.room.run("submitted1")), record_of(alone), Telemetry::kMayLack);
}

TEST_CASE("a job waits for those that it comes after, and fails with them") {
  DaemonRoom daemon;
  daemon.start();
  Submitter submit{daemon};
  const int first = submit(kShort + Words{"--hold"});
  const int second = submit(kShort + Words{"--after", std::to_string(first)});
  CHECK(daemon.job(first)["state"] == "held");
  CHECK(daemon.job(second)["state"] == "queued");
  daemon.tell({"job", "cancel", std::to_string(first)});
  REQUIRE(daemon.wait_for_state(second, "failed"));
  CHECK(daemon.ask({"submit", submit.config, "--after", "77"}).exit_code == 2);
}

TEST_CASE("what runs goes on while no daemon does, and its end is known to the next one") {
  DaemonRoom daemon;
  daemon.start();
  Submitter submit{daemon};
  const int job = submit(sets({"epochs=30", "device.threads=1"}));
  REQUIRE(daemon.wait_for_state(job, "running"));
  daemon.stop();
  REQUIRE(comes_true([&] { return !daemon.is_alive(job); }, 240s));
  daemon.start();
  CHECK(daemon.job(job)["state"] == "succeeded");
  CHECK(daemon.job(job)["attempts"] == 1);
}

TEST_CASE("a mistake that every attempt would repeat is not repeated") {
  DaemonRoom daemon;
  daemon.start();
  Submitter submit{daemon};
  const int job = submit(kShort + sets({"data.kind=npy", "data.path=/nowhere"}));
  REQUIRE(daemon.wait_for_state(job, "failed"));
  CHECK(daemon.job(job)["attempts"] == 1);
  CHECK(daemon.job(job)["exit_code"] == 3);
  CHECK(daemon.ask({"job", "wait", std::to_string(job)}).exit_code == 3);
}

TEST_CASE("a run that somebody else made is not continued by a job that names its folder") {
  DaemonRoom daemon;
  daemon.start();
  Submitter submit{daemon};
  const int job = submit(kShort + Words{"--hold"});
  const auto taken = daemon.room.run("submitted1");
  REQUIRE(train(submit.config, taken, {"epochs=1", "device.threads=1"}).exit_code == 0);
  daemon.tell({"job", "resume", std::to_string(job)});
  REQUIRE(daemon.wait_for_state(job, "failed"));
  CHECK(daemon.job(job)["reason"].get<std::string>().find("not this job's") != std::string::npos);
  daemon.tell({"job", "retry", std::to_string(job)});
  REQUIRE(daemon.wait_for_state(job, "failed"));
  CHECK(daemon.job(job)["attempts"] == 0);
}

TEST_CASE("two jobs that have not ended do not share a run folder") {
  DaemonRoom daemon;
  daemon.start();
  Submitter submit{daemon};
  submit(kShort + Words{"--hold"});
  submit.number = 0;  // the same folder
  const auto refused = daemon.ask(Words{"submit", submit.config, "--run-dir", daemon.room.run("submitted1").string()});
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("run folder of job 1") != std::string::npos);
}

TEST_CASE("the run file of the time of submission is what runs") {
  DaemonRoom daemon({"--threads", "1"});
  daemon.start();
  Submitter submit{daemon};
  const int job = submit(kShort + Words{"--hold"});
  std::ofstream(submit.config) << "no run file any more: [";
  daemon.tell({"job", "resume", std::to_string(job)});
  CHECK(daemon.wait_for_state(job, "succeeded"));
}

TEST_CASE("damaged and newer databases are refused with the way out") {
  DaemonRoom daemon;
  daemon.start();
  daemon.stop();
  const std::string database = daemon.state_dir() + "/jobs.db";
  SECTION("damaged") {
    std::filesystem::remove(database + "-wal");
    std::ofstream(database) << std::string(5000, 'x');
  }
  SECTION("truncated") {
    std::filesystem::remove(database + "-wal");
    std::filesystem::resize_file(database, std::filesystem::file_size(database) / 2 + 100);
  }
  const auto refused = run_esper({"daemon", "--state-dir", daemon.state_dir()});
  CHECK(refused.exit_code == 5);
  CHECK(refused.err.find("docs/daemon.md") != std::string::npos);
}

TEST_CASE("bad requests are refused with their reason, and the daemon lives") {
  DaemonRoom daemon;
  daemon.start();
  const UnixEndpoint endpoint{esper::jobs::socket_of(daemon.state_dir())};
  const auto status = [&](const char* method, const std::string& target, const std::string& body) {
    const auto response = esper::http::request(endpoint, method, target, body, kPatience);
    REQUIRE(response);
    return response->status;
  };
  CHECK(status("POST", "/v1/jobs", "{") == 400);
  CHECK(status("POST", "/v1/jobs", "{}") == 400);
  CHECK(status("POST", "/v1/jobs", R"({"name": "../x", "folder": "/", "runs_dir": "/tmp", "config": ""})") == 400);
  CHECK(status("POST", "/v1/jobs", R"({"name": "x", "folder": "/", "runs_dir": "/tmp", "config": "epochs: x"})") ==
        400);
  CHECK(status("GET", "/v1/jobs/1", "") == 404);
  CHECK(status("GET", "/v1/jobs?state=unknown", "") == 400);
  CHECK(status("DELETE", "/v1/jobs", "") == 405);
  CHECK(status("POST", "/v1/jobs/1/explode", "") == 404);
  CHECK(status("GET", "/v1/daemon", "") == 200);
  struct stat socket{};
  REQUIRE(::stat(endpoint.path.c_str(), &socket) == 0);
  CHECK((socket.st_mode & 0777) == 0600);
}

}  // namespace esper::test::daemon_commands_test
