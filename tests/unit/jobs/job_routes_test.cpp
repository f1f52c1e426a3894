#include "jobs/api/job_routes.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>

#include "support/queue_routes.h"

namespace esper::test::job_routes_test {

using namespace esper;
using namespace esper::jobs;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct Routes : QueueRoutes {
  void submit(std::int64_t priority) {
    const json body{
        {"name", "digits"}, {"folder", "/"},       {"runs_dir", folder / "runs"}, {"config", "seed: 1\nepochs: 3\n"},
        {"hold", true},     {"priority", priority}};
    const auto response = ask("POST", "/v1/jobs", body);
    CAPTURE(response.body);
    REQUIRE(response.status == 201);
  }
  // With `more` as the last one.
  json listed(const std::string& order, const std::string& limit) {
    const auto answer = json::parse(ask("GET", "/v1/jobs", nullptr, {{"order", order}, {"limit", limit}}).body);
    json ids = json::array();
    for (const auto& job : answer.at("jobs")) ids.push_back(job.at("id"));
    ids.push_back(answer.at("more"));
    return ids;
  }
};

}  // namespace

TEST_CASE("what a list of jobs leaves out is at the end of its order") {
  Routes routes;
  for (const std::int64_t priority : {0, 5, 0}) routes.submit(priority);
  CHECK(routes.listed("newest", "2") == json{2, 3, true});
  CHECK(routes.listed("begin", "2") == json{2, 1, true});
  CHECK(routes.listed("begin", "3") == json{2, 1, 3, false});
  REQUIRE(routes.ask("POST", "/v1/jobs/1/cancel").status == 200);
  CHECK(routes.listed("ended", "1") == json{1, true});
}

TEST_CASE("an order that is none is refused with those that there are") {
  Routes routes;
  const auto refused = routes.ask("GET", "/v1/jobs", nullptr, {{"order", "random"}});
  CHECK(refused.status == 400);
  CHECK_THAT(refused.body, ContainsSubstring("newest, begin, ended"));
}

TEST_CASE("a name of up to 200 bytes is taken, and the refusal of a longer one counts bytes, too") {
  Routes routes;
  json body{{"folder", "/"}, {"runs_dir", routes.folder / "runs"}, {"config", "seed: 1\n"}, {"hold", true}};
  std::string name;
  for (int letters = 0; letters < 100; ++letters) name += "\u00e9";
  body["name"] = name;
  CHECK(routes.ask("POST", "/v1/jobs", body).status == 201);
  body["name"] = name + "e";
  const auto refused = routes.ask("POST", "/v1/jobs", body);
  CHECK(refused.status == 400);
  CHECK_THAT(refused.body, ContainsSubstring("name: needs 1 to 200 bytes of UTF-8"));
}

TEST_CASE("a run folder that has a run is refused at once, also of a seed; a repeated submission is not") {
  Routes routes;
  json body{
      {"name", "digits"}, {"folder", "/"}, {"run_dir", routes.folder / "run/"}, {"config", "seed: 1\nepochs: 3\n"},
      {"token", "once"},  {"hold", true}};
  REQUIRE(routes.ask("POST", "/v1/jobs", body).status == 201);
  for (const char* name : {"run", "run-seed-2"}) {
    fs::create_directories(routes.folder / name);
    std::ofstream(routes.folder.path() + "/" + name + "/config.yaml") << "seed: 1\n";
  }
  CHECK(routes.ask("POST", "/v1/jobs", body).status == 201);
  body["token"] = "again";
  const auto refused = routes.ask("POST", "/v1/jobs", body);
  CHECK(refused.status == 400);
  CHECK_THAT(refused.body, ContainsSubstring("run/ already contains a run") && ContainsSubstring("--resume"));
  body["seeds"] = {1, 2};
  CHECK_THAT(routes.ask("POST", "/v1/jobs", body).body, ContainsSubstring("run-seed-2 already contains a run"));
  body["seeds"] = {1, 3};
  CHECK(routes.ask("POST", "/v1/jobs", body).status == 201);
}

TEST_CASE("a job whose run would lie within another one, or would hold one, is refused at once, and so is a sweep") {
  Routes routes;
  const auto make_run = [](const std::string& run) {
    fs::create_directories(run);
    for (const char* name : {"/config.yaml", "/lock"}) std::ofstream(run + name) << "x";
  };
  const std::string runs = routes.folder / "runs", run = runs + "/a";
  make_run(run);
  make_run(runs + "/b-seed-2/c");
  const auto submit = [&](const json& place) {
    json body{{"name", "digits"}, {"folder", "/"}, {"config", "seed: 1\nepochs: 3\n"}, {"hold", true}};
    body.update(place);
    return routes.ask("POST", "/v1/jobs", body);
  };
  const auto check_refused = [](const http::Response& refused, const std::string& reason) {
    CHECK(refused.status == 400);
    CHECK_THAT(refused.body, ContainsSubstring(reason) && ContainsSubstring("a run needs a folder of its own: choose"));
  };
  check_refused(submit({{"run_dir", run + "/sub/deep"}}), run + "/sub/deep lies within the run " + run + ";");
  check_refused(submit({{"runs_dir", run}}), run + "/digits lies within the run " + run + ";");
  check_refused(submit({{"run_dir", run + "/more"}, {"seeds", {1, 2}}}), "lies within the run " + run + ";");
  check_refused(submit({{"run_dir", runs}}), runs + " holds other runs, like ");
  check_refused(submit({{"run_dir", runs + "/b"}, {"seeds", {1, 2}}}), runs + "/b-seed-2 holds other runs, like c;");
  const json sweep{{"sweep", "name: rates\nconfig: run.yaml\nparameters: {training.optimizer.lr: [0.1, 0.2]}\n"},
                   {"run_file", "epochs: 9\n"},
                   {"folder", routes.folder.path()},
                   {"runs_dir", run}};
  check_refused(routes.ask("POST", "/v1/sweeps", sweep), run + "/rates lies within the run " + run + ";");
  CHECK(routes.store.list({}).empty());
  CHECK(submit({{"runs_dir", runs}}).status == 201);
  CHECK(submit({{"run_dir", runs + "/b"}, {"seeds", {1, 3}}}).status == 201);
}

TEST_CASE("clients hear of the jobs of a sweep that is held") {
  Routes routes;
  const json sweep{
      {"sweep", "name: rates\nconfig: run.yaml\nseeds: [1]\nparameters: {training.optimizer.lr: [0.1, 0.2]}\n"},
      {"run_file", "epochs: 9\n"},
      {"folder", routes.folder.path()},
      {"runs_dir", routes.folder / "runs"},
      {"hold", true}};
  const auto response = routes.ask("POST", "/v1/sweeps", sweep);
  CAPTURE(response.body);
  REQUIRE(response.status == 201);
  routes.loop.poll();
  REQUIRE(routes.changed.size() == 2);
  CHECK(routes.changed[0].state == JobState::kHeld);
}

}  // namespace esper::test::job_routes_test
