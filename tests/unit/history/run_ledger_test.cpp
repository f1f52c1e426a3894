#include "history/ledger/run_ledger.h"

#include <stdlib.h>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace esper::test::run_ledger_test {

using namespace esper;
using base::Owner;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A run folder that is written line by line.
struct RunFolder {
  RunFolder() {
    std::string name = (fs::temp_directory_path() / "ledger-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~RunFolder() { fs::remove_all(path); }
  void line(const std::string& text) const { std::ofstream(path / "telemetry.jsonl", std::ios::app) << text << "\n"; }
  void packet(int second, const json& metrics, const json& events, const std::string& epoch = "0") const {
    line(json{{"packet_id", "p"},
              {"timestamp", time(second)},
              {"metrics", metrics},
              {"events", events},
              {"system_health", {{"indicators", {{"epoch", epoch}}}}}}
             .dump());
  }
  void event(int second, const std::string& name, const json& attributes = json::object()) const {
    packet(second, json::array(), {{{"description", name}, {"attributes", attributes}}});
  }
  void dropped(int second, int packets) const {
    packet(second, {{{"name", "nissa.dropped_total"}, {"value", packets}, {"attributes", {{"sink", "jsonl"}}}}},
           json::array());
  }
  void epoch(int second, int number, const std::map<std::string, double>& ms) const {
    json metrics = {{{"name", "tolaria.training.loss"}, {"value", 0.5}, {"attributes", json::object()}}};
    for (const auto& [owner, value] : ms) {
      metrics.push_back({{"name", "tolaria.ledger.ms"}, {"value", value}, {"attributes", {{"owner", owner}}}});
    }
    packet(second, metrics, json::array(), std::to_string(number));
  }
  void summary(const json& ledger) const {
    std::ofstream(path / "summary.json") << json{{"status", "done"}, {"ledger", ledger}};
  }
  static std::string time(int second) {
    return "2026-03-01T12:00:" + std::string(second < 10 ? "0" : "") + std::to_string(second) + ".000000Z";
  }
  history::RunLedger read() const { return history::read_run_ledger(path); }
  fs::path path;
};

double sum(const history::RunLedger& ledger) {
  double all = 0;
  for (const double ms : ledger.ms) all += ms;
  return all;
}

}  // namespace

TEST_CASE("epochs sum up, and the summary has the last word about its own process") {
  const RunFolder run;
  run.event(1, "tolaria.run_started", {{"device", "cpu"}});
  run.epoch(2, 1, {{"compute", 600}, {"start_up", 300}});
  run.epoch(3, 2, {{"compute", 900}, {"idle", 100}});
  run.event(4, "tolaria.run_finished");
  CHECK(run.read().of(Owner::kCompute) == 1500);
  CHECK(run.read().wall_ms == 1900);

  run.summary({{"from", RunFolder::time(0)},
               {"until", RunFolder::time(5)},
               {"wall_ms", 2000},
               {"ms", {{"compute", 1500}, {"start_up", 300}, {"idle", 100}, {"telemetry", 100}}}});
  const auto ledger = run.read();
  CHECK(ledger.of(Owner::kTelemetry) == 100);
  CHECK(ledger.of(Owner::kCompute) == 1500);
  CHECK(ledger.wall_ms == 2000);
  CHECK(sum(ledger) == Approx(2000));
  CHECK(ledger.processes == 1);
  CHECK(ledger.epochs == 2);
  CHECK(ledger.device == "cpu");
  CHECK(ledger.status == "done");
  CHECK(ledger.gaps.empty());
}

TEST_CASE("a killed process counts up to its last packet, and is told") {
  const RunFolder run;
  run.event(1, "tolaria.run_started");
  run.epoch(2, 1, {{"compute", 10}});
  run.epoch(3, 2, {{"compute", 20}});
  auto ledger = run.read();
  CHECK(ledger.wall_ms == 30);
  REQUIRE(ledger.gaps.size() == 1);
  CHECK(ledger.gaps[0] == "process 1 is still running or was killed: the time after epoch 2 is missing");
}

TEST_CASE("a resumed run has all its processes, and an epoch that was trained again counts twice") {
  const RunFolder run;
  run.event(1, "tolaria.run_started");
  run.epoch(2, 1, {{"compute", 10}});
  run.epoch(3, 2, {{"compute", 20}});
  run.event(10, "tolaria.resumed");
  run.epoch(11, 2, {{"compute", 30}, {"checkpoint", 5}});
  run.event(12, "tolaria.run_finished");
  run.summary({{"from", RunFolder::time(9)},
               {"until", RunFolder::time(13)},
               {"wall_ms", 50},
               {"ms", {{"compute", 30}, {"checkpoint", 20}}}});
  const auto ledger = run.read();
  CHECK(ledger.processes == 2);
  CHECK(ledger.epochs == 2);
  CHECK(ledger.epochs_again == 1);
  CHECK(ledger.of(Owner::kCompute) == 60);
  CHECK(ledger.of(Owner::kCheckpoint) == 20);
  CHECK(ledger.wall_ms == 80);
  REQUIRE(ledger.gaps.size() == 1);
  CHECK(ledger.gaps[0] == "process 1 was killed: the time after epoch 2 is missing");
  CHECK(ledger.status == "done");
}

TEST_CASE("a process that went back to a checkpoint is one process, and was not killed") {
  const RunFolder run;
  run.event(1, "tolaria.run_started");
  run.epoch(2, 1, {{"compute", 10}});
  run.event(3, "tolaria.resumed");
  run.epoch(4, 2, {{"compute", 20}});
  run.event(5, "tolaria.resumed");
  run.event(6, "tolaria.rollback.restored", {{"tier", "checkpoint"}});
  run.epoch(7, 2, {{"compute", 30}});
  run.event(8, "tolaria.rollback.restored", {{"tier", "memory"}});
  run.event(9, "tolaria.run_finished");
  const auto ledger = run.read();
  CHECK(ledger.processes == 2);
  CHECK(ledger.gaps == std::vector<std::string>{"process 1 was killed: the time after epoch 1 is missing"});
}

TEST_CASE("packets that were dropped before a process went back to a checkpoint stay known") {
  const RunFolder run;
  run.event(1, "tolaria.run_started");
  run.epoch(2, 1, {{"compute", 10}});
  run.dropped(3, 37);
  run.event(5, "tolaria.resumed");
  run.event(6, "tolaria.rollback.restored", {{"tier", "checkpoint"}});
  run.epoch(7, 2, {{"compute", 30}});
  run.event(9, "tolaria.run_finished");
  const auto ledger = run.read();
  CHECK(ledger.processes == 1);
  CHECK(ledger.gaps == std::vector<std::string>{"process 1 dropped 37 packets; their time is missing"});
}

TEST_CASE("an older process's summary covers that process alone") {
  const RunFolder run;
  run.event(1, "tolaria.run_started");
  run.epoch(2, 1, {{"compute", 10}});
  run.event(3, "tolaria.run_finished");
  run.summary(
      {{"from", RunFolder::time(0)}, {"until", RunFolder::time(4)}, {"wall_ms", 15}, {"ms", {{"compute", 15}}}});
  run.event(10, "tolaria.resumed");
  run.epoch(11, 2, {{"compute", 30}});
  const auto ledger = run.read();
  CHECK(ledger.wall_ms == 45);
  CHECK(ledger.status.empty());
  REQUIRE(ledger.gaps.size() == 1);
  CHECK(ledger.gaps[0].starts_with("process 2 is still running or was killed"));
}

TEST_CASE("a summary whose times of day cannot be right is not believed") {
  const RunFolder run;
  run.event(1, "tolaria.run_started");
  run.epoch(2, 1, {{"compute", 1000}});
  run.summary(
      {{"from", RunFolder::time(0)}, {"until", RunFolder::time(5)}, {"wall_ms", 15}, {"ms", {{"compute", 15}}}});
  CHECK(run.read().wall_ms == 1000);
}

TEST_CASE("a summary that does not say which packets it covers is told, and its times do not count twice") {
  const RunFolder run;
  run.event(1, "tolaria.run_started");
  run.epoch(2, 1, {{"compute", 1000}});
  run.event(4, "tolaria.run_finished");
  const json from = RunFolder::time(0), until = RunFolder::time(5);
  const std::vector<std::pair<json, json>> wrong = {
      {"x", until}, {5, until}, {nullptr, until}, {from, "zzz"}, {from, "1970-01-01T00:00:00.000000Z"}, {from, ""}};
  for (const auto& [begin, end] : wrong) {
    CAPTURE(begin.dump(), end.dump());
    run.summary({{"from", begin}, {"until", end}, {"wall_ms", 1200}, {"ms", {{"compute", 1200}}}});
    const auto ledger = run.read();
    CHECK(ledger.wall_ms == 1000);
    CHECK(ledger.of(Owner::kCompute) == 1000);
    CHECK(ledger.gaps == std::vector<std::string>{
                             "the times of day (from, until) in summary.json are damaged: its ledger was ignored"});
  }
  fs::remove(run.path / "telemetry.jsonl");
  run.summary({{"from", "x"}, {"until", until}, {"wall_ms", 1200}, {"ms", {{"compute", 1200}}}});
  CHECK(run.read().wall_ms == 1200);  // there is nothing that would count twice
}

TEST_CASE("a summary of another time than the packets counts, unless it has their steps") {
  const RunFolder run;
  const json steps = {{"name", "tolaria.training.steps_total"}, {"value", 40}};
  run.event(1, "tolaria.run_started");
  run.epoch(2, 1, {{"compute", 1000}});
  run.packet(3, json::array({steps}), json::array());
  run.event(4, "tolaria.run_finished");
  const json ledger = {
      {"from", RunFolder::time(20)}, {"until", RunFolder::time(25)}, {"wall_ms", 1200}, {"ms", {{"compute", 1200}}}};
  std::ofstream(run.path / "summary.json") << json{{"ledger", ledger}, {"steps", 80}};
  CHECK(run.read().wall_ms == 2200);
  CHECK(run.read().gaps.empty());
  std::ofstream(run.path / "summary.json") << json{{"ledger", ledger}, {"steps", 40}};
  CHECK(run.read().wall_ms == 1000);
  REQUIRE(run.read().gaps.size() == 1);
  CHECK_THAT(run.read().gaps.front(),
             StartsWith("no packet in telemetry.jsonl falls into the times of day (from, until)"));
}

TEST_CASE("times that no clock can have counted are not believed") {
  const RunFolder run;
  run.event(1, "tolaria.run_started");
  run.epoch(2, 1, {{"compute", 1000}, {"idle", 1e300}, {"policy", -5}});
  run.event(4, "tolaria.run_finished");
  for (const double wall_ms : {-1.0, 3.2e12, 1e300}) {  // 3.2e12 ms: 101 years
    CAPTURE(wall_ms);
    run.summary({{"from", RunFolder::time(0)},
                 {"until", RunFolder::time(5)},
                 {"wall_ms", wall_ms},
                 {"ms", {{"compute", 1000}}}});
    const auto ledger = run.read();
    CHECK(ledger.wall_ms == 1000);
    CHECK(ledger.of(Owner::kIdle) == 0);
    CHECK(ledger.gaps == std::vector<std::string>{"the wall time in summary.json is damaged and was ignored",
                                                  "2 times in telemetry.jsonl are damaged and were ignored"});
  }
  run.summary({{"from", RunFolder::time(0)},
               {"until", RunFolder::time(5)},
               {"wall_ms", 1200},
               {"ms", {{"compute", 1100}, {"policy", 1e300}}}});
  const auto ledger = run.read();
  CHECK(ledger.wall_ms == 1200);
  CHECK(ledger.of(Owner::kPolicy) == 0);
  CHECK(ledger.gaps == std::vector<std::string>{"1 time in summary.json is damaged and was ignored",
                                                "2 times in telemetry.jsonl are damaged and were ignored"});
}

TEST_CASE("a ledger in summary.json that is none is told, and one that is missing is of an earlier version") {
  const RunFolder run;
  run.event(1, "tolaria.run_started");
  run.epoch(2, 1, {{"compute", 1000}});
  run.event(4, "tolaria.run_finished");
  for (const json& ledger : {json(5), json("x"), json::array()}) {
    CAPTURE(ledger);
    run.summary(ledger);
    CHECK(run.read().wall_ms == 1000);
    CHECK(run.read().gaps == std::vector<std::string>{"the ledger in summary.json is damaged and was ignored"});
  }
  run.summary(json::object());
  CHECK(run.read().gaps == std::vector<std::string>{"the wall time in summary.json is damaged and was ignored"});
  run.summary(nullptr);
  CHECK(run.read().gaps.empty());
}

TEST_CASE("times that are no numbers of milliseconds are reported, and are not taken for none") {
  const RunFolder run;
  run.event(1, "tolaria.run_started");
  run.epoch(2, 1, {{"compute", 1000}});
  for (const json& times : {json(), json(5), json("x"), json::array()}) {
    CAPTURE(times);
    run.summary({{"from", RunFolder::time(0)}, {"until", RunFolder::time(5)}, {"wall_ms", 2000}, {"ms", times}});
    const auto ledger = run.read();
    CHECK(ledger.wall_ms == 1000);
    CHECK(ledger.of(Owner::kCompute) == 1000);
    REQUIRE(ledger.gaps.size() == 2);
    CHECK(ledger.gaps[0] == "the times in summary.json are damaged and were ignored");
  }
  fs::remove(run.path / "summary.json");
  const auto time = [](const json& value, const json& attributes) {
    return json{{"name", "tolaria.ledger.ms"}, {"value", value}, {"attributes", attributes}};
  };
  run.packet(3, {time("5", {{"owner", "compute"}}), time(nullptr, {{"owner", "idle"}}), time(5, 7)}, json::array());
  run.packet(4, json::array({time(5, {{"owner", "of a later version"}})}), json::array());
  run.event(5, "tolaria.run_finished");
  CHECK(run.read().gaps == std::vector<std::string>{"3 times in telemetry.jsonl are damaged and were ignored"});
  run.line(R"({"packet_id":"p","metrics":{"tolaria.ledger.ms":5},"events":[],"system_health":{}})");
  const auto ledger = run.read();
  CHECK(ledger.damaged_lines == 1);
  REQUIRE(ledger.gaps.size() == 2);
  CHECK(ledger.gaps[1] == "telemetry.jsonl has 1 damaged line; its measurements are missing");
}

TEST_CASE("steps that fp16 skipped are those of the newest epoch, or of the summary without telemetry") {
  const RunFolder run;
  const auto report = [&](int second, int skipped, int steps) {
    run.packet(second,
               {{{"name", "tolaria.training.loss"}, {"value", 0.5}},
                {{"name", "tolaria.ledger.ms"}, {"value", 10}, {"attributes", {{"owner", "compute"}}}},
                {{"name", "tolaria.scaler.skipped_steps_total"}, {"value", skipped}},
                {{"name", "tolaria.training.steps_total"}, {"value", steps}}},
               json::array());
  };
  report(1, 5, 12);
  report(2, 7, 24);
  CHECK(run.read().skipped_steps == 7);
  CHECK(run.read().steps == 24);
  CHECK(run.read().skipped_share() == Approx(7.0 / 24));
  fs::remove(run.path / "telemetry.jsonl");
  const json ledger = {{"wall_ms", 15}, {"ms", {{"compute", 15}}}};
  std::ofstream(run.path / "summary.json") << json{{"ledger", ledger}, {"skipped_steps", 9}, {"steps", 36}};
  CHECK(run.read().skipped_steps == 9);
  CHECK(run.read().steps == 36);
  run.summary(ledger);
  CHECK_FALSE(run.read().skipped_steps);
  CHECK(run.read().skipped_share() == 0);
}

TEST_CASE("step times and counts that cannot be are told and left out") {
  const RunFolder run;
  const auto report = [&](const json& value) {
    fs::remove(run.path / "telemetry.jsonl");
    run.event(1, "tolaria.run_started");
    run.epoch(2, 1, {{"compute", 1000}});
    json metrics = json::array();
    for (const char* name : {"tolaria.step.p50_us", "tolaria.step.p95_us", "tolaria.timeout.tamiyo_total",
                             "tolaria.scaler.skipped_steps_total", "tolaria.training.steps_total"}) {
      metrics.push_back({{"name", name}, {"value", value}});
    }
    run.packet(3, metrics, json::array());
    run.event(4, "tolaria.run_finished");
    return run.read();
  };
  const auto sound = report(5);
  CHECK(sound.step_p50_us == 5);
  CHECK(sound.step_p95_us == 5);
  CHECK(sound.policy_timeouts == 5);
  CHECK(sound.gaps.empty());
  CHECK(report(nullptr).gaps.empty());
  for (const json& value : {json(1e300), json(-1), json("x")}) {
    CAPTURE(value.dump());
    const auto ledger = report(value);
    CHECK_FALSE(ledger.step_p50_us);
    CHECK_FALSE(ledger.step_p95_us);
    CHECK(ledger.policy_timeouts == 0);
    CHECK_FALSE(ledger.skipped_steps);
    CHECK(ledger.steps == 0);
    CHECK(ledger.gaps == std::vector<std::string>{"2 times in telemetry.jsonl are damaged and were ignored",
                                                  "3 counts in telemetry.jsonl are damaged and were ignored"});
  }
}

TEST_CASE("more skipped steps than steps are told and left out") {
  const RunFolder run;
  const json ledger = {{"wall_ms", 15}, {"ms", {{"compute", 15}}}};
  const auto gaps = [&](const json& skipped) {
    std::ofstream(run.path / "summary.json") << json{{"ledger", ledger}, {"skipped_steps", skipped}, {"steps", 40}};
    const auto read = run.read();
    CHECK(read.skipped_steps.has_value() == (skipped == 40));
    CHECK(read.steps == 40);
    REQUIRE_FALSE(read.gaps.empty());
    return std::vector<std::string>(read.gaps.begin(), read.gaps.end() - 1);  // the last: there is no telemetry.jsonl
  };
  CHECK(gaps(40).empty());
  CHECK(gaps(99999) ==
        std::vector<std::string>{"99999 of 40 steps are recorded as skipped, more than there are, and were ignored"});
  CHECK(gaps(-1) == std::vector<std::string>{"1 count in summary.json is damaged and was ignored"});
}

TEST_CASE("an epoch without a finite loss counts") {
  const RunFolder run;
  run.event(1, "tolaria.run_started");
  run.packet(2,
             {{{"name", "tolaria.training.loss"}, {"value", nullptr}},
              {{"name", "tolaria.ledger.ms"}, {"value", 10}, {"attributes", {{"owner", "compute"}}}}},
             json::array(), "1");
  run.event(3, "tolaria.run_finished");
  CHECK(run.read().epochs == 1);
}

TEST_CASE("a summary.json that cannot be read is not called damaged") {
  const RunFolder run;
  run.event(1, "tolaria.run_started");
  run.epoch(2, 1, {{"compute", 1000}});
  run.event(4, "tolaria.run_finished");
  run.summary(json::object());
  fs::resize_file(run.path / "summary.json", std::uintmax_t{17} << 20);  // a hole
  const auto ledger = run.read();
  CHECK(ledger.wall_ms == 1000);
  REQUIRE(ledger.gaps.size() == 1);
  CHECK_THAT(ledger.gaps.front(),
             StartsWith("summary.json was ignored: cannot read ") && ContainsSubstring("too large"));
}

TEST_CASE("a summary.json that is a folder is told") {
  const RunFolder run;
  run.event(1, "tolaria.run_started");
  run.epoch(2, 1, {{"compute", 1000}});
  run.event(4, "tolaria.run_finished");
  fs::create_directory(run.path / "summary.json");
  CHECK(run.read().wall_ms == 1000);
  CHECK(run.read().gaps == std::vector<std::string>{"summary.json is not a file and was ignored"});
}

TEST_CASE("without telemetry the summary is enough") {
  const RunFolder run;
  run.summary(
      {{"from", RunFolder::time(0)}, {"until", RunFolder::time(5)}, {"wall_ms", 15}, {"ms", {{"compute", 15}}}});
  const auto ledger = run.read();
  CHECK(ledger.wall_ms == 15);
  CHECK(ledger.processes == 1);
  REQUIRE(ledger.gaps.size() == 1);
}

TEST_CASE("damage costs what it covers and no more") {
  const RunFolder run;
  run.event(1, "tolaria.run_started");
  run.epoch(2, 1, {{"compute", 10}});
  run.line("{\"packet_id\": \"torn");
  run.line(std::string("\0\xff garbage", 10));
  run.line(R"({"packet_id":1,"metrics":{"a":1},"events":7,"system_health":null,"timestamp":5})");
  run.line(R"({"packet_id":1,"metrics":[7,{"name":7},{"name":"tolaria.ledger.ms","value":null},
)");
  run.line(R"({"packet_id":1,"metrics":[{"name":"tolaria.ledger.ms","value":5,"attributes":{"owner":"nobody"}},)"
           R"({"name":"tolaria.ledger.ms","value":-5,"attributes":{"owner":"compute"}},)"
           R"({"name":"tolaria.ledger.ms","value":"5"},3,null],"events":[null,3,{}],"system_health":{}})");
  run.line(std::string(100'000, '['));
  run.epoch(3, 2, {{"compute", 20}});
  std::ofstream(run.path / "summary.json") << "{\"ledger\":";
  const auto ledger = run.read();
  CHECK(ledger.wall_ms == 30);
  CHECK(ledger.epochs == 2);
  CHECK(ledger.damaged_lines >= 3);
  CHECK(ledger.gaps.size() == 4);  // the summary, the process without an end, the time, the lines
}

TEST_CASE("a folder without any times is an error that says so") {
  const RunFolder run;
  try {
    run.read();
    FAIL("read");
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kData);
    CHECK(std::string(error.what()).find("has no recorded times") != std::string::npos);
  }
  run.event(1, "tolaria.run_started");
  CHECK_THROWS_AS(run.read(), base::Error);
}

TEST_CASE("a folder whose times are all damaged is an error that says what is damaged") {
  const RunFolder run;
  const auto problem = [&]() -> std::string {
    try {
      run.read();
    } catch (const base::Error& error) {
      return error.what();
    }
    return "";
  };
  run.epoch(2, 1, {{"compute", -5}});
  run.event(4, "tolaria.run_finished");
  CHECK_THAT(problem(), ContainsSubstring("has any (1 time in telemetry.jsonl is damaged and was ignored). They are"));
  std::ofstream(run.path / "telemetry.jsonl") << std::string(4096, '\0');
  CHECK_THAT(problem(), ContainsSubstring("has any (telemetry.jsonl has 1 damaged line; its"));
  fs::remove(run.path / "telemetry.jsonl");
  CHECK_THAT(problem(), ContainsSubstring("has any. They are recorded at the end of each epoch"));
}

}  // namespace esper::test::run_ledger_test
