// The daemon as a service: its configuration file, its loopback port, what it reports, its logs.
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <numeric>
#include <sstream>
#include <thread>

#include "base/descriptor.h"
#include "base/text/child_process.h"
#include "daemon_room.h"
#include "http/client.h"
#include "jobs/process/job_files.h"
#include "support/comes_true.h"
#include "support/process.h"

namespace esper::test::service_test {

using namespace esper::test;
using namespace std::chrono_literals;

namespace {

// A port of 127.0.0.1 that nobody listens on.
int free_port() {
  const esper::base::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(socket.number(), any, sizeof address) == 0);
  REQUIRE(::getsockname(socket.number(), any, &length) == 0);
  return ntohs(address.sin_port);
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

int submit_short(const DaemonRoom& daemon, const Words& words = {}) {
  const auto config = daemon.room.write("growing.yaml", growing_config());
  const auto run = daemon.room.run("run").string();
  const Words command = Words{"submit", config, "--run-dir", run} + sets({"epochs=2", "device.threads=1"});
  return daemon.tell(command + words)["id"].get<int>();
}

bool wait_for_text(const std::string& path, const std::string& text) {
  return comes_true([&] { return text_of(path).find(text) != std::string::npos; });
}

// How often the threads of a process gave the processor back of their own accord.
std::int64_t wakeups_of(pid_t process) {
  std::int64_t all = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
    const std::string status = text_of(task.path() / "status");
    const std::string field = "\nvoluntary_ctxt_switches:";
    all += std::stoll(status.substr(status.find(field) + field.size()));
  }
  return all;
}

}  // namespace

TEST_CASE("a daemon started on demand has its folder's configuration, and listens on loopback with a token") {
  DaemonRoom daemon;
  const int port = free_port();
  write_file(daemon.state_dir() + "/daemon.yaml", "http: {port: " + std::to_string(port) + "}\n");
  submit_short(daemon, {"--hold"});
  const auto status = daemon.tell({"daemon", "status"});
  CHECK(status["page"]["url"] == "http://127.0.0.1:" + std::to_string(port) + "/");
  const std::string token_file = status["page"]["token_file"];
  CHECK(token_file == daemon.state_dir() + "/token");
  std::string token = text_of(token_file);
  token.pop_back();
  const auto answer = [&](const std::string& shown) {
    const esper::http::LoopbackEndpoint endpoint{static_cast<std::uint16_t>(port), shown};
    const auto response = esper::http::request(endpoint, "GET", "/v1/daemon", "", kPatience);
    REQUIRE(response);
    return response->status;
  };
  CHECK(answer(token) == 200);
  CHECK(answer(std::string(64, '0')) == 401);
  const auto shown = run_esper({"daemon", "status", "--state-dir", daemon.state_dir()});
  CHECK(shown.out.find("http://127.0.0.1:" + std::to_string(port) + "/, with the token in " + token_file) !=
        std::string::npos);
}

TEST_CASE("all mistakes of a configuration file end the start, and options go before the file") {
  DaemonRoom daemon;
  const auto file = daemon.room.write("bad.yaml", "thread: 2\nstop_grace: 5\n");
  const auto refused = daemon.ask({"daemon", "--config", file});
  CHECK(refused.exit_code == 2);
  const auto text = run_esper({"daemon", "--config", file, "--state-dir", daemon.state_dir()}).err;
  CHECK(text.find(file + ":1:1: thread: unknown key; did you mean threads?") != std::string::npos);
  CHECK(text.find(file + ":2:13: stop_grace: expected a duration") != std::string::npos);
  CHECK(daemon.daemon() == 0);
}

TEST_CASE("a command whose daemon does not start says at once what the daemon said, and exits as it did") {
  DaemonRoom daemon;
  write_file(daemon.state_dir() + "/daemon.yaml", "thread: 2\n");
  const auto begin = std::chrono::steady_clock::now();
  const auto refused = daemon.ask({"submit", daemon.room.write("run.yaml", "epochs: 1\n"), "--hold"});
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("the daemon did not start (exit status 2):") != std::string::npos);
  CHECK(refused.err.find("thread: unknown key; did you mean threads?") != std::string::npos);
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
  CHECK(daemon.daemon() == 0);
}

TEST_CASE("a port that is taken is refused with its field") {
  DaemonRoom first, second;
  const std::string config = "http: {port: " + std::to_string(free_port()) + "}\n";
  write_file(first.state_dir() + "/daemon.yaml", config);
  write_file(second.state_dir() + "/daemon.yaml", config);
  first.start();
  const auto refused = run_esper({"daemon", "--state-dir", second.state_dir()});
  CHECK(refused.exit_code == 6);
  CHECK(refused.err.find("http.port: ") != std::string::npos);
}

TEST_CASE("the service manager learns that the daemon is ready, what it does, that it lives and that it stops") {
  DaemonRoom daemon;
  const std::string name = "@esper-service-test-" + std::to_string(::getpid());
  const esper::base::Descriptor manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 0, name.size());
  address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  REQUIRE(::bind(manager.number(), reinterpret_cast<sockaddr*>(&address), length) == 0);
  const timeval patience{60, 0};
  REQUIRE(::setsockopt(manager.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
  const auto next = [&] {
    std::array<char, 1000> text{};
    const auto got = ::recv(manager.number(), text.data(), text.size(), 0);
    return std::string(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  };
  RunningProgram program({binary(), "daemon", "--state-dir", daemon.state_dir()},
                         {"NOTIFY_SOCKET=" + name, "WATCHDOG_USEC=4000000"});
  CHECK(next() == "READY=1");
  CHECK(next() == "STATUS=idle");
  CHECK(next() == "WATCHDOG=1");
  const int job = submit_short(daemon);
  // Read as they come: a socket holds ten datagrams, and more are lost.
  std::string reported;
  REQUIRE(comes_true([&] {
    reported += next() + "\n";
    return reported.find("STATUS=idle") != std::string::npos;
  }));
  CHECK(reported.find("STATUS=1 running\n") != std::string::npos);
  CHECK(daemon.job(job)["state"] == "succeeded");
  const auto attempt = esper::jobs::read_attempt({daemon.state_dir() + "/jobs/00000" + std::to_string(job)});
  REQUIRE(attempt);
  for (const auto& entry : attempt->environment) {
    CHECK(!entry.starts_with("NOTIFY_SOCKET="));
    CHECK(!entry.starts_with("WATCHDOG_"));
  }
  program.send(SIGTERM);
  CHECK(program.wait().exit_code == 0);
  std::string last;
  for (std::string one = next(); !one.empty() && last != "STOPPING=1"; one = last == "STOPPING=1" ? "" : next())
    last = one;
  CHECK(last == "STOPPING=1");
}

TEST_CASE("telemetry of the daemon tells the story of a job, and can be turned off") {
  DaemonRoom daemon;
  const std::string file = daemon.state_dir() + "/telemetry.jsonl";
  SECTION("on") {
    daemon.start();
    REQUIRE(daemon.wait_for_state(submit_short(daemon), "succeeded"));
    daemon.stop();
    const std::string text = text_of(file);
    for (const char* name : {"daemon.started", "jobs.submit_ms", "jobs.queue_wait_s", "jobs.start_ms", "jobs.ended",
                             "jobs.state", "daemon.stopped"}) {
      CAPTURE(name);
      CHECK(text.find("\"" + std::string(name) + "\"") != std::string::npos);
    }
  }
  SECTION("off") {
    write_file(daemon.state_dir() + "/daemon.yaml", "telemetry: false\n");
    daemon.start();
    daemon.stop();
    CHECK(!std::filesystem::exists(file));
  }
}

TEST_CASE("a daemon with nothing to do does not wake up") {
  DaemonRoom daemon;
  write_file(daemon.state_dir() + "/daemon.yaml", "http: {port: " + std::to_string(free_port()) + "}\n");
  daemon.start();
  std::this_thread::sleep_for(2s);
  const auto before = wakeups_of(daemon.daemon());
  std::this_thread::sleep_for(12s);
  // The kernel's timer of a deadline that was cancelled may wake the loop once.
  CHECK(wakeups_of(daemon.daemon()) - before <= 1);
}

TEST_CASE("logs that are full make room for new ones") {
  DaemonRoom daemon;
  const std::string full(70 << 10, 'x');
  const std::string log = daemon.state_dir() + "/daemon.log";
  write_file(daemon.state_dir() + "/daemon.yaml", "log_max_size: 64KiB\n");
  write_file(log, full);
  const int job = submit_short(daemon, {"--hold"});
  CHECK(text_of(log + ".1").starts_with(full));
  const std::string output = daemon.state_dir() + "/jobs/00000" + std::to_string(job) + "/output.log";
  write_file(output, full);
  daemon.tell({"job", "resume", std::to_string(job)});
  REQUIRE(daemon.wait_for_state(job, "succeeded"));
  CHECK(text_of(output + ".1") == full);
  const auto shown = daemon.ask({"logs", std::to_string(job)}).out;
  CHECK(shown.find("done: 2 epochs") != std::string::npos);
  CHECK(shown.find("xxxx") == std::string::npos);
  // What the daemon says of the job's end goes to its new file.
  CHECK(wait_for_text(log, "job 1 is succeeded"));
}

TEST_CASE("install shows or writes a unit, and without systemd says what to do instead") {
  DaemonRoom daemon;
  const std::string configs = (daemon.room.path / "configs").string();
  const Words install{"daemon", "install", "--state-dir", daemon.state_dir()};
  const Words home{"XDG_CONFIG_HOME=" + configs};
  const auto printed = run_esper(install + Words{"--print"}, home);
  CHECK(printed.exit_code == 0);
  CHECK(printed.out.find("\"--state-dir\" \"" + daemon.state_dir() + "\"") != std::string::npos);
  CHECK(!std::filesystem::exists(configs));
  const auto written = run_esper(install, home);
  const std::string unit = configs + "/systemd/user/esper.service";
  if (std::filesystem::exists("/run/systemd/system")) {
    CHECK(written.exit_code == 0);
    CHECK(written.out.find("systemctl --user enable --now esper") != std::string::npos);
    CHECK(text_of(unit) == printed.out);
    std::ofstream(unit) << "# another\n";
    CHECK(run_esper(install, home).exit_code == 2);
    CHECK(run_esper(install + Words{"--replace"}, home).exit_code == 0);
    CHECK(text_of(unit) == printed.out);
  } else {
    CHECK(written.exit_code == 6);
    CHECK(written.err.find("@reboot '" + binary()) != std::string::npos);
    CHECK(!std::filesystem::exists(unit));
  }
  const auto bad = daemon.room.write("bad.yaml", "port: 1\n");
  CHECK(run_esper(install + Words{"--print", "--config", bad}, home).exit_code == 2);
}

}  // namespace esper::test::service_test
