#include "jobs/api/edit_routes.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "jobs/api/audit_routes.h"
#include "jobs/api/job_routes.h"
#include "jobs/database/schema.h"
#include "support/temporary_folder.h"

using namespace esper;
using namespace esper::jobs;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

// A queue whose loop does not run: no job begins.
struct Routes {
  test::TemporaryFolder folder;
  boost::asio::io_context loop;
  JobStore store{open_database(folder / "jobs.db")};
  Sweeps sweeps{store};
  QueueSetup setup{.attempts = {folder / "jobs", "/bin/false", {}, 1 << 20}, .restarts = {}, .scheduler = {}};
  Queue queue{loop, store, sweeps, setup, [](const Job&) {}};
  JobRoutes job_routes{store, queue};
  EditRoutes edit_routes{store, queue};
  Router router;

  Routes() {
    job_routes.add_to(router);
    edit_routes.add_to(router);
    add_audit_routes(router, store);
  }
  http::Response ask(const std::string& method, const std::string& path, const json& body = nullptr,
                     std::map<std::string, std::string> query = {}) {
    http::Request request;
    request.method = method;
    request.path = path;
    request.query = std::move(query);
    request.peer = {.is_local = true, .uid = 1234};
    if (!body.is_null()) request.body = body.dump();
    return router.answer(request);
  }
  json submission() const {
    return {{"name", "digits"}, {"folder", "/"}, {"runs_dir", "/nowhere"}, {"config", "seed: 1\nepochs: 3\n"}};
  }
  json submit(const json& changes = json::object()) {
    json document = submission();
    document.update(changes);
    const auto response = ask("POST", "/v1/jobs", document);
    CAPTURE(response.body);
    REQUIRE(response.status == 201);
    return json::parse(response.body);
  }
};

}  // namespace

TEST_CASE("a job is edited in all its fields, with one line in the audit log") {
  Routes routes;
  routes.submit();
  routes.submit();
  const auto edited = routes.ask("PATCH", "/v1/jobs/2",
                                 {{"name", "other"},
                                  {"priority", 3},
                                  {"after", {1}},
                                  {"memory_bytes", 4096},
                                  {"config", "epochs: 4\n"},
                                  {"config_before", "seed: 1\nepochs: 3\n"}});
  CAPTURE(edited.body);
  REQUIRE(edited.status == 200);
  const Job job = *routes.store.find(2);
  CHECK(job.name == "other");
  CHECK(job.priority == 3);
  CHECK(job.after == std::vector<JobId>{1});
  CHECK(job.needs.memory_bytes == 4096);
  CHECK(routes.store.config_of(2) == "epochs: 4\n");
  const auto audit = json::parse(routes.ask("GET", "/v1/audit", nullptr, {{"after", "2"}}).body)["audit"];
  REQUIRE(audit.size() == 1);
  CHECK(audit[0]["what"] == "edit");
  CHECK(audit[0]["job"] == 2);
  CHECK(audit[0]["uid"] == 1234);
  CHECK(audit[0]["details"] == "name other, priority 3, after 1, memory_bytes 4096, run file");
}

TEST_CASE("of two edits that were made from one run file the second is refused, and nothing of it is done") {
  Routes routes;
  routes.submit();
  const auto edit = [&](const std::string& config, int priority) {
    return routes
        .ask("PATCH", "/v1/jobs/1",
             {{"config", config}, {"config_before", "seed: 1\nepochs: 3\n"}, {"priority", priority}})
        .status;
  };
  CHECK(edit("epochs: 4\n", 1) == 200);
  CHECK(edit("epochs: 5\n", 2) == 412);
  CHECK(routes.store.config_of(1) == "epochs: 4\n");
  CHECK(routes.store.find(1)->priority == 1);
}

TEST_CASE("bad edits are refused with all reasons, and change nothing") {
  Routes routes;
  routes.submit();
  const Job before = *routes.store.find(1);
  const auto refused = [&](const json& change) { return routes.ask("PATCH", "/v1/jobs/1", change); };
  CHECK(refused(json::object()).status == 400);
  CHECK(refused({{"colour", 1}}).status == 400);
  CHECK(refused({{"config", "epochs: 4"}}).status == 400);
  const auto both = refused({{"name", "a\x1b[31m"}, {"gpus", -1}, {"config", "epochs: x"}, {"config_before", "y"}});
  CHECK(both.status == 400);
  for (const char* text : {"control characters", "gpus", "config:1"}) CHECK_THAT(both.body, ContainsSubstring(text));
  CHECK(refused({{"after", {9}}, {"priority", 5}}).status == 409);
  CHECK(refused({{"after", {1}}, {"priority", 5}}).status == 409);
  CHECK(routes.ask("PATCH", "/v1/jobs/7", {{"priority", 1}}).status == 404);
  CHECK(routes.store.find(1) == before);
  CHECK(routes.store.audit(1, 10).empty());
}

TEST_CASE("one submission for several seeds makes all jobs, or none, and the same ones when it is repeated") {
  Routes routes;
  const json many{{"seeds", {1, 2, 7}}, {"token", "t"}};
  const auto jobs = routes.submit(many)["jobs"];
  REQUIRE(jobs.size() == 3);
  CHECK(jobs[2]["name"] == "digits-seed-7");
  const auto run_dir = jobs[2]["run_dir"].get<std::string>();
  CHECK(run_dir.starts_with("/nowhere/digits-seed-7-2"));
  CHECK(run_dir.ends_with("-job-3"));
  CHECK(routes.store.config_of(3) == "seed: 7\nepochs: 3\n");
  CHECK(routes.submit(many)["jobs"] == jobs);
  for (const json& bad : {json{{"seeds", {8}}, {"after", {99}}}, json{{"seeds", {8}}, {"config", "epochs: 3\n"}},
                          json{{"seeds", std::vector<int>(10'001, 1)}}}) {
    json document = routes.submission();
    document.update(bad);
    CHECK(routes.ask("POST", "/v1/jobs", document).status == 400);
  }
  CHECK(routes.store.list({}).size() == 3);
}

TEST_CASE("settings of a run that is not there are refused with the way out") {
  Routes routes;
  routes.submit();
  const auto refused = routes.ask("POST", "/v1/jobs/1/set", {{"assignments", {"epochs=9"}}});
  CHECK(refused.status == 409);
  CHECK_THAT(refused.body, ContainsSubstring("esper job edit 1 --set epochs=9"));
  CHECK(routes.ask("POST", "/v1/jobs/1/set", {{"assignments", json::array()}}).status == 400);
  CHECK(routes.ask("POST", "/v1/jobs/9/set", {{"assignments", {"epochs=9"}}}).status == 404);
}

TEST_CASE("the audit log is read in pieces, and bad parameters are refused") {
  Routes routes;
  for (int i = 0; i < 3; ++i) routes.submit();
  const auto ids = [&](std::map<std::string, std::string> query) {
    const auto answer = json::parse(routes.ask("GET", "/v1/audit", nullptr, std::move(query)).body);
    std::vector<int> found;
    for (const auto& line : answer["audit"]) found.push_back(line["id"]);
    return found;
  };
  CHECK(ids({}) == std::vector{1, 2, 3});
  CHECK(ids({{"after", "1"}, {"limit", "1"}}) == std::vector{2});
  for (const auto& [name, value] : std::map<std::string, std::string>{{"limit", "0"}, {"after", "-1"}, {"x", "1"}})
    CHECK(routes.ask("GET", "/v1/audit", nullptr, {{name, value}}).status == 400);
}
