#include "jobs/api/progress_feed.h"

#include <catch2/catch_test_macros.hpp>

#include "history/setting_change.h"
#include "jobs/database/schema.h"
#include "run_telemetry.h"
#include "storage/real_file_system.h"
#include "support/temporary_folder.h"

namespace esper::test::progress_feed_test {

using namespace esper;
using namespace esper::jobs::tests;
using jobs::JobState;
using namespace std::chrono_literals;

namespace {

struct FeedRoom {
  test::TemporaryFolder folder;
  boost::asio::io_context loop{1};
  jobs::JobStore store{jobs::open_database(folder / "jobs.db")};
  jobs::ProgressReader reader;
  std::vector<jobs::Progress> published;
  bool has_listener = true;
  jobs::ProgressFeed feed{
      loop,
      store,
      reader,
      {.any = [this] { return has_listener; }, .publish = [this](const jobs::Progress& p) { published.push_back(p); }}};

  jobs::Job running(const std::string& name) {
    auto job = store.submit({.name = name, .config = "c", .folder = "/", .run_dir = folder / name}, {})->front();
    for (const JobState state : {JobState::kStarting, JobState::kRunning}) {
      job.state = state;
      store.save(job);
    }
    append(job.run_dir + "/config.yaml", "epochs: 9\n");
    append(job.run_dir + "/telemetry.jsonl", epoch_line(1, 2));
    return job;
  }
  void pass(std::chrono::milliseconds time) {
    loop.restart();
    loop.run_for(time);
  }
};

std::string large_epoch_line(std::uint32_t epoch) {
  std::string more;
  for (int i = 0; i < 1000; ++i)
    more += R"({"name":"tolaria.ledger.share","value":0.123456789,"unit":"ratio","attributes":{"owner":"forward"}},)";
  std::string line = epoch_line(epoch, 1);
  return line.insert(line.find("\"metrics\":[") + 11, more);
}

}  // namespace

TEST_CASE("while someone listens, what changed of running jobs is published, and only that") {
  FeedRoom room;
  const auto job = room.running("a");
  room.feed.wake();
  room.feed.wake();
  room.pass(1200ms);
  REQUIRE(room.published.size() == 1);
  CHECK(room.published[0].job == job.id);
  CHECK(room.published[0].epoch == std::vector<std::int64_t>{1});
  append(job.run_dir + "/telemetry.jsonl", epoch_line(2, 1));
  room.pass(2200ms);
  REQUIRE(room.published.size() == 2);
  CHECK(room.published[1].epoch == std::vector<std::int64_t>{2});
}

TEST_CASE("other planned epochs of a running job are published before its next epoch") {
  FeedRoom room;
  const auto job = room.running("a");
  room.feed.wake();
  room.pass(1200ms);
  history::publish_accepted(storage::real_file_system(), job.run_dir, {{2, "epochs", "5", 1}});
  room.pass(1200ms);
  REQUIRE(room.published.size() == 2);
  CHECK(room.published[0].planned_epochs == 9);
  CHECK(room.published[1].planned_epochs == 5);
  CHECK(room.published[1].epoch.empty());
}

TEST_CASE("of more running jobs than are kept otherwise, each epoch is published once") {
  FeedRoom room;
  const auto longest = room.running("longest");
  for (std::uint32_t epoch = 2; epoch <= 50; ++epoch)
    append(longest.run_dir + "/telemetry.jsonl", large_epoch_line(epoch));  // more than one look reads
  for (std::size_t other = 1; other < jobs::ProgressReader::kMostRuns + 6; ++other)
    room.running("other" + std::to_string(other));
  room.feed.wake();
  room.pass(1200ms);
  REQUIRE(room.published.size() == jobs::ProgressReader::kMostRuns + 6);
  room.published.clear();
  append(longest.run_dir + "/telemetry.jsonl", large_epoch_line(51));
  room.pass(1200ms);
  REQUIRE(room.published.size() == 1);
  CHECK(room.published[0].job == longest.id);
  CHECK(room.published[0].epoch == std::vector<std::int64_t>{51});
}

TEST_CASE("epochs that a job wrote since the last look are published when it ends, once") {
  FeedRoom room;
  auto job = room.running("a");
  room.feed.wake();
  room.pass(1200ms);
  room.published.clear();
  append(job.run_dir + "/telemetry.jsonl", epoch_line(2, 1) + epoch_line(3, 1));
  job.state = JobState::kSucceeded;
  room.feed.changed(job);
  room.feed.changed(job);
  REQUIRE(room.published.size() == 1);
  CHECK(room.published[0].job == job.id);
  CHECK(room.published[0].epoch == std::vector<std::int64_t>{2, 3});
}

TEST_CASE("the epochs of a job that ended before the first look are published, where someone listens") {
  for (const bool has_listener : {true, false}) {
    FeedRoom room;
    room.has_listener = has_listener;
    auto job = room.running("a");
    room.feed.changed(job);
    job.state = JobState::kSucceeded;
    room.feed.changed(job);
    CHECK(room.published.size() == (has_listener ? 1 : 0));
  }
}

TEST_CASE("the epochs of a job that an earlier daemon started are published when it ends, too") {
  FeedRoom room;
  auto job = room.running("a");
  jobs::ProgressFeed of_next_daemon{
      room.loop,
      room.store,
      room.reader,
      {.any = [] { return true; }, .publish = [&](const jobs::Progress& p) { room.published.push_back(p); }}};
  job.state = JobState::kSucceeded;
  of_next_daemon.changed(job);
  CHECK(room.published.size() == 1);
}

TEST_CASE("a job that is cancelled while it waits has no progress to publish") {
  FeedRoom room;
  auto job = room.running("a");
  job.state = JobState::kCancelled;
  room.feed.changed(job);
  CHECK(room.published.empty());
}

TEST_CASE("without running jobs there is no timer, until one runs") {
  FeedRoom room;
  room.feed.wake();
  CHECK(room.loop.run_for(5s) == 1);  // returns when no timer is left
  const auto job = room.running("a");
  room.feed.changed(job);
  room.pass(1200ms);
  REQUIRE(room.published.size() == 1);
  CHECK(room.published[0].job == job.id);
}

TEST_CASE("a change of a job that does not run, or that nobody sees, begins no timer") {
  FeedRoom room;
  auto job = room.running("a");
  room.has_listener = false;
  room.feed.changed(job);
  CHECK(room.loop.run() == 0);
  room.loop.restart();
  room.has_listener = true;
  job.state = JobState::kQueued;
  room.feed.changed(job);
  CHECK(room.loop.run() == 0);
}

TEST_CASE("without listeners there is no timer") {
  FeedRoom room;
  room.running("a");
  room.has_listener = false;
  room.feed.wake();
  CHECK(room.loop.run_for(5s) == 1);  // returns when no timer is left
  CHECK(room.published.empty());
  room.loop.restart();
  CHECK(room.loop.run() == 0);
}

}  // namespace esper::test::progress_feed_test
