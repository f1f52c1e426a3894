#include "tolaria/report/run_report.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <stdexcept>

#include "base/error.h"
#include "support/run_fixture.h"

namespace esper::test::run_report_test {

using tolaria::LastState;
using tolaria::report_failure;
using tolaria::report_outcome;
using tolaria::report_start;
using tolaria::RunOutcome;
using tolaria::RunStart;

namespace {

const leyline::TelemetryEvent& only(const std::vector<leyline::TelemetryEvent>& events) {
  REQUIRE(events.size() == 1);
  return events.front();
}

int count(const std::vector<std::string>& records, const std::string& part) {
  return static_cast<int>(std::ranges::count_if(
      records, [&](const std::string& record) { return record.find(part) != std::string::npos; }));
}

}  // namespace

TEST_CASE("a new run reports what it trains with, and its journal begins with its network") {
  SmallRun it;
  it.facts.skipped_samples = 3;
  it.facts.first_skipped = "a.csv: line 2: is no number";
  report_start(it.run, {.run_dir = "/run"});
  REQUIRE(it.sink.packets().size() == 1);
  const auto started = it.events("tolaria.run_started");
  CHECK(only(started).attributes.at("run_dir") == "/run");
  CHECK(only(started).attributes.at("name") == "small");
  CHECK(only(started).attributes.at("epochs") == "3");
  CHECK(only(started).attributes.at("device") == "cpu");
  CHECK(only(started).attributes.at("precision") == "fp32");
  const auto skipped = it.events("tolaria.samples_skipped");
  CHECK(only(skipped).attributes.at("count") == "3");
  CHECK(only(skipped).attributes.at("first") == "a.csv: line 2: is no number");
  CHECK(it.events("tolaria.resumed").empty());
  REQUIRE(it.saver.finish());
  CHECK(count(it.journal(), "\"what\":\"started\"") == 1);
}

TEST_CASE("a resumed run reports where it goes on, and first which checkpoints would not do") {
  SmallRun it;
  it.progress.epoch = 2;
  it.progress.step = 12;
  report_start(it.run, {.kind = RunStart::Kind::kResumed,
                        .run_dir = "/run",
                        .checkpoint = "/run/checkpoints/a",
                        .refused = {{"/run/checkpoints/b", "it is damaged"}}});
  const auto packets = it.sink.packets();
  REQUIRE(packets.size() == 1);
  REQUIRE(packets[0].events.size() == 2);
  CHECK(packets[0].packet_id == "small-run-step-12-event-1");
  CHECK(packets[0].events[0].description == "tolaria.checkpoint_refused");
  CHECK(packets[0].events[0].attributes.at("reason") == "it is damaged");
  CHECK(packets[0].events[1].description == "tolaria.resumed");
  CHECK(packets[0].events[1].attributes.at("checkpoint") == "/run/checkpoints/a");
  CHECK(packets[0].events[1].attributes.at("step") == "12");
  CHECK(packets[0].events[1].attributes.at("device") == "cpu");
  REQUIRE(it.saver.finish());
  CHECK(count(it.journal(), "\"what\":\"resumed\"") == 1);
}

TEST_CASE(
    "a shadow policy that starts from its initial state, since its own could not be read, is reported at the run's "
    "start") {
  SmallRun it;
  it.policy.add_shadow("random", std::make_unique<tamiyo::Consultation>(scripted(quiet()), it.facts.clock,
                                                                        it.facts.config.safety.policy_deadline));
  it.policy.restore(R"({"shadows":{"random":7}})");
  report_start(it.run, {.kind = RunStart::Kind::kResumed, .run_dir = "/run"});
  const auto found = it.events("tamiyo.shadow_not_restored");
  CHECK(only(found).level == leyline::Level::kWarning);
  CHECK(only(found).attributes.at("policy") == "random");
  CHECK(only(found).attributes.at("reason") == "it is not a text");
}

TEST_CASE("what a run may run short of is reported at its start") {
  SmallRun it;
  report_start(it.run, {.run_dir = "/run", .shortages = {{"memory", "2.0 GiB", "1.0 GiB", "data 1.5 GiB"}}});
  const auto found = it.events("tolaria.shortage_forecast");
  CHECK(only(found).level == leyline::Level::kWarning);
  CHECK(only(found).attributes.at("resource") == "memory");
  CHECK(only(found).attributes.at("needed") == "2.0 GiB");
  CHECK(only(found).attributes.at("available") == "1.0 GiB");
}

TEST_CASE("a run that chose where its batches come from says why") {
  SmallRun it;
  report_start(it.run, {.run_dir = "/run"});
  CHECK(it.events("tolaria.batch_source_chosen").empty());
  it.facts.reason_of_source = "copied: 9 us a batch";
  report_start(it.run, {.run_dir = "/run"});
  const auto chosen = it.events("tolaria.batch_source_chosen");
  CHECK(only(chosen).attributes.at("source") == "copies");
  CHECK(only(chosen).attributes.at("reason") == "copied: 9 us a batch");
}

TEST_CASE("a run that goes on with other kernels than its checkpoint had says so") {
  const auto events_after = [](const std::string& before) {
    SmallRun it;
    it.facts.computed_on = "libtorch 2, AVX512";
    report_start(it.run, {.kind = RunStart::Kind::kResumed, .run_dir = "/run", .computed_on = before});
    return it.events("tolaria.numerics_changed");
  };
  CHECK(events_after("libtorch 2, AVX512").empty());
  CHECK(events_after("").empty());  // of a version that did not say
  const auto found = events_after("libtorch 2, AVX2");
  CHECK(only(found).attributes.at("before") == "libtorch 2, AVX2");
  CHECK(only(found).attributes.at("now") == "libtorch 2, AVX512");
}

TEST_CASE("the last packet says how the run ended, and has the rest of the ledger") {
  SmallRun it;
  it.progress.wall_s = 90;
  report_outcome(it.run, {RunOutcome::Kind::kNotSaved, 0, "the final state could not be saved"});
  const auto finished = it.events("tolaria.run_finished");
  CHECK(only(finished).attributes.at("status") == "not_saved");
  CHECK(std::stod(only(finished).attributes.at("wall_s")) >= 90);
  CHECK(only(finished).attributes.at("exit_code") == "6");
  CHECK(only(finished).attributes.at("reason") == "the final state could not be saved");
  CHECK_FALSE(it.values("tolaria.ledger.ms").empty());
}

TEST_CASE("a run that an exception ended says whether its state is saved") {
  const std::runtime_error error("no more batches");
  for (const auto state : {LastState::kSaved, LastState::kNotSaved}) {
    SmallRun it;
    report_failure(it.run.outbox, it.run.ledger, it.run.progress, {error, base::ExitCode::kData, state, 12.34});
    const auto finished = it.events("tolaria.run_finished");
    CHECK(only(finished).level == leyline::Level::kError);
    CHECK(only(finished).attributes.at("exit_code") == "3");
    CHECK(only(finished).attributes.at("status") == (state == LastState::kSaved ? "failed after saving" : "failed"));
    CHECK(only(finished).attributes.at("wall_s") == "12.3");
    CHECK(only(finished).attributes.at("reason") == "no more batches");
  }
}

}  // namespace esper::test::run_report_test
