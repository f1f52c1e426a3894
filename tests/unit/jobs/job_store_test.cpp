#include "jobs/store/job_store.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>

#include "jobs/database/schema.h"
#include "jobs/store/dependencies.h"
#include "support/temporary_folder.h"

namespace esper::test::job_store_test {

using namespace esper::jobs;

namespace {

struct StoreRoom {
  esper::test::TemporaryFolder folder;
  std::string path = folder / "jobs.db";
  JobStore store{open_database(path)};

  Job submit(Submission submission = {}) {
    submission.name = "digits";
    submission.config = "epochs: 3\n";
    submission.runs_dir = "/runs";
    const auto job = store.submit(submission, {.at_ms = 5, .uid = 1000, .what = "submit"});
    REQUIRE(job);
    return job->front();
  }
};

bool any(const Job&) { return true; }

}  // namespace

TEST_CASE("a submitted job is on the disk") {
  esper::test::TemporaryFolder folder;
  const std::string path = folder / "jobs.db";
  Submission submission{.name = "digits", .config = "epochs: 3\n", .folder = "/work", .run_dir = "/runs/a"};
  submission.priority = 7;
  submission.needs = {.threads = 2, .memory_bytes = 3, .gpus = 1};
  {
    JobStore store(open_database(path));
    REQUIRE(store.submit(submission, {.at_ms = 5, .uid = 1000, .what = "submit"}));
  }
  JobStore store(open_database(path));
  const auto job = store.find(1);
  REQUIRE(job);
  CHECK(job->name == "digits");
  CHECK(job->state == JobState::kQueued);
  CHECK(job->priority == 7);
  CHECK(job->needs == submission.needs);
  CHECK(job->run_dir == "/runs/a");
  CHECK(job->folder == "/work");
  CHECK(job->submitted_ms == 5);
  CHECK(job->uid == 1000);
  CHECK(store.config_of(1) == "epochs: 3\n");
  CHECK(!store.find(2));
}

TEST_CASE("all fields of a job are saved") {
  StoreRoom room;
  Job job = room.submit();
  job.state = JobState::kStarting;
  room.store.save(job);
  job.state = JobState::kStopping;
  job.purpose = StopPurpose::kPause;
  job.reason = "it's \"so\"";
  job.gpus = {1, 3};
  job.attempts = 2;
  job.interruptions = 1;
  job.cause = "signal";
  job.checkpoint = "epoch-1";
  job.exit_code = 143;
  job.started_ms = 8;
  job.ended_ms = 9;
  job.epochs = 12;
  room.store.save(job);
  CHECK(room.store.find(job.id) == job);
}

TEST_CASE("the same token is the same job") {
  StoreRoom room;
  CHECK(room.submit({.token = "a"}).id == 1);
  CHECK(room.submit({.token = "a"}).id == 1);
  CHECK(room.submit({.token = "b"}).id == 2);
  CHECK(room.submit().id == 3);
  CHECK(room.submit().id == 4);
}

TEST_CASE("ready jobs come by priority, then by age, and not before those that they come after") {
  StoreRoom room;
  room.submit();
  room.submit({.priority = 1});
  room.submit({.priority = 1, .hold = true});
  room.submit({.priority = 9, .after = {1}});
  const auto ids = [&] {
    std::vector<JobId> found;
    for (const Job& job : room.store.ready(10, any)) found.push_back(job.id);
    return found;
  };
  CHECK(ids() == std::vector<JobId>{2, 1});
  CHECK(room.store.ready(1, any).size() == 1);
  Job first = *room.store.find(1);
  for (const JobState state : {JobState::kStarting, JobState::kRunning, JobState::kSucceeded}) {
    first.state = state;
    room.store.save(first);
  }
  CHECK(ids() == std::vector<JobId>{4, 2});
  CHECK(room.store.find(4)->after == std::vector<JobId>{1});
  CHECK(with_failed_dependency(room.store.database()).empty());
}

TEST_CASE("jobs are asked whether they could begin in their turn, once each, until there are enough") {
  StoreRoom room;
  for (const std::int64_t priority : {0, 3, 0, 3, 0}) room.submit({.priority = priority});
  std::vector<JobId> asked;
  const auto ready = room.store.ready(2, [&](const Job& job) {
    asked.push_back(job.id);
    return job.id != 2 && job.id != 1;
  });
  REQUIRE(ready.size() == 2);
  CHECK((ready[0].id == 4 && ready[1].id == 3));
  CHECK(asked == std::vector<JobId>{2, 4, 1, 3});
}

TEST_CASE("jobs after one that did not succeed are without hope") {
  StoreRoom room;
  room.submit();
  room.submit({.after = {1}});
  Job first = *room.store.find(1);
  first.state = JobState::kCancelled;
  room.store.save(first);
  CHECK(with_failed_dependency(room.store.database()) == std::vector<JobId>{2});
  CHECK(unsuccessful_before(room.store.database(), 2) == std::vector<JobId>{1});
  CHECK(unsuccessful_before(room.store.database(), 1).empty());
  CHECK(queued_after(room.store.database(), 1) == std::vector<JobId>{2});
  CHECK(queued_after(room.store.database(), 2).empty());
}

TEST_CASE("a job cannot come after one that does not exist, and none is made") {
  StoreRoom room;
  const auto refused = room.store.submit({.name = "a", .config = "c", .runs_dir = "/r", .after = {5}}, {});
  REQUIRE(!refused);
  CHECK(refused.error() == "there is no job 5 to wait for");
  CHECK(room.store.list({}).empty());
}

TEST_CASE("moves that the table does not have are refused") {
  StoreRoom room;
  Job job = room.submit();
  job.state = JobState::kSucceeded;
  CHECK_THROWS_AS(room.store.save(job), esper::base::Error);
  CHECK(room.store.find(job.id)->state == JobState::kQueued);
}

TEST_CASE("lists are filtered") {
  StoreRoom room;
  room.submit();
  room.submit({.hold = true, .sweep = 4});
  CHECK(room.store.list({}).size() == 2);
  CHECK(room.store.list({.states = {JobState::kHeld}}).at(0).id == 2);
  CHECK(room.store.list({.states = {JobState::kHeld, JobState::kQueued}}).size() == 2);
  CHECK(room.store.list({.name = "x' OR '1'='1"}).empty());
  CHECK(room.store.list({.sweep = 4}).size() == 1);
  CHECK(room.store.list({.most = 1}).at(0).id == 2);  // the newest one
  CHECK(room.store.count(JobState::kHeld) == 1);
}

TEST_CASE("a list has the newest jobs, those whose turn is next, or those that ended last") {
  StoreRoom room;
  room.submit({.priority = 9, .hold = true});
  for (const std::int64_t priority : {0, 3, 0, 3}) room.submit({.priority = priority});
  const auto ids = [&](const JobFilter& filter) {
    std::vector<JobId> found;
    for (const Job& job : room.store.list(filter)) found.push_back(job.id);
    return found;
  };
  CHECK(ids({.most = 2}) == std::vector<JobId>{4, 5});
  CHECK(ids({.most = 3, .order = JobOrder::kBegin}) == std::vector<JobId>{3, 5, 2});
  CHECK(ids({.order = JobOrder::kBegin}) == std::vector<JobId>{3, 5, 2, 4, 1});
  CHECK(ids({.states = {JobState::kHeld, JobState::kQueued, JobState::kHeld}, .order = JobOrder::kBegin}) ==
        std::vector<JobId>{3, 5, 2, 4, 1});
  CHECK(ids({.states = {JobState::kHeld, JobState::kPaused}, .most = 1, .order = JobOrder::kBegin}) ==
        std::vector<JobId>{1});
  for (const auto& [id, ended_ms] : {std::pair{2, 30}, std::pair{3, 20}, std::pair{4, 40}, std::pair{5, 20}}) {
    Job job = *room.store.find(id);
    job.state = JobState::kCancelled;
    job.ended_ms = ended_ms;
    room.store.save(job);
  }
  CHECK(ids({.states = {JobState::kCancelled}, .order = JobOrder::kEnded}) == std::vector<JobId>{4, 2, 5, 3});
  CHECK(ids({.states = {JobState::kCancelled}, .most = 2, .order = JobOrder::kEnded}) == std::vector<JobId>{4, 2});
  CHECK(ids({.states = {JobState::kCancelled, JobState::kHeld}, .most = 3, .order = JobOrder::kEnded}) ==
        std::vector<JobId>{4, 2, 5});
}

TEST_CASE("jobs of one name or sweep are chosen by the order of the list, too") {
  StoreRoom room;
  for (const auto& [priority, sweep] : {std::pair{1, 4}, std::pair{9, 0}, std::pair{2, 4}}) {
    room.submit({.priority = priority, .sweep = sweep});
  }
  const auto first = [&](const JobFilter& filter) { return room.store.list(filter).at(0).id; };
  const std::string name = room.store.find(1)->name;
  for (const auto& states : {std::vector<JobState>{}, {JobState::kQueued}}) {
    CHECK(first({.states = states, .name = name, .most = 1, .order = JobOrder::kBegin}) == 2);
    CHECK(first({.states = states, .sweep = 4, .most = 1, .order = JobOrder::kBegin}) == 3);
    CHECK(room.store.list({.states = states, .sweep = 4, .order = JobOrder::kBegin}).size() == 2);
    CHECK(room.store.list({.states = states, .name = "another", .order = JobOrder::kEnded}).empty());
  }
}

TEST_CASE("the order of jobs is that of their submission, also where the clock is set back between them") {
  StoreRoom room;
  for (const std::int64_t at_ms : {5000, 100, 3000}) {
    REQUIRE(room.store.submit({.name = "a", .config = "c", .runs_dir = "/r"}, {.at_ms = at_ms, .what = "submit"}));
  }
  std::vector<JobId> ids;
  for (const Job& job : room.store.ready(10, any)) ids.push_back(job.id);
  CHECK(ids == std::vector<JobId>{1, 2, 3});
  Job first = *room.store.find(1);
  first.state = JobState::kStarting;
  first.started_ms = 1;  // before it was submitted
  room.store.save(first);
  CHECK(room.store.find(1)->started_ms == 1);
}

TEST_CASE("the audit log has each change with who asked for it and the state that it led to") {
  esper::test::TemporaryFolder folder;
  const std::string path = folder / "jobs.db";
  {
    JobStore store(open_database(path));
    REQUIRE(store.submit({.name = "a", .config = "c", .runs_dir = "/r"}, {.at_ms = 1, .uid = 7, .what = "submit"}));
    Job job = *store.find(1);
    job.state = JobState::kCancelled;
    store.save(job, Asked{2, 8, "cancel", "at once"});
  }
  Database database = open_database(path);
  auto rows = database.prepare("SELECT at_ms, uid, what, job, state, details FROM audit ORDER BY id");
  REQUIRE(rows.step());
  CHECK(rows.text(2) == "submit");
  CHECK(rows.text(4) == "queued");
  REQUIRE(rows.step());
  CHECK(rows.integer(0) == 2);
  CHECK(rows.integer(1) == 8);
  CHECK(rows.text(2) == "cancel");
  CHECK(rows.integer(3) == 1);
  CHECK(rows.text(4) == "cancelled");
  CHECK(rows.text(5) == "at once");
  CHECK(!rows.step());
}

TEST_CASE("no statement that each submission or each look at the page leads to goes through the whole table") {
  esper::test::TemporaryFolder folder;
  Database database = open_database(folder / "jobs.db");
  const auto plan_of = [&](const std::string& sql) {
    auto rows = database.prepare("EXPLAIN QUERY PLAN " + sql);
    std::string plan;
    while (rows.step()) plan += rows.text(3) + "\n";
    return plan;
  };
  const auto ready = plan_of("SELECT * FROM jobs WHERE state = 'queued' AND unmet = 0 ORDER BY priority DESC, id");
  CAPTURE(ready);
  CHECK(ready.find("jobs_by_turn") != std::string::npos);
  CHECK(ready.find("TEMP B-TREE") == std::string::npos);
  const auto active = plan_of("SELECT * FROM jobs WHERE state IN ('starting', 'running', 'stopping') ORDER BY id");
  CAPTURE(active);
  CHECK(active.find("SEARCH jobs USING INDEX") != std::string::npos);
  const auto held = plan_of("SELECT id FROM jobs WHERE state = 'held' ORDER BY priority DESC, id LIMIT 3");
  CAPTURE(held);
  CHECK(held.find("jobs_by_priority") != std::string::npos);
  CHECK(held.find("TEMP B-TREE") == std::string::npos);
  const auto failed = plan_of("SELECT id FROM jobs WHERE state IN ('failed') ORDER BY ended_ms DESC, id DESC LIMIT 3");
  CAPTURE(failed);
  CHECK(failed.find("jobs_by_end") != std::string::npos);
  CHECK(failed.find("TEMP B-TREE") == std::string::npos);
}

}  // namespace esper::test::job_store_test
