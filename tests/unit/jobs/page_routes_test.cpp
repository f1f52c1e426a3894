#include "jobs/api/page_routes.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "jobs/api/api.h"
#include "jobs/api/submission_check.h"
#include "jobs/database/schema.h"
#include "jobs/job/repeat.h"
#include "leyline/seed.h"
#include "support/temporary_folder.h"
#include "sweep/summary_json.h"

namespace esper::test::page_routes_test {

using namespace esper;
using nlohmann::json;
using Names = std::set<std::string>;

namespace {

struct AllRoutes {
  test::TemporaryFolder folder;
  boost::asio::io_context loop;
  jobs::JobStore store{jobs::open_database(folder / "jobs.db")};
  jobs::Sweeps sweeps{store};
  jobs::Queue queue{loop,
                    store,
                    sweeps,
                    {.attempts = {folder / "jobs", "esper", {}, 1 << 20}, .restarts = {}, .scheduler = {}},
                    [](const jobs::Job&) {}};
  jobs::ProgressReader reader;
  jobs::Api api{{store, sweeps, queue, reader}, {}, {}};

  http::Response get(const std::string& path) const {
    http::Request request;
    request.method = "GET";
    request.path = path;
    return api.answer(request);
  }
};

http::Response get(const std::string& path) {
  jobs::Router router;
  jobs::add_page_routes(router);
  http::Request request;
  request.method = "GET";
  request.path = path;
  return router.answer(request);
}

json document() { return json::parse(get("/v1/openapi.json").body); }

Names names_of(const json& object) {
  Names names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

template <class Struct>
Names members_of() {
  return names_of(base::to_json(Struct{}));
}

template <class Enum>
Names values_of() {
  Names values;
  for (const auto& [value, name] : names(Enum{})) values.emplace(name);
  return values;
}

}  // namespace

TEST_CASE("the OpenAPI document has the daemon's routes, and no others") {
  AllRoutes all;
  Names routes, described;
  for (const auto& route : all.api.router().routes()) routes.insert(route.method + " " + route.path);
  const json paths = document().at("paths");
  for (const auto& [path, methods] : paths.items()) {
    for (const char* method : {"get", "put", "post", "delete", "options", "head", "patch", "trace"}) {
      std::string upper = method;
      std::ranges::transform(upper, upper.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
      if (methods.contains(method)) described.insert(upper + " " + path);
    }
  }
  CHECK(routes == described);
}

TEST_CASE("its schemas have the members and values that the daemon reads and writes") {
  const json schemas = document()["components"]["schemas"];
  const auto properties = [&](const char* name) { return names_of(schemas.at(name).at("properties")); };
  CHECK(properties("Job") == members_of<jobs::Job>());
  CHECK(properties("Submission") == members_of<jobs::Submission>());
  CHECK(properties("Resources") == members_of<jobs::Resources>());
  CHECK(properties("Progress") == members_of<jobs::Progress>());
  CHECK(properties("SeedProgress") == members_of<jobs::SeedProgress>());
  CHECK(properties("JobChange") == members_of<jobs::JobChange>());
  CHECK(properties("Forecast") == members_of<config::RunForecast>());
  CHECK(properties("AuditLine") == members_of<jobs::AuditLine>());
  CHECK(properties("SweepSubmission") == members_of<jobs::SweepSubmission>());
  CHECK(properties("Sweep") == members_of<jobs::SweepRecord>());
  CHECK(properties("SweepReport") == members_of<jobs::SweepReport>());
  CHECK(properties("SweepSummary") == members_of<sweep::Summary>());
  CHECK(properties("SweepRow") == members_of<sweep::SummaryRow>());
  CHECK(properties("BestConfiguration") == members_of<jobs::BestConfiguration>());
  const auto values = [&](const json& schema) { return schema.at("enum").get<Names>(); };
  CHECK(values(schemas.at("JobState")) == values_of<jobs::JobState>());
  CHECK(values(schemas.at("StopPurpose")) == values_of<jobs::StopPurpose>());
  CHECK(values(schemas.at("SweepState")) == values_of<jobs::SweepState>());
  CHECK(values(schemas.at("SeedProgress").at("properties").at("stage")) == values_of<leyline::Stage>());
}

TEST_CASE("its orders of lists are those that the daemon takes") {
  Names orders;
  const json described = document();
  for (const auto& parameter : described.at("paths").at("/v1/jobs").at("get").at("parameters"))
    if (parameter.at("name") == "order") orders = parameter.at("schema").at("enum").get<Names>();
  CHECK(orders == values_of<jobs::JobOrder>());
}

TEST_CASE("each response always has the members that its schema requires") {
  const json schemas = document()["components"]["schemas"];
  for (const auto& [name, members] :
       {std::pair{"Job", members_of<jobs::Job>()}, std::pair{"Progress", members_of<jobs::Progress>()},
        std::pair{"Sweep", members_of<jobs::SweepRecord>()}}) {
    CAPTURE(name);
    CHECK(schemas.at(name).at("required").get<Names>() == members);
  }
}

TEST_CASE("a list of jobs has the members that its schema requires") {
  AllRoutes all;
  const json schema = document()["components"]["schemas"]["JobList"];
  const json list = json::parse(all.get("/v1/jobs").body);
  CHECK(schema.at("required").get<Names>() == names_of(list));
  CHECK(names_of(schema.at("properties")) == names_of(list));
}

TEST_CASE("its limits of lists are those of the daemon") {
  const json schemas = document()["components"]["schemas"];
  const auto most = [&](const char* schema, const char* member) {
    return schemas.at(schema).at("properties").at(member).at("maxItems").get<std::size_t>();
  };
  CHECK(most("Submission", "after") == jobs::kMostAfter);
  CHECK(most("Submission", "seeds") == jobs::kMostRepeats);
  CHECK(most("JobChange", "after") == jobs::kMostAfter);
  CHECK(most("SettingsToChange", "assignments") == jobs::kMostAssignments);
}

TEST_CASE("where the database cannot be read, the refusal names it and says what to do") {
  AllRoutes all;
  all.store.database().run("DROP TABLE audit");
  const auto response = all.get("/v1/audit");
  CHECK(response.status == 503);
  for (const char* text : {"/jobs.db", "Recovery by hand"}) {
    CAPTURE(text);
    CHECK(response.body.find(text) != std::string::npos);
  }
}

TEST_CASE("the page is one file whose script and style have the nonce of its policy, a new one each time") {
  const auto first = get("/"), second = get("/");
  CHECK(first.content_type == "text/html; charset=utf-8");
  const auto policy =
      std::ranges::find(first.headers, "Content-Security-Policy", &std::pair<std::string, std::string>::first);
  REQUIRE(policy != first.headers.end());
  CHECK(policy->second.find("unsafe") == std::string::npos);
  CHECK(policy->second.find("default-src 'none'") != std::string::npos);
  const auto begin = policy->second.find("'nonce-") + 7;
  const std::string nonce = policy->second.substr(begin, policy->second.find('\'', begin) - begin);
  CHECK(nonce.size() == 32);
  CHECK(first.body.find("<script nonce=\"" + nonce + "\">") != std::string::npos);
  CHECK(first.body.find("<style nonce=\"" + nonce + "\">") != std::string::npos);
  CHECK(first.body.find("NONCE") == std::string::npos);
  CHECK(second.body.find(nonce) == std::string::npos);
  for (const char* forbidden :
       {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style=\"", "onclick"}) {
    CAPTURE(forbidden);
    CHECK(first.body.find(forbidden) == std::string::npos);
  }
}

}  // namespace esper::test::page_routes_test
