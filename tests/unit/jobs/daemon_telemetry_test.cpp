#include "jobs/daemon/daemon_telemetry.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <vector>

namespace esper::test::daemon_telemetry_test {

using namespace esper;
using namespace esper::jobs;
using namespace std::chrono_literals;
using S = JobState;

namespace {

struct Packets : leyline::TelemetrySink {
  std::vector<leyline::TelemetryPacket> all;
  void emit(const leyline::TelemetryPacket& packet) override { all.push_back(packet); }
};

struct TelemetryRoom {
  boost::asio::io_context loop;
  Packets packets;
  JobCensus census{{}};
  DaemonTelemetry telemetry{loop, packets, census};

  void change(const Job& job) {
    if (const auto step = census.see(job)) telemetry.changed(job, *step);
  }
  // What this turn of the loop sent.
  std::vector<leyline::TelemetryPacket> turn() {
    packets.all.clear();
    loop.restart();
    loop.run();
    return packets.all;
  }
};

// The value of a metric whose labels have this value; -1: there is none.
double value_in(const leyline::TelemetryPacket& packet, std::string_view name, const std::string& label = "") {
  for (const auto& metric : packet.metrics) {
    const bool fits = label.empty() || std::ranges::any_of(metric.attributes, [&](const auto& attribute) {
                        return attribute.second == label;
                      });
    if (metric.name == name && fits) return metric.value;
  }
  return -1;
}

const leyline::TelemetryEvent* event_in(const leyline::TelemetryPacket& packet, std::string_view name) {
  const auto found = std::ranges::find(packet.events, name, &leyline::TelemetryEvent::description);
  return found == packet.events.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("what happens in one turn of the loop is one packet, and nothing is sent while nothing happens") {
  TelemetryRoom room;
  room.telemetry.started("1.0", 3);
  room.change({.id = 1, .state = S::kQueued});
  room.change({.id = 2, .state = S::kQueued});
  room.telemetry.submitted(4ms);
  const auto sent = room.turn();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].source_subsystem == "jobs");
  CHECK(value_in(sent[0], "jobs.state", "queued") == 2);
  CHECK(value_in(sent[0], "jobs.state", "running") == 0);
  CHECK(value_in(sent[0], "jobs.state", "failed") == -1);
  CHECK(value_in(sent[0], "jobs.submit_ms") == 4);
  CHECK(value_in(sent[0], "jobs.submitted_total") == 1);
  REQUIRE(event_in(sent[0], "daemon.started") != nullptr);
  CHECK(event_in(sent[0], "daemon.started")->attributes.at("recovered") == "3");
  CHECK(room.turn().empty());
}

TEST_CASE("only numbers of jobs that changed are sent again") {
  TelemetryRoom room;
  room.change({.id = 1, .state = S::kHeld});
  room.turn();
  room.change({.id = 1, .state = S::kQueued});
  const auto sent = room.turn();
  REQUIRE(sent.size() == 1);
  CHECK(value_in(sent[0], "jobs.state", "held") == 0);
  CHECK(value_in(sent[0], "jobs.state", "queued") == 1);
  CHECK(value_in(sent[0], "jobs.state", "paused") == -1);
}

TEST_CASE("a start has its wait in the queue once, and the time that it took") {
  TelemetryRoom room;
  Job job{.id = 1, .state = S::kQueued, .submitted_ms = 1000};
  room.change(job);
  room.turn();
  job.state = S::kStarting;
  job.attempts = 1;
  job.started_ms = 3500;
  room.change(job);
  job.state = S::kRunning;
  room.change(job);
  const auto first = room.turn();
  REQUIRE(first.size() == 1);
  CHECK(value_in(first[0], "jobs.queue_wait_s") == 2.5);
  CHECK(value_in(first[0], "jobs.start_ms") >= 0);
  job.state = S::kQueued;
  job.cause = "signal 9";
  job.interruptions = 1;
  room.change(job);
  job.state = S::kStarting;
  job.attempts = 2;
  room.change(job);
  const auto second = room.turn();
  REQUIRE(second.size() == 1);
  CHECK(value_in(second[0], "jobs.queue_wait_s") == -1);
}

TEST_CASE("a clock that was set back makes no negative wait") {
  TelemetryRoom room;
  room.change({.id = 1, .state = S::kStarting, .attempts = 1, .submitted_ms = 9000, .started_ms = 1000});
  CHECK(value_in(room.turn().at(0), "jobs.queue_wait_s") == 0);
}

TEST_CASE("an interruption is counted, room for another job is none") {
  TelemetryRoom room;
  room.change({.id = 1, .state = S::kRunning});
  room.change({.id = 2, .state = S::kRunning});
  room.turn();
  room.change({.id = 1, .state = S::kQueued, .interruptions = 2, .cause = "signal 9 (Killed)"});
  room.change({.id = 2, .state = S::kStopping, .purpose = StopPurpose::kYield});
  room.change({.id = 2, .state = S::kQueued, .cause = "signal 9 (Killed)"});
  const auto sent = room.turn();
  REQUIRE(sent.size() == 1);
  CHECK(value_in(sent[0], "jobs.interruptions_total") == 1);
  const auto* interrupted = event_in(sent[0], "jobs.interrupted");
  REQUIRE(interrupted != nullptr);
  CHECK(interrupted->attributes.at("job") == "1");
  CHECK(interrupted->attributes.at("cause") == "signal 9 (Killed)");
}

TEST_CASE("the end of a job has its result") {
  TelemetryRoom room;
  room.change({.id = 7, .state = S::kRunning});
  room.turn();
  room.change({.id = 7, .state = S::kFailed, .reason = "exit status 3: data error", .attempts = 2, .exit_code = 3});
  const auto sent = room.turn();
  REQUIRE(sent.size() == 1);
  CHECK(value_in(sent[0], "jobs.ended_total", "failed") == 1);
  const auto* ended = event_in(sent[0], "jobs.ended");
  REQUIRE(ended != nullptr);
  CHECK(ended->level == leyline::Level::kWarning);
  CHECK(ended->attributes.at("exit_code") == "3");
}

TEST_CASE("refusals are sent where there are new ones, with their reason") {
  TelemetryRoom room;
  http::ServerCounts counts;
  room.telemetry.refused(counts);
  CHECK(room.turn().empty());
  counts.refused_access = 2;
  room.telemetry.refused(counts);
  const auto sent = room.turn();
  REQUIRE(sent.size() == 1);
  CHECK(value_in(sent[0], "http.refused_total", "access") == 2);
  CHECK(value_in(sent[0], "http.refused_total", "user") == -1);
  room.telemetry.refused(counts);
  CHECK(room.turn().empty());
}

TEST_CASE("the last packet does not wait for the loop") {
  TelemetryRoom room;
  room.change({.id = 1, .state = S::kRunning});
  room.telemetry.stopped();
  REQUIRE(room.packets.all.size() == 1);
  CHECK(event_in(room.packets.all[0], "daemon.stopped")->attributes.at("running") == "1");
  CHECK(room.turn().empty());
}

}  // namespace esper::test::daemon_telemetry_test
