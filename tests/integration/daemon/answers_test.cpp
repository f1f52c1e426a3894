// What the commands say to answers of daemons of other versions, and do not send.
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "http/server.h"
#include "integration/run/run_room.h"
#include "jobs/daemon/daemon.h"
#include "stub_daemon.h"

namespace esper::test::answers_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Gives the same answers whatever comes before.
class CannedDaemon {
 public:
  explicit CannedDaemon(std::map<std::string, http::Response> answers)
      : answers_(std::move(answers)), server_(loop_, [this](const http::Request& request) { return answer(request); }) {
    std::filesystem::create_directory(state_dir());
    REQUIRE(server_.listen_unix(jobs::socket_of(state_dir())));
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~CannedDaemon() {
    boost::asio::post(loop_, [this] {
      server_.close();
      stays_.reset();
    });
    thread_.join();
  }
  std::string state_dir() const { return (room_.path / "state").string(); }
  Finished ask(const Words& words) const { return run_esper(words + Words{"--state-dir", state_dir()}); }

 private:
  http::Response answer(const http::Request& request) const {
    const auto found = answers_.find(request.path);
    return found == answers_.end() ? http::Response{.status = 404, .body = "{}"} : found->second;
  }

  RunRoom room_;
  const std::map<std::string, http::Response> answers_;
  boost::asio::io_context loop_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> stays_{loop_.get_executor()};
  http::Server server_;
  std::thread thread_;
};

const http::Response kOlder{.body = R"({"version": "0.0.1", "jobs": {"queued": 2}})"};

}  // namespace

TEST_CASE("a refusal by a daemon of another version names both versions") {
  StubDaemon daemon;  // its version is "test"
  daemon.start();
  const auto refused = run_esper({"job", "show", "99", "--state-dir", daemon.options.state_dir});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("there is no job 99; the daemon is esper test, this is esper "));
  CHECK_THAT(refused.err, ContainsSubstring("restart it"));
}

TEST_CASE("an answer that this program does not understand names both versions") {
  const CannedDaemon daemon({{"/v1/daemon", kOlder},
                             {"/v1/jobs", {.body = R"({"list": []})"}},
                             {"/v1/jobs/1", {.body = "[1]"}},
                             {"/v1/sweeps", {.body = R"({"sweeps": [{"colour": 1}]})"}}});
  for (const Words& words : {Words{"jobs"}, Words{"job", "show", "1"}, Words{"sweep", "list"}}) {
    const auto ended = daemon.ask(words);
    CAPTURE(ended.err);
    CHECK(ended.exit_code == 70);
    CHECK_THAT(ended.err, ContainsSubstring("the daemon is esper 0.0.1, this is esper "));
  }
}

TEST_CASE("a refusal that is no object, and a status without its parts, are no crash") {
  const CannedDaemon daemon({{"/v1/daemon", {.body = R"({"version": 7})"}},
                             {"/v1/jobs", {.status = 500, .body = "[]"}},
                             {"/v1/sweeps", {.status = 400, .body = "no JSON"}}});
  const auto status = daemon.ask({"daemon", "status"});
  CHECK(status.exit_code == 70);
  CHECK_THAT(status.err, ContainsSubstring("the daemon's answer cannot be read"));
  const auto jobs = daemon.ask({"jobs"});
  CHECK(jobs.exit_code == 6);
  CHECK_THAT(jobs.err, ContainsSubstring("the daemon refused with status 500"));
  const auto sweeps = daemon.ask({"sweep", "list"});
  CHECK(sweeps.exit_code == 2);
  CHECK_THAT(sweeps.err, ContainsSubstring("the daemon refused with status 400"));
}

TEST_CASE("the status of an older daemon is shown") {
  const CannedDaemon daemon({{"/v1/daemon", kOlder}});
  const auto status = daemon.ask({"daemon", "status"});
  CHECK(status.exit_code == 0);
  CHECK_THAT(status.out, ContainsSubstring("queued     2"));
}

TEST_CASE("a path that is not UTF-8 is refused, and not sent as another one") {
  StubDaemon daemon;
  daemon.start();
  const auto config = daemon.room.write("growing.yaml", growing_config());
  const auto refused = run_esper(
      {"submit", config, "--run-dir", daemon.room.path.string() + "/run\xff", "--state-dir", daemon.options.state_dir});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("run_dir: "));
  CHECK_THAT(refused.err, ContainsSubstring("is not UTF-8"));
  CHECK(nlohmann::json::parse(daemon.ask("GET", "/v1/jobs")->body)["jobs"].empty());
}

}  // namespace esper::test::answers_test
