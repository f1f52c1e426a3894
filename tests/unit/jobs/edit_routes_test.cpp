#include "jobs/api/edit_routes.h"

#include <sys/resource.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>

#include "run_telemetry.h"
#include "storage/folder_lock.h"
#include "storage/real_file_system.h"
#include "support/queue_routes.h"
#include "unit/runs/run_room.h"

namespace esper::test::edit_routes_test {

using namespace esper;
using namespace esper::jobs;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

struct Routes : QueueRoutes {
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
  // A folder to submit from.
  std::string work_folder() const {
    const std::string made = folder / "work";
    std::filesystem::create_directory(made);
    return made;
  }
  // Job 1, as if it trained.
  std::string live_run() {
    const std::string run = folder / "run";
    submit({{"run_dir", run}});
    std::filesystem::create_directory(run);
    std::ofstream(run + "/config.yaml") << "seed: 1\nepochs: 3\n";
    Job job = *store.find(1);
    job.attempts = 1;
    for (const JobState state : {JobState::kStarting, JobState::kRunning}) {
      job.state = state;
      store.save(job);
    }
    return run;
  }
  http::Response set_rate(const std::string& value) {
    return ask("POST", "/v1/jobs/1/set", {{"assignments", {"training.optimizer.lr=" + value}}});
  }
  // Of lines that are about changes of live runs.
  std::vector<std::string> audited_settings() {
    std::vector<std::string> found;
    for (const auto& line : read_audit(store.database(), 0, 100))
      if (line.what == "set") found.push_back(line.details);
    return found;
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
  CHECK(read_audit(routes.store.database(), 1, 10).empty());
}

TEST_CASE("a run file that training refuses is neither submitted nor edited into a job") {
  Routes routes;
  const std::string config = "step: {lane: graph}\ndevice: {kind: cpu}\n", before = "seed: 1\nepochs: 3\n";
  const std::string reason = "config: config:1:14: step.lane: graph cannot run with device.kind: cpu";
  json document = routes.submission();
  document["config"] = config;
  const auto submitted = routes.ask("POST", "/v1/jobs", document);
  CHECK(submitted.status == 400);
  CHECK_THAT(submitted.body, ContainsSubstring(reason));
  CHECK(routes.store.list({}).empty());
  routes.submit();
  const auto edited = routes.ask("PATCH", "/v1/jobs/1", {{"config", config}, {"config_before", before}});
  CHECK(edited.status == 400);
  CHECK_THAT(edited.body, ContainsSubstring(reason));
  CHECK(routes.store.config_of(1) == before);
}

TEST_CASE("a sweep with a configuration that training refuses is not queued") {
  Routes routes;
  const json sweep{{"sweep", "name: lanes\nconfig: run.yaml\nparameters: {step.lane: [replay, graph]}\n"},
                   {"run_file", "device: {kind: cpu}\n"},
                   {"folder", routes.work_folder()},
                   {"runs_dir", "/nowhere"}};
  const auto refused = routes.ask("POST", "/v1/sweeps", sweep);
  CHECK(refused.status == 400);
  CHECK_THAT(refused.body, ContainsSubstring("parameters.step.lane: graph cannot run with device.kind: cpu"));
  CHECK(routes.store.list({}).empty());
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

TEST_CASE("more than a request may have is refused with the limit, and nothing of it is done") {
  Routes routes;
  routes.submit();
  const std::vector<int> many(1001, 1), seeds(10'000, 1);
  const auto refused = [&](const json& changes) {
    json document = routes.submission();
    document.update(changes);
    const auto response = routes.ask("POST", "/v1/jobs", document);
    CHECK(response.status == 400);
    return response.body;
  };
  CHECK_THAT(refused({{"after", many}}), ContainsSubstring("after: at most 1000 jobs, found 1001"));
  CHECK_THAT(refused({{"after", std::vector<int>(1000, 1)}, {"seeds", seeds}}),
             ContainsSubstring("1000 jobs for each of 10000 seeds are 10000000, of at most 1000000"));
  const std::string config = "seed: 1\n# " + std::string(30'000, 'x') + "\n";
  CHECK_THAT(refused({{"config", config}, {"seeds", seeds}}),
             ContainsSubstring("have more than 256 MiB; submit fewer seeds at a time, or a sweep"));
  CHECK(routes.ask("PATCH", "/v1/jobs/1", {{"after", many}}).status == 400);
  const auto set = routes.ask("POST", "/v1/jobs/1/set", {{"assignments", std::vector<std::string>(1001, "epochs=9")}});
  CHECK(set.status == 400);
  CHECK_THAT(set.body, ContainsSubstring("assignments: at most 1000, found 1001"));
  CHECK(routes.store.list({}).size() == 1);
}

TEST_CASE("a job that another one is to come after twice counts once") {
  Routes routes;
  routes.submit();
  CHECK(routes.submit({{"after", {1, 1}}})["after"] == json::array({1}));
}

TEST_CASE("a submission that is repeated is the same job, also where its folder has gone since") {
  Routes routes;
  const std::string folder = routes.work_folder();
  const json one{{"folder", folder}, {"token", "one"}}, many{{"folder", folder}, {"token", "many"}, {"seeds", {1, 2}}};
  REQUIRE(routes.submit(one)["id"] == 1);
  REQUIRE(routes.submit(many)["jobs"][1]["id"] == 3);
  std::filesystem::remove(folder);
  CHECK(routes.submit(one)["id"] == 1);
  CHECK(routes.submit(many)["jobs"][1]["id"] == 3);
  json other = routes.submission();
  other.update({{"folder", folder}, {"token", "other"}});
  CHECK(routes.ask("POST", "/v1/jobs", other).status == 400);
}

TEST_CASE("a sweep that is repeated is the same one, also where its folder has gone since") {
  Routes routes;
  const std::string folder = routes.work_folder();
  json sweep{{"sweep", "name: rates\nconfig: run.yaml\nseeds: [1]\nparameters: {training.optimizer.lr: [0.1, 0.2]}\n"},
             {"run_file", "epochs: 9\n"},
             {"folder", folder},
             {"runs_dir", "/nowhere"},
             {"token", "one"}};
  const auto made = routes.ask("POST", "/v1/sweeps", sweep);
  CAPTURE(made.body);
  REQUIRE(made.status == 201);
  std::filesystem::remove(folder);
  const auto again = routes.ask("POST", "/v1/sweeps", sweep);
  CHECK(again.status == 201);
  CHECK(again.body == made.body);
  sweep["token"] = "other";
  CHECK(routes.ask("POST", "/v1/sweeps", sweep).status == 400);
}

TEST_CASE("a list has the newest jobs, and whether there are more") {
  Routes routes;
  for (int i = 0; i < 3; ++i) routes.submit();
  const auto list = [&](const std::string& name, const std::string& value) {
    return routes.ask("GET", "/v1/jobs", nullptr, {{name, value}});
  };
  const auto two = json::parse(list("limit", "2").body), all = json::parse(list("limit", "3").body);
  REQUIRE(two["jobs"].size() == 2);
  CHECK(two["jobs"][0]["id"] == 2);
  CHECK(two["jobs"][1]["id"] == 3);
  CHECK(two["more"].get<bool>());
  CHECK(all["jobs"].size() == 3);
  CHECK(!all["more"].get<bool>());
  CHECK(list("name", "nobody").body == "{\"jobs\":[],\"more\":false}\n");
}

TEST_CASE(
    "a parameter that is wrong is refused with its name and range, one that is unknown with those that are known") {
  Routes routes;
  const auto refused = [&](const std::string& path, const std::string& name, const std::string& value) {
    const auto response = routes.ask("GET", path, nullptr, {{name, value}});
    CHECK(response.status == 400);
    return response.body;
  };
  for (const char* value : {"0", "-1", "100001", "1e3", "99999999999999999999", ""}) {
    CAPTURE(value);
    CHECK_THAT(refused("/v1/jobs", "limit", value), ContainsSubstring("limit: needs a whole number from 1 to 100000"));
  }
  CHECK_THAT(refused("/v1/jobs", "sweep", "0"), ContainsSubstring("sweep: needs a whole number from 1 on"));
  CHECK_THAT(refused("/v1/jobs", "state", "red"), ContainsSubstring("state: needs names of states"));
  CHECK_THAT(refused("/v1/jobs", "colour", "red"),
             ContainsSubstring("unknown parameter: colour; known: state, name, sweep, order, limit"));
  CHECK_THAT(refused("/v1/audit", "limit", "10001"), ContainsSubstring("limit: needs a whole number from 1 to 10000"));
  CHECK_THAT(refused("/v1/audit", "after", "-1"), ContainsSubstring("after: needs a whole number from 0 on"));
  CHECK_THAT(refused("/v1/audit", "x", "1"), ContainsSubstring("unknown parameter: x; known: after, limit"));
}

TEST_CASE("a change of a live run has its line in the audit log, also where the run could not be asked") {
  Routes routes;
  const std::string run = routes.live_run();
  const auto done = routes.set_rate("0.0125");
  CAPTURE(done.body);
  REQUIRE(done.status == 200);
  CHECK(std::filesystem::exists(run + "/changes/request-0001.json"));
  REQUIRE(routes.audited_settings() == std::vector<std::string>{"training.optimizer.lr=0.0125"});
  const auto lock = storage::real_file_system().try_lock(run + "/changes/lock");
  REQUIRE(lock);
  CHECK(routes.set_rate("0.25").status == 503);
  const auto lines = routes.audited_settings();
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] == "training.optimizer.lr=0.25");
  CHECK_THAT(lines[2], ContainsSubstring("not done: another process"));
}

TEST_CASE("the epochs that a sweep decided are not changed in the live run, and all else is") {
  Routes routes;
  const std::string run = routes.live_run();
  std::ofstream(run + "/config.yaml") << "seed: 1\nepochs: 3\ngrowth: {enabled: false}\n";
  Job job = *routes.store.find(1);
  job.epochs = 3;
  routes.store.save(job);
  const auto refused = routes.ask("POST", "/v1/jobs/1/set", {{"assignments", {"epochs=9"}}});
  CHECK(refused.status == 409);
  CHECK_THAT(refused.body, ContainsSubstring("epochs: job 1 trains to 3 epochs, as its sweep decided"));
  CHECK(!std::filesystem::exists(run + "/changes/request-0001.json"));
  CHECK(routes.audited_settings().empty());
  CHECK(routes.set_rate("0.0125").status == 200);
  job.epochs = 0;
  routes.store.save(job);
  CHECK(routes.ask("POST", "/v1/jobs/1/set", {{"assignments", {"epochs=9"}}}).status == 200);
}

TEST_CASE("a job's run takes no fewer epochs than it has reached, by its telemetry or its newest checkpoint") {
  Routes routes;
  const std::string run = routes.live_run(), saved = run + "/checkpoints/epoch-0003-step-000000030";
  std::ofstream(run + "/config.yaml") << "seed: 1\nepochs: 9\ngrowth: {enabled: false}\n";
  std::filesystem::create_directories(saved);
  std::ofstream(saved + "/run.json") << R"({"progress": {"epoch": 3, "batch": 2}})";
  tests::append(run + "/telemetry.jsonl", tests::epoch_line(5, 1));
  const auto set_epochs = [&](int epochs) {
    return routes.ask("POST", "/v1/jobs/1/set", {{"assignments", {"epochs=" + std::to_string(epochs)}}});
  };
  const auto check_refused = [&](int epochs, int reached) {
    const auto refused = set_epochs(epochs);
    CHECK(refused.status == 400);
    CHECK_THAT(refused.body,
               ContainsSubstring("epochs: must be more than " + std::to_string(reached) + ", the epoch that " + run +
                                 " has reached, but is " + std::to_string(epochs)));
  };
  {
    const auto training = storage::try_lock_folder(storage::real_file_system(), run);
    REQUIRE(training.lock);
    check_refused(6, 6);
  }
  check_refused(4, 4);
  CHECK(!std::filesystem::exists(run + "/changes/request-0001.json"));
  CHECK(routes.audited_settings().empty());
  CHECK(set_epochs(5).status == 200);
}

TEST_CASE(
    "a job whose run has ended takes no settings with which no epoch would begin, unless its sweep may add some") {
  Routes routes;
  const std::string run = routes.live_run();
  const runs::test::RunFolder ended(run);
  ended.add_epoch(3, 0.5, 0.8);
  ended.add_summary("done", 9, 3);
  config::RunConfig config;
  config.name = "small";
  config.epochs = 3;
  config.data.kind = config::DataKind::kDigits;
  config.growth.enabled = false;
  std::ofstream(run + "/config.yaml") << config::resolved_yaml(config);
  const auto job_is = [&](JobState state, std::int64_t epochs) {
    Job job = *routes.store.find(1);
    job.state = state;
    job.epochs = epochs;
    routes.store.save(job);
  };
  job_is(JobState::kPaused, 3);  // at a rung
  CHECK(routes.set_rate("0.0125").status == 200);
  job_is(JobState::kQueued, 0);
  const auto refused = routes.set_rate("0.25");
  CHECK(refused.status == 400);
  CHECK_THAT(refused.body, ContainsSubstring(run +
                                             " has ended: its 3 epochs are trained: no epoch would begin with "
                                             "these settings; add epochs with esper train --resume " +
                                             run));
  CHECK(routes.audited_settings() == std::vector<std::string>{"training.optimizer.lr=0.0125"});
  const auto longer = routes.ask("POST", "/v1/jobs/1/set", {{"assignments", {"epochs=9"}}});
  CAPTURE(longer.body);
  CHECK(longer.status == 200);
  CHECK(routes.set_rate("0.25").status == 200);
  for (const JobState state : {JobState::kStarting, JobState::kSucceeded}) job_is(state, 0);
  const auto over = routes.set_rate("0.5");
  CHECK(over.status == 409);
  CHECK_THAT(over.body,
             ContainsSubstring("job 1 has ended: it succeeded") && ContainsSubstring("esper train --resume " + run));
}

TEST_CASE("a change of a live run that cannot be written to the audit log is not made") {
  Routes routes;
  const std::string run = routes.live_run();
  routes.store.database().run("PRAGMA max_page_count = 1");  // no more than it has
  const auto fill = [&] {
    for (int i = 0; i < 10'000; ++i) add_to_audit(routes.store.database(), {.what = "x"}, std::nullopt);
  };
  REQUIRE_THROWS_AS(fill(), DatabaseError);
  CHECK_THROWS_AS(routes.set_rate("0.0125"), DatabaseError);
  CHECK(!std::filesystem::exists(run + "/changes/request-0001.json"));
}

TEST_CASE("an input/output error that is no lack of room is no 507") {
  Routes routes;
  const std::string run = routes.live_run();
  rlimit files{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
  const rlimit none{0, files.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto refused = routes.set_rate("0.0125");
  REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
  CAPTURE(refused.body);
  CHECK(refused.status == 500);
  CHECK_THAT(refused.body, ContainsSubstring("Too many open files"));
  CHECK(routes.audited_settings().empty());
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

}  // namespace esper::test::edit_routes_test
