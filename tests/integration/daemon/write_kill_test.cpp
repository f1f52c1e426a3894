// The daemon, or a job's shim, is killed between every pair of database writes and of process starts, and another
// daemon brings everything to its right end.
#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <map>

#include "audit.h"
#include "stub_daemon.h"

namespace esper::test::write_kill_test {

using namespace esper::test;
using esper::jobs::JobState;

namespace {

// Jobs in all states, by a client that starts another daemon where the one that it asked is gone, and asks again.
class Scenario {
 public:
  explicit Scenario(const std::string& faults) {
    daemon.faults = faults;
    daemon.start();
  }

  void play() {
    submit(quick);
    submit(held, {{"hold", true}});
    submit(endless);
    submit(failing);
    submit(late, {{"after", {ids[quick.name]}}});
    submit(hopeless, {{"after", {ids[failing.name]}}});
    act(held, "cancel", {"cancelled"});
    reach(endless, "running");
    act(endless, "pause", {"stopping", "paused"});
    reach(endless, "paused");
    act(endless, "resume", {"queued", "starting", "running"});
    reach(endless, "running");
    act(endless, "cancel", {"stopping", "cancelled"});
    for (const auto& [job, state] : ends()) reach(job, state);
  }

  static std::vector<std::pair<StubJob, std::string>> ends() {
    return {{quick, "succeeded"}, {held, "cancelled"}, {endless, "cancelled"},
            {failing, "failed"},  {late, "succeeded"}, {hopeless, "failed"}};
  }

  StubDaemon daemon;
  std::map<std::string, int> ids;
  int restarts = 0;
  inline static const StubJob quick{"quick"}, held{"held"}, endless{"endless", 600}, failing{"failing", 0, 3},
      late{"late"}, hopeless{"hopeless"};

 private:
  void revive() {
    if (daemon.process() > 0) return;
    daemon.faults.clear();
    ++restarts;
    daemon.start();
  }

  esper::http::Response insist(const std::string& method, const std::string& target, const nlohmann::json& body) {
    std::optional<esper::http::Response> response;
    REQUIRE(comes_true([&] {
      revive();
      return (response = daemon.ask(method, target, body)).has_value();
    }));
    return *response;
  }

  void submit(const StubJob& job, const nlohmann::json& more = nlohmann::json::object()) {
    auto document = daemon.submission(job);
    document.update(more);
    document["token"] = "token of " + job.name;
    const auto response = insist("POST", "/v1/jobs", document);
    CAPTURE(response.body);
    REQUIRE(response.status == 201);
    ids[job.name] = nlohmann::json::parse(response.body)["id"];
  }

  // A request that was carried out by a daemon that could not say so any more is refused the second time.
  void act(const StubJob& job, const std::string& action, const std::vector<std::string>& after) {
    const auto response = insist("POST", fmt::format("/v1/jobs/{}/{}", ids[job.name], action), nullptr);
    if (response.status == 200) return;
    REQUIRE(restarts > 0);
    const auto state = daemon.job(ids[job.name]).value("state", "");
    CAPTURE(job.name, action, state);
    REQUIRE(std::ranges::find(after, state) != after.end());
  }

  void reach(const StubJob& job, const std::string& state) {
    CAPTURE(job.name, state);
    REQUIRE(comes_true([&] {
      revive();
      return daemon.job(ids[job.name]).value("state", "") == state;
    }));
  }
};

// Whether the daemon was killed.
bool survives(const std::string& faults) {
  Scenario scenario(faults);
  scenario.play();
  CHECK(scenario.daemon.stop() == 0);
  const auto histories = histories_of(scenario.daemon.options.state_dir);
  CHECK(histories.size() == Scenario::ends().size());
  for (const auto& [id, history] : histories) {
    CAPTURE(id);
    CHECK(is_legal(history));
    CHECK(times_ended(history) == 1);
  }
  for (const StubJob& job : {Scenario::quick, Scenario::failing, Scenario::late}) {
    CAPTURE(job.name);
    CHECK(scenario.daemon.begins(job) == 1);
    CHECK(scenario.daemon.ends(job) == 1);
  }
  CHECK(scenario.daemon.ends(Scenario::endless) == 0);
  CHECK(scenario.daemon.begins(Scenario::hopeless) == 0);
  return scenario.restarts > 0;
}

}  // namespace

TEST_CASE("wherever the daemon is killed, the next one brings each job to its right end, once") {
  const std::string point =
      GENERATE("jobs.before_commit", "jobs.after_commit", "jobs.before_start", "jobs.after_start");
  int kills = 0;
  for (int n = 1;; ++n) {
    const std::string faults = fmt::format("{}@{}", point, n);
    CAPTURE(faults);
    if (!survives(faults)) break;
    REQUIRE(++kills < 1000);  // a daemon that ends by itself does so in each life
  }
  CAPTURE(point);
  CHECK(kills >= (point.ends_with("commit") ? 25 : 5));
}

TEST_CASE("wherever a shim is killed, its job begins again or ends, and nothing of it is left") {
  const std::string point = GENERATE("jobs.shim_begins", "jobs.shim_has_trainer", "jobs.shim_saw_end");
  CAPTURE(point);
  StubDaemon daemon;
  daemon.options.config.restart_delay = std::chrono::hours(1);
  daemon.faults = point + "@1";
  daemon.start();
  const StubJob job{"one", 0.2};
  const int id = daemon.submit(job);
  REQUIRE(comes_true([&] { return daemon.job(id).value("reason", "").find("interrupted") != std::string::npos; }));
  CHECK(daemon.job(id)["state"] == "queued");
  CHECK(esper::jobs::try_lock(daemon.folder_of(id)).is_open());
  daemon.kill();
  daemon.faults.clear();
  daemon.start();
  REQUIRE(daemon.wait_for_state(id, "succeeded"));
  CHECK(daemon.job(id)["attempts"] == 2);
  CHECK(daemon.ends(job) == (point == "jobs.shim_saw_end" ? 2 : 1));
}

}  // namespace esper::test::write_kill_test
