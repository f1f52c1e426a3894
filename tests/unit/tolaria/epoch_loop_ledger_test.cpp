// The ledger in a real run: who has the time when something in particular is slow.

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/ledger/chrome_trace.h"
#include "base/names.h"
#include "leyline/telemetry/telemetry.h"
#include "support/owner_times.h"
#include "support/run_fixture.h"
#include "support/trace_check.h"
#include "tolaria/report/run_report.h"
#include "tolaria/summary.h"

namespace esper::test::epoch_loop_ledger_test {

using base::Interrupt;
using tolaria::report_end;
using tolaria::RunOutcome;
using tolaria::summarize_ledger;

namespace {

using base::Owner;
using std::chrono::milliseconds;
using Shares = std::map<std::string, double>;

// Milliseconds by owner, over all packets.
Shares reported_by(const SmallRun& it) {
  Shares shares;
  for (const auto& packet : it.sink.packets()) {
    for (const auto& metric : packet.metrics) {
      if (metric.name == "tolaria.ledger.ms") shares[metric.attributes.at("owner")] += metric.value;
    }
  }
  return shares;
}

double sum(const Shares& shares) {
  double all = 0;
  for (const auto& [owner, ms] : shares) all += ms;
  return all;
}

double ms_of(const SmallRun& it, Owner owner) {
  return std::chrono::duration<double, std::milli>(it.ledger.settled().totals()[index_of(owner)]).count();
}

}  // namespace

TEST_CASE("what the packets report is all of the process's time") {
  SmallRun it(small_config(), [](const leyline::Observation&) {
    std::this_thread::sleep_for(milliseconds(1));
    return leyline::Decision{};
  });
  it.go();
  report_end(it.outbox, it.ledger);
  const auto wall = std::chrono::duration<double, std::milli>(it.ledger.settled().wall()).count();
  const auto shares = reported_by(it);
  CHECK(std::abs(sum(shares) - wall) < 1e-6 * wall);
  CHECK(sum_of(it.ledger.settled().totals()) == it.ledger.settled().wall());
  for (const char* owner : {"compute", "loader_wait", "validation", "policy", "telemetry", "checkpoint", "start_up"}) {
    CAPTURE(owner);
    CHECK(shares.contains(owner));
  }
  CHECK_FALSE(shares.contains("transfer"));  // the data are where the network is
  for (const double us : it.values("tolaria.step.p50_us")) CHECK(us > 1);
  CHECK(it.values("tolaria.step.p50_us").size() == 3);
  CHECK(it.values("tolaria.step.p95_us").size() == it.values("tolaria.step.p50_us").size());
}

TEST_CASE("a slow policy has its time, and so has one that comes too late") {
  SmallRun slow(small_config(), [](const leyline::Observation&) {
    std::this_thread::sleep_for(milliseconds(50));
    return leyline::Decision{};
  });
  slow.go();
  slow.ledger.settle();
  CHECK(ms_of(slow, Owner::kPolicy) >= 150);

  auto config = small_config();
  config.epochs = 1;
  config.safety.policy_deadline = milliseconds(80);
  std::promise<void> promise;
  SmallRun late(config, [opened = promise.get_future().share()](const leyline::Observation&) {
    opened.wait();
    return leyline::Decision{};
  });
  late.go();  // ends while the policy still thinks
  late.ledger.settle();
  CHECK(ms_of(late, Owner::kPolicy) >= 80);
  promise.set_value();
}

TEST_CASE("an interrupted run's account is whole, and its trace too") {
  auto config = small_config();
  SmallRun it(config);
  it.ledger.watch().keep_spans();
  it.sink.on_packet = [](const leyline::TelemetryPacket&) {
    if (Interrupt::requested() == 0) std::raise(SIGINT);
  };
  CHECK(it.go().kind == RunOutcome::Kind::kInterrupted);
  report_end(it.outbox, it.ledger);
  const auto summary = summarize_ledger(it.ledger, it.facts.clock);
  double all = 0;
  for (const auto& [owner, ms] : summary["ms"].items()) all += ms.get<double>();
  CHECK(std::abs(all - summary["wall_ms"].get<double>()) < 1e-6 * all);
  CHECK(summary["from"] < summary["until"]);
  CHECK(it.ledger.owner() == Owner::kIdle);

  const auto trace = nlohmann::json::parse(base::chrome_trace(it.ledger, "small"));
  esper::test::check_trace(trace);
  std::map<std::string, int> counts;
  for (const auto& event : trace["traceEvents"]) ++counts[event["name"].get<std::string>()];
  CHECK(counts["epoch"] == 1);
  CHECK(counts["step"] == 6);
  CHECK(counts["loader_wait"] == 7);  // the last one finds the epoch's end
  CHECK(counts["validation"] == 1);
  CHECK(counts["training loss"] == 1);
  CHECK(counts["tolaria.interrupted"] == 1);
  CHECK(counts["checkpoint"] >= 1);
}

}  // namespace esper::test::epoch_loop_ledger_test
