// Runs that are killed, or asked to stop, again and again.
#include <signal.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <iostream>
#include <random>
#include <thread>

#include "run_record.h"
#include "run_room.h"
#include "support/patience.h"

namespace esper::test::kill_test {

using namespace esper::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
using WallClock = std::chrono::system_clock;

namespace {

const Words kLong = {"epochs=60"};

struct Chain {
  int stops = 0;                          // how often the run was stopped on its way
  std::vector<double> ms_to_train_again;  // from starting the process to the first step
  Finished last;
};

// From "2026-03-01T10:15:00.123456Z".
WallClock::time_point time_of(const std::string& text) {
  std::tm utc{};
  strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  const double fraction = std::stod(text.substr(text.find('.')));
  return WallClock::from_time_t(timegm(&utc)) + std::chrono::microseconds(static_cast<std::int64_t>(fraction * 1e6));
}

// When the newest process of the run was about to train its first step.
WallClock::time_point ready_at(const fs::path& run) {
  WallClock::time_point at{};
  for (const auto& packet : packets_of(run)) {
    for (const auto& event : packet["events"]) {
      if (event["description"] == "tolaria.resumed") at = time_of(packet["timestamp"]);
    }
  }
  return at;
}

// Trains in processes of which each gets a signal some 0 to 40 ms after its first new checkpoint, until one ends by
// itself, or has been stopped `limit` times.
template <class AfterStop>
Chain train_in_pieces(const std::string& config, const fs::path& run, std::vector<int> signals, int limit,
                      AfterStop after_stop) {
  std::mt19937 random(20260301);
  Chain chain;
  while (true) {
    const auto names = checkpoints_of(run);
    const auto started = WallClock::now();
    RunningProgram program(chain.stops == 0 ? train_command(config, run, kLong) : resume_command(run));
    const bool goes_on =
        chain.stops < limit && wait_for_checkpoint_after(names.empty() ? "" : names.back(), run, program);
    const int signal = signals[static_cast<std::size_t>(chain.stops) % signals.size()];
    if (goes_on) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 40'000));
      program.send(signal);
    }
    const Finished finished = program.wait();
    if (chain.stops > 0)
      chain.ms_to_train_again.push_back(std::chrono::duration<double, std::milli>(ready_at(run) - started).count());
    if (finished.exit_code == 0) {
      chain.last = finished;
      return chain;
    }
    INFO(finished.err);
    REQUIRE(goes_on);
    REQUIRE(finished.exit_code == 128 + signal);
    ++chain.stops;
    after_stop(signal);
  }
}

}  // namespace

// scripts/proof kills 200 processes.
TEST_CASE("a run that is killed again and again ends as if it had never been") {
  constexpr int kKills = 12;
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("whole"), kLong).exit_code == 0);
  const auto whole = record_of(room.run("whole"));
  int stops = 0;
  std::vector<double> waits;
  for (int chains = 0; stops < kKills; ++chains) {
    REQUIRE(chains < 5 + kKills);
    const auto run = room.run("killed" + std::to_string(chains));
    const Chain chain = train_in_pieces(config, run, {SIGKILL}, kKills - stops, [](int) {});
    check_equal(record_of(run), whole, Telemetry::kMayLack);
    stops += chain.stops;
    waits.insert(waits.end(), chain.ms_to_train_again.begin(), chain.ms_to_train_again.end());
  }
  REQUIRE_FALSE(waits.empty());
  std::ranges::sort(waits);
  std::cout << "killed " << stops << " times; milliseconds from the new process to training again: median "
            << static_cast<int>(waits[waits.size() / 2]) << ", longest " << static_cast<int>(waits.back()) << "\n";
}

TEST_CASE("SIGTERM, SIGINT and SIGHUP save and stop, and the run goes on from there") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("whole"), kLong).exit_code == 0);
  const auto run = room.run("stopped");
  const Chain chain = train_in_pieces(config, run, {SIGTERM, SIGINT, SIGHUP}, 6, [&](int signal) {
    const auto summary = read_json(run / "summary.json");
    CHECK(summary["status"] == "interrupted");
    CHECK(summary["exit_code"] == 128 + signal);
    // The state that the summary speaks of is the one on disk: not one step is lost.
    const auto progress = state_of(run, checkpoints_of(run).back())["progress"];
    CHECK(progress["step"] == summary["steps"]);
    CHECK(progress["epoch"] == summary["epochs"]);
  });
  CHECK(chain.stops >= 2);
  CHECK(nlohmann::json::parse(chain.last.out)["status"] == "done");
  check_equal(record_of(run), record_of(room.run("whole")));
  CHECK(events_of(run, "tolaria.interrupted").size() == static_cast<std::size_t>(chain.stops));
}

TEST_CASE("a signal at any moment from the start on ends the process in time, a second one too") {
  const auto after = GENERATE(0ms, 5ms, 60ms, 150ms, 400ms);
  const auto signals = GENERATE(1, 2);
  CAPTURE(after.count(), signals);
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  RunningProgram program(train_command(config, room.run("run"), {"epochs=100000", "checkpoint.keep_last=3"}));
  std::this_thread::sleep_for(after);
  for (int i = 0; i < signals; ++i) program.send(SIGTERM);
  const Finished finished = program.wait(kPatience);
  CHECK_FALSE(finished.timed_out);
  CHECK(finished.exit_code == 143);
}

}  // namespace esper::test::kill_test
